"""What django-rq runs: slices of operations, and runs of the pipeline."""
