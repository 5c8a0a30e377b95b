"""What changes something, as operations without input or output: they yield requests and are sent the replies."""
