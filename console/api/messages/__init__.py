"""Messages of a topic: read, looked for, taken, settled, dead; what became of each."""
