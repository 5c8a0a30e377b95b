"""Admin registrations, in Unfold's looks."""

from console.admin import (
    alerts,
    audit,
    operations,
    outbox,
    record,
    recurring,
    routes,
    runs,
    schedules,
    scopes,
    screens,
    tokens,
    topics,
)

__all__ = [
    "alerts",
    "audit",
    "operations",
    "outbox",
    "record",
    "recurring",
    "routes",
    "runs",
    "schedules",
    "scopes",
    "screens",
    "tokens",
    "topics",
]
