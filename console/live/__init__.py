"""Live data: one sampler writes it to Redis, every socket and page reads it from there."""
