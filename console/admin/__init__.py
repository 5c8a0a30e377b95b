"""Admin registrations, in Unfold's looks."""

from console.admin import audit, users

__all__ = ["audit", "users"]
