"""What the engine could write about a message, by the state of its slot."""

from __future__ import annotations

from typing import Any

from rmq_core.model.holds import HELD_FROM
from tests.pipeline.frames import DUE, Slot


def legal_steps(slot: Slot, id: bytes) -> list[list[tuple[Any, ...]]]:
    """What the engine could write about a message now."""
    now, queues = slot.clock + 10, slot.queues
    waits = "s" if id in queues["store"] else "r" if id in queues["retry"] else None
    in_flight, dead = id in queues["prepare"], id in queues["dead"]
    steps: list[list[tuple[Any, ...]]] = [
        [("merged" if waits else "sent", "ns", id, DUE)],
        *([[("merged", "n-", id, 0)]] if waits else []),
        [("duplicate", "n-", id, now)],
        [("outdated", "n-", id, 7)],
    ]
    if waits == "s" and not in_flight:
        steps.append([("taken", "sp", id, now * 1000)])
    if waits:
        steps += [[("cancelled", f"{waits}t", id, 0)], [("rescheduled", f"{waits}s", id, DUE + 5)]]
    if waits and not in_flight:
        steps += [[("lapsed", f"{waits}-", id, 0)], [("outdated", f"{waits}-", id, 0)]]
    if waits == "s" and not in_flight:
        steps.append([("held", "sr", id, HELD_FROM + 1000)])
    if waits == "r":
        steps += [
            [("lifted", "rs", id, DUE)],
            [("promoted", "rs", id, 16)],
            [("rescheduled", "rr", id, DUE * 1000 + 1)],
        ]
    if in_flight:
        steps += [[("acked", "p-", id, now * 1000)], [("extended", "pp", id, now * 1000)]]
        expired = [("expired", "pp", id, 0)]
        if waits == "s":
            steps += [[("merged", "p-", id, 0)], [*expired, ("merged", "p-", id, 0)]]
        elif not waits:
            steps += [
                [("retried", "pr", id, DUE * 1000 + 1)],
                [*expired, ("retried", "ps", id, 15)],
                [("released", "ps", id, DUE)],
            ]
            steps.append([("died", "pd", id, now), *([("merged", "dd", id, now)] if dead else [])])
    if dead:
        steps += [[("dropped", "dt", id, 0)], [("merged", "d-", id, 0)] if waits else [("requeued", "ds", id, DUE)]]
    return steps
