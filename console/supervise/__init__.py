"""One machine, every process: what `manage.py up` is made of."""
