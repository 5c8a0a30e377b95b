"""Workers, and who owns which slot, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from rmq_core.model.views import WorkerInfo
from rmq_core.queries.owners import OwnershipEvent, SlotOwner, to_ranges

_AS_IT_IS = (
    "name", "host", "pid", "state", "session", "session_since_ms", "started_ms", "seen_ms", "weight", "threads",
    "in_flight", "done", "failed", "done_per_s", "stuck", "stale", "version",
)  # fmt: skip


def worker_json(worker: WorkerInfo, drained: bool, sees: Callable[[str], bool] = bool) -> dict[str, Any]:
    """A worker as it last reported itself, with what it says of topics that somebody may see."""
    return {
        **{name: getattr(worker, name) for name in _AS_IT_IS},
        "drained": drained,
        "slots": sum(len(slots) for name, slots in worker.slots.items() if sees(name)),
        "topics": {name: len(worker.slots.get(name, ())) for name in worker.topics if sees(name)},
        "versions": {name: version for name, version in worker.versions.items() if sees(name)},
        "at_most_once": [name for name in worker.at_most_once if sees(name)],
        "turns": {name: asdict(turns) for name, turns in worker.turns.items() if sees(name)},
    }


def owners_json(owners: Sequence[SlotOwner]) -> dict[str, Any] | None:
    """Owners of a topic's slots, compact: names once, then three columns; None where nobody ever owned one."""
    if all(owner.worker is None for owner in owners):
        return None
    names = sorted({owner.worker for owner in owners if owner.worker is not None})
    place = {name: index for index, name in enumerate(names)}
    return {
        "names": names,
        "of": [-1 if owner.worker is None else place[owner.worker] for owner in owners],
        "epochs": [owner.epoch.lstrip("0") if owner.epoch else None for owner in owners],
        "since_ms": [owner.since_ms for owner in owners],
    }


def event_json(event: OwnershipEvent) -> dict[str, Any]:
    """A line of the timeline."""
    return {
        "at_ms": event.at_ms,
        "event": event.event,
        "worker": event.worker,
        "reason": event.reason,
        "slots": to_ranges(event.slots),
        "count": len(event.slots),
    }
