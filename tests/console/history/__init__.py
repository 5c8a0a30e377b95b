"""The history of days."""
