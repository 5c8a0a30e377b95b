"""What templates need beyond Django."""
