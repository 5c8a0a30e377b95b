"""Admin registrations, in Unfold's looks."""

from console.admin import audit, tokens, topics

__all__ = ["audit", "tokens", "topics"]
