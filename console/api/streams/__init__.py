"""Stream topics: entries, consumer groups, routes."""
