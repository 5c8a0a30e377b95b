"""A small booking view: what is booked is a row in the database, and a message by way of the outbox."""
