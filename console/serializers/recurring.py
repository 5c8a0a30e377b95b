"""Recurring messages and their ticks as JSON."""

from __future__ import annotations

from typing import Any

from console.models import RecurringMessage, RecurringTick
from console.recurring.rule import InvalidRecurring, upcoming
from console.serializers.text import row_etag

UPCOMING = 5
_SAME = (
    "name", "description", "topic", "when", "value", "cron", "every_ms", "time_zone", "jitter_ms", "misfire",
    "start_ms", "end_ms", "expires_ms", "unique_for_ms", "tenant", "enabled", "origin", "next_tick_ms", "next_ms",
    "error", "username",
)  # fmt: skip


def recurring_json(row: RecurringMessage, last: RecurringTick | None, payload: bool) -> dict[str, Any]:
    """The content is for those who may read content."""
    return {
        **{name: getattr(row, name) for name in _SAME},
        "content": row.content if payload else None,
        "last": None if last is None else tick_json(last),
        "etag": row_etag(row.changed),
    }


def upcoming_of(row: RecurringMessage) -> list[int]:
    """When its next ticks are."""
    if not row.enabled or row.next_tick_ms is None:
        return []
    try:
        return upcoming(row.rule(), row.next_tick_ms - 1, UPCOMING)
    except InvalidRecurring:
        return []


def tick_json(tick: RecurringTick) -> dict[str, Any]:
    names = ("id", "tick_ms", "at_ms", "how", "missed", "message", "outbox_row", "username")
    return {name: getattr(tick, name) for name in names}
