"""Definitions of topics: their fields, what a change would do, who changed what."""
