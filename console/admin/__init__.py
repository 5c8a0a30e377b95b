"""Admin registrations, in Unfold's looks."""

from console.admin import audit, recurring, tokens, topics

__all__ = ["audit", "recurring", "tokens", "topics"]
