"""Who owns which slot as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rmq_core.queries.owners import OwnershipEvent, SlotOwner, to_ranges


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
