"""Admin registrations, in Unfold's looks."""

from console.admin import audit, tokens, topics, users

__all__ = ["audit", "tokens", "topics", "users"]
