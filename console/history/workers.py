"""When workers were started, and with which version: deploys, as far as the queue can see them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from console.history.tiers import DAY
from console.models import HistoryWorker
from rmq_core.model.text import shown
from rmq_core.model.views import WorkerInfo

SHOWN_MOST = 5_000
ROWS_MOST = 50_000
KEEP_MS = 366 * DAY


def note(started: Iterable[WorkerInfo]) -> None:
    """Write down starts; those that are known stay."""
    rows = [
        HistoryWorker(
            name=shown(worker.name, 200),
            host=shown(worker.host, 200),
            version=shown(worker.version, 40),
            started_ms=worker.started_ms,
            topics=json.dumps(sorted(worker.topics)),
        )
        for worker in started
    ]
    HistoryWorker.objects.bulk_create(rows, ignore_conflicts=True)


def forget(now_ms: int) -> int:
    """Delete starts of more than a year ago, and of too many the oldest."""
    rows = HistoryWorker.objects.all()
    old = rows.filter(started_ms__lt=now_ms - KEEP_MS).delete()[0]
    last = rows.order_by("-started_ms").values_list("started_ms", flat=True)[ROWS_MOST : ROWS_MOST + 1].first()
    return old + (0 if last is None else rows.filter(started_ms__lte=last).delete()[0])


def started(topic: str, from_ms: int, to_ms: int) -> list[HistoryWorker]:
    """Those of a topic, the newest `SHOWN_MOST` at most."""
    rows = HistoryWorker.objects.filter(started_ms__gte=from_ms, started_ms__lt=to_ms).order_by("-started_ms")
    return [row for row in rows[:SHOWN_MOST] if topic in json.loads(row.topics)]
