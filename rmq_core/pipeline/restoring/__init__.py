"""Archive → queues: what a server has lost is put back, or shown in a namespace of its own."""
