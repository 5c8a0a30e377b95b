"""In mode events a journal says which messages have a content, and not which: that one is gone is found, and
nothing where messages with and without one share an id, come back out of the trash, or replace one another."""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

from rmq_core import RMQ, Control, FixedTimeMessage, PriorityMessage, RangeMergeMessage, Topic, TopicKind
from rmq_core.model.ids import MessageRef
from rmq_core.pipeline.findings.verdicts import WHY
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions

STEPS, IDS, FAR_MS = 500, 12, 3_600_000
KINDS = {"urgent": TopicKind.PRIORITY, "timed": TopicKind.FIXED_TIME, "merged": TopicKind.RANGE_MERGE}


def message(topic: str, id: str, random: Random, *, stored: bool | None = None) -> Any:
    """With a content of its own, or none; None: one of both."""
    stored = random.random() < 0.5 if stored is None else stored
    said: Any = {"content": "of its own", "key": id} if stored else {"content": id}
    if topic == "urgent":
        return PriorityMessage(**said, priority=random.randint(100, 103))
    if topic == "merged":
        return RangeMergeMessage(**said, range_ms=random.choice([1, FAR_MS]))
    return FixedTimeMessage(**said, due_ms=int(time.time() * 1000) + random.choice([-1_000, FAR_MS]))


def live(client: RMQ, topic: str, random: Random) -> None:
    """Whatever can happen to a dozen ids."""
    control, taken = Control(client), list[Any]()
    acts = ["send"] * 6 + ["take"] * 5 + ["ack", "nack", "reject", "release"] * 2
    acts += ["cancel", "drop", "requeue", "restore", "run_now"] * 2
    for _ in range(STEPS):
        act, id = random.choice(acts), f"m{random.randrange(IDS)}"
        if act == "send":
            more: Any = {"allow_past": True} if topic == "timed" else {}
            client.send_many(topic, [message(topic, id, random)], **more)
        elif act == "take":
            taken += client.take(topic, random.randint(1, 3))
        elif act in ("ack", "nack", "reject", "release") and taken:
            more = {"delay_ms": random.choice([0, FAR_MS])} if act == "nack" else {}
            getattr(client, act)(taken.pop(random.randrange(len(taken))), **more)
        elif act in ("cancel", "drop", "requeue", "restore", "run_now"):
            getattr(control, act)(topic, [MessageRef(0, id)])


def test_the_content_of_what_has_one_is_missed_and_of_nothing_else(
    spark: Any, client: RMQ, redis_server: Any, tmp_path: Path
) -> None:
    random = Random(20261128)
    for topic, kind in KINDS.items():
        times: Any = {"backoff_max_ms": FAR_MS, "visibility_timeout_ms": FAR_MS, "undo_ms": FAR_MS}
        client.define(Topic(topic, kind, slots=1, journal="events", **times))
        live(client, topic, random)
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    inputs = Inputs(options, f"{tmp_path}/archive", f"{tmp_path}/reports")

    def reported() -> dict[tuple[str, bytes], dict[str, Any]]:
        archive(spark, options, str(inputs.archive))
        name = reconcile(spark, inputs)["run"]
        rows = pq.read_table(f"{tmp_path}/reports/{name}/findings").to_pylist()  # type: ignore[no-untyped-call]
        return {(row["topic"], row["id"]): row | json.loads(row["evidence"]) for row in rows}

    assert reported() == {}
    for topic in KINDS:  # on top of closed books
        live(client, topic, random)
    assert reported() == {}
    gone = set()
    with redis_server.client() as raw:
        for topic in KINDS:
            keys = client.keyspace.slot(topic, 0)
            client.send_many(topic, [message(topic, "fresh", random, stored=True)])
            gone |= {(topic, id) for id in raw.hkeys(keys.body)}
            raw.delete(keys.body)
    found = reported()
    assert {row["kind"] for row in found.values()} == {"missing_content"}
    assert {(row["repair"], row["why"]) for row in found.values()} == {("none", WHY["content"])}
    assert {(topic, b"fresh") for topic in KINDS} < {*found} <= gone  # of a merged one nobody knows what stayed
