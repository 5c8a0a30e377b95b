"""The long version of the fault tests: ``make chaos``."""
