"""Live data in Redis: the keeper writes it, pages, sockets and the API read it."""
