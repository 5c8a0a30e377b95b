"""What somebody, or something, does behind the engine's back, and what a reconciliation must say of it."""
