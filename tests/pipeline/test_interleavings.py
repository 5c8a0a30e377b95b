"""Whatever the engine does, in whatever order: nothing is found."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rmq_core import Topic, TopicKind
from rmq_core.pipeline.jobs.judged import Judged
from rmq_core.pipeline.jobs.reconcile import findings
from rmq_core.pipeline.reading import StoredTables
from tests.pipeline.frames import LIMITS, Slot, Told, events, listed, snapshot
from tests.pipeline.legal import legal_steps

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
    judged = Judged([topic], LIMITS, StoredTables(spark, str(tmp_path)))
    assert listed(findings(judged, snapshot(spark, slots), Told(events(spark, slots), [topic]))) == set()


EVERY_EVENT = {
    *("sent", "merged", "taken", "acked", "retried", "expired", "died", "cancelled", "rescheduled", "requeued"),
    *("dropped", "released", "promoted", "extended", "lapsed", "duplicate", "outdated", "held", "lifted"),
}
