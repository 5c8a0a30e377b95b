"""Runs of the pipeline: where, how, what they reported, repairs of what they found."""
