"""Forgets what is old, some rows at a time, so that nobody waits for the database meanwhile."""

from __future__ import annotations

import time
from typing import Any

from django.db.models import QuerySet

from console.models import MessageRecord, MessageTransition, RecordPosition
from console.options import options
from console.query_parts import in_parts

DAY_MS = 86_400_000
AT_ONCE = 2_000
LONGEST_S = 5.0
"""Of one turn; the rest is for the next."""


def prune(now_ms: int, topics: set[str] | None = None) -> int:
    """Delete steps older than `RECORD_DAYS`, and records of messages that ended before; returns how many rows.

    Where `topics` is given, positions of topics that are no more go as well: one defined again starts again.
    """
    if topics is not None:
        RecordPosition.objects.exclude(topic__in=topics).delete()
    before_ms = now_ms - options().record_days * DAY_MS
    until = time.monotonic() + LONGEST_S
    ended = MessageRecord.objects.filter(updated_ms__lt=before_ms, state__in=(*MessageRecord.ENDED, "unknown"))
    steps = MessageTransition.objects.filter(at_ms__lt=before_ms)
    return _delete(steps.order_by("at_ms"), until) + _delete(ended.order_by("updated_ms"), until)


def _delete(rows: QuerySet[Any], until: float) -> int:
    total = 0
    while time.monotonic() < until:
        keys = list(rows.values_list("pk", flat=True)[:AT_ONCE])
        for some in in_parts(keys):
            total += rows.model.objects.filter(pk__in=some).delete()[0]
        if len(keys) < AT_ONCE:
            break
    return total
