"""Messages on their way in: one, many, sets."""
