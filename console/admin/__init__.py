"""Admin registrations, in Unfold's looks."""

from console.admin import alerts, audit, recurring, scopes, screens, tokens, topics

__all__ = ["alerts", "audit", "recurring", "scopes", "screens", "tokens", "topics"]
