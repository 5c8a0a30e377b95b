"""What people and programs did meanwhile: edits, operations, drains, starts of workers, problems, alerts.

Many in little time are one mark: however many there are, a chart gets some dozens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from console.access import Action
from console.clock import ms_of
from console.history import workers
from console.models import Alert, AuditEntry, HistoryProblem, Operation, TopicRevision

CLUSTERS_MOST = 60
NAMED_MOST = 8
"""Of a mark that stands for many."""
READ_MOST = 5_000
"""Of each kind, the newest."""
_PLACED = (
    Action.DRAIN,
    Action.UNDRAIN,
    Action.PIN,
    Action.UNPIN,
    Action.UNFENCE,
    Action.HOLD,
    Action.LIFT,
    Action.SKIP,
)


@dataclass(frozen=True)
class Marker:
    """What happened. `kind`: definition, operation, placement, worker, problem, alert; `what`: which of these."""

    at_ms: int
    kind: str
    what: str
    who: str = ""
    about: str = ""
    id: str = ""

    def as_json(self, names: bool) -> dict[str, Any]:
        return {**vars(self), "who": self.who if names else ""}


@dataclass(frozen=True)
class Cluster:
    """Markers that lie together: the first ones by name, of all how many there are of each kind."""

    from_ms: int
    to_ms: int
    count: int
    kinds: dict[str, int]
    markers: list[Marker]


def clusters(topic: str, from_ms: int, to_ms: int, most: int = CLUSTERS_MOST, everything: bool = True) -> list[Cluster]:
    """All markers of that time, in order; those within a `most`-th part of it together. `everything`: also of what
    concerned all topics."""
    width = max(1, -(-(to_ms - from_ms) // most))
    together: dict[int, list[Marker]] = {}
    for marker in sorted(_all(topic, from_ms, to_ms, everything), key=lambda each: each.at_ms):
        together.setdefault((marker.at_ms - from_ms) // width, []).append(marker)
    return [
        Cluster(some[0].at_ms, some[-1].at_ms, len(some), Counter(each.kind for each in some), some[:NAMED_MOST])
        for _, some in sorted(together.items())
    ]


def _all(topic: str, from_ms: int, to_ms: int, everything: bool) -> Iterator[Marker]:
    topics = [topic, ""] if everything else [topic]
    yield from _definitions(topic, from_ms, to_ms)
    yield from _operations(topic, from_ms, to_ms)
    yield from _placements(topics, from_ms, to_ms)
    for row in workers.started(topic, from_ms, to_ms):
        yield Marker(row.started_ms, "worker", "started", about=f"{row.name} {row.version}".strip())
    yield from _alerts(topics, from_ms, to_ms)
    begun = HistoryProblem.objects.filter(
        topic__in=topics, begun_ms__gte=from_ms, begun_ms__lt=to_ms, severity__in=("critical", "warning")
    )
    for at_ms, code, severity in begun.order_by("-begun_ms").values_list("begun_ms", "code", "severity")[:READ_MOST]:
        yield Marker(at_ms, "problem", code, about=severity)


def _definitions(topic: str, from_ms: int, to_ms: int) -> Iterator[Marker]:
    rows = TopicRevision.objects.filter(topic=topic, stored_ms__gte=from_ms, stored_ms__lt=to_ms)
    for row in rows.order_by("-stored_ms")[:READ_MOST]:
        fields = [str(each.get("field")) for each in row.difference if isinstance(each, dict)]
        what = row.change
        if fields == ["paused"] and isinstance(row.definition, dict):
            what = "paused" if row.definition.get("paused") else "resumed"
        yield Marker(row.stored_ms, "definition", what, row.username, ", ".join(fields[:5]), str(row.version))


def _operations(topic: str, from_ms: int, to_ms: int) -> Iterator[Marker]:
    rows = Operation.objects.filter(topic=topic, created__gte=_when(from_ms), created__lt=_when(to_ms))
    for row in rows.order_by("-created").only("id", "action", "created", "username", "done")[:READ_MOST]:
        yield Marker(ms_of(row.created), "operation", row.action, row.username, str(row.done), str(row.pk))


def _placements(topics: list[str], from_ms: int, to_ms: int) -> Iterator[Marker]:
    """Of workers as a whole, or of slots of this topic."""
    rows = AuditEntry.objects.filter(
        topic__in=topics, action__in=_PLACED, result__in=("done", "partly"),
        at__gte=_when(from_ms), at__lt=_when(to_ms),
    )  # fmt: skip
    for row in rows.order_by("-id")[:READ_MOST]:
        worker = row.query.get("worker", "") if isinstance(row.query, dict) else ""
        yield Marker(ms_of(row.at), "placement", row.action, row.username, str(worker), str(row.pk))


def _alerts(topics: list[str], from_ms: int, to_ms: int) -> Iterator[Marker]:
    rows = Alert.objects.filter(topic__in=topics, fired_ms__gte=from_ms, fired_ms__lt=to_ms)
    for row in rows.order_by("-fired_ms")[:READ_MOST]:
        if not row.topics or topics[0] in row.topics:  # one alert for many topics is of those
            yield Marker(row.fired_ms or 0, "alert", "fired", about=row.name, id=str(row.pk))


def _when(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
