"""Stream topics: entries are added, kept, read by anybody, and trimmed."""
