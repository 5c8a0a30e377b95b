"""Whatever the engine does, in whatever order: nothing is found."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rmq_core import Topic, TopicKind
from rmq_core.pipeline.reconcile import StoredTables, findings
from tests.pipeline.frames import DUE, LIMITS, Slot, events, listed, snapshot

IDS = [b"m%d" % i for i in range(4)]


SEEDS = [int(seed) for seed in os.environ.get("PIPELINE_SEEDS", "1").split(",")]


@pytest.mark.parametrize("seed", SEEDS)
def test_any_interleaving_of_legal_transitions_gives_no_finding(spark: Any, tmp_path: Path, seed: int) -> None:
    # Not hypothesis: each example is a Spark job, so one is made large instead. More with PIPELINE_SEEDS=1,2,3.
    random = Random(seed)
    slots = []
    for number in range(64):
        slot = Slot(number=number)
        slot.say(("began", "--", b"", 0))
        for _ in range(random.randrange(80)):
            slot.say(*random.choice(legal_steps(slot, random.choice(IDS))))
        slots.append(slot)
    assert {event for slot in slots for event in (row["event"] for row in slot.entries)} >= EVERY_EVENT
    topic = Topic("work", TopicKind.FIXED_TIME, slots=64)
    frames = snapshot(spark, slots), events(spark, slots)
    assert listed(findings(spark, *frames, [topic], LIMITS, None, StoredTables(spark, str(tmp_path)))) == set()  # type: ignore[arg-type]


EVERY_EVENT = {
    *("sent", "merged", "taken", "acked", "retried", "expired", "died", "cancelled", "rescheduled", "requeued"),
    *("dropped", "released", "promoted", "extended"),
}


def legal_steps(slot: Slot, id: bytes) -> list[list[tuple[Any, ...]]]:
    """What the engine could write about a message now."""
    now, queues = slot.clock + 10, slot.queues
    waits = "s" if id in queues["store"] else "r" if id in queues["retry"] else None
    in_flight, dead = id in queues["prepare"], id in queues["dead"]
    steps: list[list[tuple[Any, ...]]] = [
        [("merged" if waits else "sent", "ns", id, DUE)],
        *([[("merged", "n-", id, 0)]] if waits else []),
    ]
    if waits == "s" and not in_flight:
        steps.append([("taken", "sp", id, now * 1000)])
    if waits:
        steps += [[("cancelled", f"{waits}t", id, 0)], [("rescheduled", f"{waits}s", id, DUE + 5)]]
    if waits == "r":
        steps += [[("promoted", "rs", id, 16)], [("rescheduled", "rr", id, DUE * 1000 + 1)]]
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
