"""What needs a whole installation and no browser: one serves them all."""
