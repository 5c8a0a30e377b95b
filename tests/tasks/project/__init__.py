"""A project that was there before, and has nothing of the console but tasks and the outbox."""
