"""What is said to Redis: keys and scripts. No socket."""
