"""What people do to the queue: checked, run, audited."""
