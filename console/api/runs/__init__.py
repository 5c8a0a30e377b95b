"""Runs of the data pipeline, when they start, what they found."""
