"""Fields of a slot that somebody has overwritten with what no script writes: no run ends with them, each is found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.ops import repairs
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions

HUGE = b"9" * 25
LARGEST = b"%d" % (2**63 - 1)
SLOTS = 16
COUNTERS = [
    *(("sent", HUGE), ("sent", LARGEST), ("restored", b"-" + LARGEST), ("acked", HUGE), ("acked", LARGEST)),
    *(("acked", b"many"), ("acked", b"7_0"), ("lapsed", b"1e400"), ("taken", b"9" * 5_000), ("corrected", HUGE)),
]
"""Of which all but the first two have counted nothing."""


def test_spoiled_counters_are_found_and_repaired(spark: Any, client: RMQ, tmp_path: Path) -> None:
    def define(name: str) -> Topic:
        return client.define(Topic(name, TopicKind.PRIORITY, slots=SLOTS, journal=Journal.FULL))

    topic, options = define("work"), SourceOptions(client.target.url, client.keyspace.namespace, (), 8)
    topics = {each.name: each for each in (topic, define("other"), define("third"))}
    for name in topics:
        client.send_many(name, [PriorityMessage("x", priority=100, key=f"m{i}") for i in range(100)])
    inputs = Inputs(options, str(tmp_path / "archive"), str(tmp_path / "reports"))
    archive(spark, options, str(inputs.archive))

    def spoil(name: str, slot: int, field: str, value: bytes) -> None:
        client.connection.run([("HSET", client.keyspace.slot(name, slot).stats, field, value)])

    def findings(run: str) -> list[dict[str, Any]]:
        reconcile(spark, replace(inputs, run=run))
        rows = pq.read_table(f"{inputs.reports}/{run}/findings").to_pylist()  # type: ignore[no-untyped-call]
        return list(rows)

    for slot, spoiled in enumerate(COUNTERS):
        spoil("work", slot, *spoiled)
    for slot, spoiled in enumerate((("told", HUGE), ("journaled", HUGE), ("journaled", b"many"))):
        spoil("other", slot, *spoiled)
    mark = client.connection.run([("HGET", client.keyspace.slot("third", 0).stats, "shape")])[0]
    spoil("third", 0, "shape", b"\xff\xfe")
    found = findings("spoiled")
    kinds = {(row["kind"], row["topic"], row["slot"]) for row in found}
    wanted = {("slot_ledger", "work", slot) for slot in range(len(COUNTERS))}
    stopped = {(kind, "other", slot) for kind in ("journal_gap", "slot_ledger") for slot in (1, 2)}
    assert kinds == wanted | stopped | {("journal_gap", "third", 0)}
    for row in found:
        if row["kind"] == "slot_ledger":
            assert row["repair"] == "correct_counters"
            said = json.loads(row["evidence"])
            wrong = repairs.Miscount(said["gap"], said["by"], said["counters"], said["corrected"])
            assert client.run(repairs.correct_counters(client.keyspace, topics[row["topic"]], row["slot"], wrong))
    for name in ("work", "other"):
        taken = client.take(name, 100)
        assert len(taken) == 100 and len(client.ack(taken)) == 100
    assert {row["topic"] for row in findings("repaired")} == {"third"}
    spoil("third", 0, "shape", mark)
