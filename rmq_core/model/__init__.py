"""Values: what a topic, a message, a delivery, a score, a view is. No input or output."""
