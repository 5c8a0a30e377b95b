"""Who works, and who owns which slot: the frame of the Workers page, and the owners on a topic's page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from console.engine import AsyncEngine
from console.serializers.workers import event_json, worker_json
from rmq_core.errors import ScriptFailed
from rmq_core.model.topic import Topic
from rmq_core.model.views import WorkerInfo
from rmq_core.ops import placement
from rmq_core.ops.placement import Overrides
from rmq_core.queries.owners import OwnershipEvent, to_ranges

EVENTS_EACH = 20
EVENTS_SHOWN = 60


def serial(workers: Iterable[WorkerInfo], topic: str) -> bool:
    """Whether a topic's slots are owned rather than shared."""
    return any(worker.owns_slots_of(topic) for worker in workers)


def unowned(workers: Sequence[WorkerInfo], topic: Topic) -> tuple[int, ...]:
    """Slots nobody takes from; empty for a topic in shared mode."""
    if not serial(workers, topic.name):
        return ()
    owned = {slot for worker in workers if worker.state != "lost" for slot in worker.slots.get(topic.name, ())}
    return tuple(slot for slot in range(topic.slots) if slot not in owned)


def owners_of(workers: Sequence[WorkerInfo], topic: Topic) -> tuple[str | None, ...] | None:
    """Who takes from each slot; None for a topic in shared mode."""
    if not serial(workers, topic.name):
        return None
    found: list[str | None] = [None] * topic.slots
    for worker in workers:
        for slot in worker.slots.get(topic.name, ()) if worker.state != "lost" else ():
            if slot < topic.slots:
                found[slot] = worker.name
    return tuple(found)


async def fleet_frame(
    engine: AsyncEngine, topics: Sequence[Topic], workers: Sequence[WorkerInfo], at_ms: int, interval_ms: int
) -> dict[str, Any]:
    """Workers, what operators want of them, who owns how much, and what happened lately."""
    wanted = await engine.client.run(placement.read(engine.client.keyspace))
    events: list[tuple[OwnershipEvent, str]] = []
    shown = []
    for topic in topics:
        shown.append(_topic(topic, workers, wanted))
        if serial(workers, topic.name):
            try:
                found = await engine.inspector.ownership_timeline(topic.name, limit=EVENTS_EACH)
            except ScriptFailed:
                continue  # the key holds something else; who owns what does not come from there
            events += [(event, topic.name) for event in found]
    events.sort(key=lambda pair: -pair[0].at_ms)
    return {
        "type": "fleet",
        "at_ms": at_ms,
        "interval_ms": interval_ms,
        "workers": [worker_json(worker, worker.name in wanted.drained) for worker in workers],
        "away": sorted(wanted.drained - {worker.name for worker in workers}),
        "topics": shown,
        "events": [event_json(event) | {"topic": topic} for event, topic in events[:EVENTS_SHOWN]],
    }


def _topic(topic: Topic, workers: Sequence[WorkerInfo], wanted: Overrides) -> dict[str, Any]:
    missing = unowned(workers, topic)
    pins: Mapping[int, str] = wanted.pins.get(topic.name, {})
    by_worker: dict[str, list[int]] = {}
    for slot, worker in pins.items():
        by_worker.setdefault(worker, []).append(slot)
    return {
        "name": topic.name,
        "version": topic.version,
        "slots": topic.slots,
        "serial": serial(workers, topic.name),
        "unowned": len(missing),
        "unowned_slots": to_ranges(missing),
        "pins": [{"worker": worker, "slots": to_ranges(slots)} for worker, slots in sorted(by_worker.items())],
    }
