"""The durable record of messages and their transitions, filled out of the journal."""
