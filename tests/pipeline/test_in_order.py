"""What is left out as plainly in order is what `verdicts.suspicious` has nothing to say of."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from rmq_core import Topic, TopicKind
from rmq_core.model.scores import LANE, SHIFT
from rmq_core.pipeline.findings import verdicts
from rmq_core.pipeline.history.in_order import Slots, in_order
from rmq_core.pipeline.jobs.judged import Judged, judge
from rmq_core.pipeline.reading import StoredTables
from rmq_core.pipeline.schemas import HISTORIES, INLINE, arrow, ddl
from rmq_core.pipeline.small import small
from tests.pipeline.frames import LIMITS, T0, Told, events, snapshot
from tests.pipeline.scenarios import SCENARIOS

NOW = T0 + 10_000_000
OVERDUE_MS, STUCK_MS = 900_000, 60_000
KINDS = {"timed": "fixed-time", "ranked": "priority", "stopped": "fixed-time", "of@group": "stream"}
SCORES = {"ranked": (900, 3), "of@group": (LANE + 32, 3)}
WHOLE, BROKEN = 0, 1  # slots: the journal of the second is not whole
LIFE = 2

BLANK: dict[str, Any] = {
    **dict.fromkeys((name for name, _, _ in HISTORIES), None),
    **{"waiting": 0, "in_flight": 0, "dead": 0, "life": LIFE, "position": 7, "has_body": False, "has_failed": False},
    **{"waiting_stored": False, "in_flight_stored": False, "dead_stored": False, "unsure": False, "read_ms": NOW},
    **{"waiting_failures": 0, "in_flight_failures": 0, "dead_failures": 0},
}
COPY = ("waiting", "in_flight", "dead")
IN = ("in_store", "in_retry", "in_prepare", "in_dead")
CHANGES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(COPY, (None, 0, 1, 2)),
    **dict.fromkeys(IN, (None, 3, 900, NOW, (NOW + 5) * SHIFT + 1)),
    **dict.fromkeys(("exact_store", "waiting_exact"), (None, 3.0, NOW + 0.5, LANE + 1.5, LANE + 31.5, 899.5)),
    **dict.fromkeys(("waiting_score", "dead_score", "in_flight_score"), (None, 3, 900, NOW)),
    **dict.fromkeys(("waiting_content", "dead_content", "in_flight_content"), (None, INLINE, 11, 12)),
    **dict.fromkeys(("body_hash", "dead_hash", "replaced_hash"), (None, INLINE, 11, 12)),
    **dict.fromkeys(("has_body", "has_failed", "waiting_stored", "dead_stored"), (False, True)),
    "queue": (None, "s", "r"),
    "life": (None, 1, LIFE, 3),
    **dict.fromkeys(("waiting_failed_at", "dead_failed_at"), (None, 5)),
    "read_ms": (NOW, NOW + OVERDUE_MS, NOW + 2 * OVERDUE_MS),
    "wrong": (None, {"kind": "ended_twice"}),
}
SEEDS = [int(seed) for seed in os.environ.get("PIPELINE_SEEDS", "1").split(",")]


def well(random: Random, n: int) -> dict[str, Any]:
    """A message that is where it must be."""
    topic = random.choice((*KINDS, "just now"))
    row = BLANK | {"topic": topic, "slot": random.choice((WHOLE, WHOLE, BROKEN)), "id": b"%d" % n}
    has_body, content = random.random() < 0.5, random.choice((None, 11))
    if random.random() < 0.3:
        of_dead = content or random.choice((None, 11))
        return row | {"dead": 1, "in_dead": NOW, "dead_score": NOW, "dead_hash": of_dead, "dead_content": content}
    row |= {"waiting": 1, "has_body": has_body, "body_hash": 11 if has_body else None}
    row |= {"waiting_content": (content if has_body else random.choice((None, INLINE)))}
    if random.random() < 0.3:
        score = (NOW + random.choice((-OVERDUE_MS, 0, 5))) * SHIFT + 1
        failed = random.random() < 0.5
        row |= {"queue": "r", "in_retry": score, "waiting_score": score}
        return row | {"has_failed": failed, "waiting_failed_at": 5 if failed else None}
    score = random.choice(SCORES.get(topic, (NOW, NOW - OVERDUE_MS, NOW + 5, 3)))
    place = score - 0.25 if score > 16 else None
    lane = LANE + 3.5 if topic == "ranked" and random.random() < 0.3 else place
    return row | {"queue": "s", "in_store": score, "waiting_score": score, "exact_store": lane, "waiting_exact": place}


def messages(random: Random, total: int) -> pa.RecordBatch:
    """Messages that are well, but for up to three things."""
    rows = []
    for n in range(total):
        row = well(random, n)
        for name in random.sample(sorted(CHANGES), random.choice((0, 1, 1, 2, 3))):
            row[name] = random.choice(CHANGES[name])
        if row["has_body"] and row["body_hash"] is None:
            row["body_hash"] = INLINE
        rows.append(row)
    return pa.RecordBatch.from_pylist(rows, arrow(HISTORIES))


def test_the_same_is_suspected_whether_they_are_left_out_or_not(spark: Any, tmp_path: Path) -> None:
    several = [slot for each in SCENARIOS.values() for slot in each.slots]
    usual: dict[str, Any] = {"kind": TopicKind.FIXED_TIME, "slots": 4, "journal": "full"}
    topics = [Topic(name, **(usual | each.options)) for name, each in SCENARIOS.items()]
    said, stored = {}, {}
    for every in (True, False):
        kept = StoredTables(spark, str(tmp_path / str(every)))
        judge(Judged(topics, LIMITS, kept, every=every), snapshot(spark, several), Told(events(spark, several), topics))
        said[every] = sorted(map(str, kept.read("suspects").collect()))
        stored[every] = kept.read("messages").where("id IS NOT NULL").count()
    assert said[True] == said[False] != []
    assert stored[False] < stored[True]


@pytest.mark.parametrize("seed", SEEDS)
def test_of_what_is_left_out_there_is_nothing_to_say(spark: Any, seed: int) -> None:
    found = messages(Random(seed), 20_000)
    limits = {name: None if name == "stopped" else OVERDUE_MS for name in KINDS}
    slots = Slots(
        {(name, WHOLE): LIFE for name in KINDS}, limits, frozenset({"timed", "stopped"}), frozenset({"ranked"})
    )
    columns = {name: found.column(name) for name in found.schema.names}
    left_out = {row for row, out in zip(found.column("id").to_pylist(), in_order(columns, slots), strict=True) if out}

    frame = spark.createDataFrame(pa.Table.from_batches([found]), ddl(HISTORIES))
    whole = small(
        spark,
        [(name, WHOLE, LIFE, [1], 9, 9) for name in KINDS],
        "topic string, slot int, life int, lost_lives array<int>, begin long, end long",
    )
    topics = small(
        spark,
        [(name, kind, "full", 60_000, name == "stopped") for name, kind in KINDS.items()],
        "topic string, kind string, journal string, visibility_timeout_ms long, paused boolean",
    )
    suspects = verdicts.suspicious(frame, whole, topics, STUCK_MS, OVERDUE_MS)
    said = {
        bytes(row.id): row.asDict() for row in suspects.select("id", "misplaced", "overdue", "impossible").collect()
    }
    assert {id: said[id] for id in left_out & {*said}} == {}
    # Of what is well and has no copy in flight, little is kept.
    rest = [row for row in found.to_pylist() if row["id"] not in said and row["id"] not in left_out]
    kept = [row for row in rest if row["in_prepare"] is None and row["in_flight"] == 0]
    assert len(left_out) > 8_000
    assert len(said) > 4_000
    assert len(kept) < 2_000
