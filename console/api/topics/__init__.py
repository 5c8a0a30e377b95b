"""Topics: their definitions, how they stand and stood, what is held."""
