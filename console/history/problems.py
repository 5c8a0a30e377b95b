"""Problems of then: from when until when, and how they stood meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import zstandard
from django.db import transaction

from console.history.columns import Unreadable
from console.history.tiers import DAY
from console.models import HistoryProblem
from console.query_parts import in_parts

SAID_MOST = 32
"""Of one problem; when there are more, every second one goes."""
SAID_BYTES = 1_048_576
ROWS_MOST = 50_000
KEEP_MS = 366 * DAY
SLACK_MS = 90_000
"""So long after it was last looked for one that is open may still be there: it is written once a minute."""
SHOWN_MOST = 200


def at(topics: Sequence[str], at_ms: int) -> list[dict[str, Any]]:
    """What was wrong with topics ("": with the whole installation) at that moment; in the shape of live frames."""
    rows = HistoryProblem.objects.filter(topic__in=topics, begun_ms__lte=at_ms, seen_ms__gte=at_ms - SLACK_MS).order_by(
        "begun_ms"
    )[:SHOWN_MOST]
    found = []
    for row in rows:
        if row.seen_ms < at_ms and not row.open:
            continue
        severity, values = how_it_stood(row, at_ms)
        about = {"code": row.code, "severity": severity, "topic": row.topic or None, "values": values}
        found.append(about | {"since_ms": row.begun_ms})
    order = ("critical", "warning", "info")
    return sorted(found, key=lambda each: order.index(each["severity"]) if each["severity"] in order else len(order))


def how_it_stood(row: HistoryProblem, at_ms: int) -> tuple[str, dict[str, Any]]:
    """Severity and values at a moment; those of the end where what was said cannot be read."""
    try:
        said = [each for each in unpack(bytes(row.said)) if each[0] <= at_ms]
    except Unreadable:
        said = []
    if not said:
        return row.severity, {}
    _, severity, values = said[-1]
    return severity, values


def pack(said: Sequence[Any]) -> bytes:
    return zstandard.compress(json.dumps(said, separators=(",", ":")).encode())


def unpack(data: bytes) -> list[Any]:
    """Raises `Unreadable`."""
    try:
        said = json.loads(zstandard.decompress(data, max_output_size=SAID_BYTES))
    except (ValueError, RecursionError, zstandard.ZstdError) as error:
        raise Unreadable(str(error)) from None
    fits = isinstance(said, list) and all(
        isinstance(each, list) and len(each) == 3 and isinstance(each[0], int) and isinstance(each[2], dict)
        for each in said
    )
    if not fits:
        raise Unreadable("it is no list of what was said")
    return list(said)


def thinned(said: list[Any]) -> list[Any]:
    """At most `SAID_MOST`; the first and the last stay."""
    return said if len(said) <= SAID_MOST else [*said[:-1:2], said[-1]]


def open_ones() -> list[HistoryProblem]:
    return list(HistoryProblem.objects.filter(open=True))


def save(new: Sequence[HistoryProblem], changed: Iterable[HistoryProblem]) -> None:
    """Write problems down, all or none; the new ones get their keys."""
    with transaction.atomic():
        for each in new:
            each.pk = None  # one may have come from a try that failed
            each.save()
        for some in in_parts(list(changed)):
            HistoryProblem.objects.bulk_update(some, ["severity", "seen_ms", "open", "said"])


def forget(now_ms: int) -> int:
    """Delete what was over a year ago, and of too many the oldest."""
    rows = HistoryProblem.objects.all()
    old = rows.filter(seen_ms__lt=now_ms - KEEP_MS).delete()[0]
    last = rows.order_by("-seen_ms").values_list("seen_ms", flat=True)[ROWS_MOST : ROWS_MOST + 1].first()
    return old + (0 if last is None else rows.filter(seen_ms__lte=last).delete()[0])
