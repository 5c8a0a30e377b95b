"""Runs of the data pipeline, started and watched from the console, and the repair of what they find."""
