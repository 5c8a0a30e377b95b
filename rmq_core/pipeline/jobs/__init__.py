"""What changes an archive or judges it, each a job of one run: archive, retention, erasing, reconcile."""
