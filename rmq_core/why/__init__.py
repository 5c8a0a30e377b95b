"""Why something is late: one sentence with evidence, for a topic, a slot or a message."""
