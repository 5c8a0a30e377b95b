"""Admin registrations, in Unfold's looks."""

from console.admin import audit, topics, users

__all__ = ["audit", "topics", "users"]
