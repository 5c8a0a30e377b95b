"""What a message went through, replayed: transitions in, where each copy must be and what the slots tell out."""
