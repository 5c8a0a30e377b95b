"""Definitions, their ticks, and the clock that they go by."""

from __future__ import annotations

from typing import Any

import pytest

from console.models import RecurringMessage, RecurringTick
from console.outbox import clock
from console.usecases import recurring
from tests.console.conftest import Queue

MINUTE_MS = 60_000
NOW_MS = 1_800_000_000_000


class Clock:
    """The database's, set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms = NOW_MS
        monkeypatch.setattr(clock, "now_ms", lambda _: self.now_ms)


def sent_keys(queue: Queue) -> list[str]:
    """In the order in which they are handed out."""
    return [delivery.id for delivery in queue.client.take("mail", 1_000)]


def define(**changes: Any) -> RecurringMessage:
    usual = {"name": "n", "topic": "mail", "content": "x", "when": "priority", "value": 900, "every_ms": MINUTE_MS}
    row = RecurringMessage(**(usual | changes))
    recurring._save(row)
    return row


def ticks() -> list[tuple[int, str, int]]:
    rows = RecurringTick.objects.order_by("tick_ms").values_list("tick_ms", "how", "missed")
    return [((tick - NOW_MS) // 1000, how, missed) for tick, how, missed in rows]
