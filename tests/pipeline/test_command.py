"""The command line: faults planted behind the engine's back are found, exactly these; the run says how far it is."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import msgpack
import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, FixedTimeMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.pipeline.__main__ import main
from rmq_core.pipeline.progress import Progress
from rmq_core.pipeline.reconcile import STAGES, Inputs, reconcile
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.topic import Journal

FAR_MS = 3_600_000


def plant(client: RMQ, raw: Any) -> set[tuple[str, int | None, bytes | None]]:
    """One of each fault; returns what must be found."""
    due = int(time.time() * 1000) + FAR_MS
    client.define(Topic("work", TopicKind.FIXED_TIME, slots=2, journal=Journal.FULL))
    client.send_many("work", [FixedTimeMessage(f"m{i}", due_ms=due + i, key=f"k{i}") for i in range(100)])
    client.send_many("work", [FixedTimeMessage(f"now{i}", due_ms=1_000 + i) for i in range(40)], allow_past=True)
    taken = client.take("work", 40)
    client.ack(taken)
    where = {b"k%d" % i: slot for i in range(100) for slot in (0, 1) if raw.zscore(store(client, slot), f"k{i}")}
    expected: set[tuple[str, int | None, bytes | None]] = set()
    raw.zrem(store(client, where[b"k1"]), "k1")
    raw.hdel(keys(client, where[b"k1"]).body, "k1")
    expected.add(("lost", where[b"k1"], b"k1"))
    home = where[b"k2"]
    raw.zrem(store(client, home), "k2")
    raw.hdel(keys(client, home).body, "k2")
    raw.zadd(store(client, 1 - home), {"k2": due})
    expected.add(("wrong_slot", 1 - home, b"k2"))
    raw.hset(keys(client, 0).body, "nobody", "0 0 x")
    expected.add(("orphan_body", 0, b"nobody"))
    raw.hset(keys(client, 1).failed, "nobody", "{}")
    expected.add(("orphan_failure", 1, b"nobody"))
    raw.zadd(keys(client, 0).prepare, {"stuck": (due - 2 * FAR_MS) * 1000})
    expected |= {("stuck_in_prepare", 0, b"stuck"), ("unexpected", 0, b"stuck")}
    ended = taken[0]
    n = raw.hincrby(keys(client, ended.slot).stats, "journaled", 1)
    entry = msgpack.packb([due, ["acked", "p-", [ended.raw_id, 0]]])
    raw.xadd(keys(client, ended.slot).journal, {"n": n, "v": entry})
    expected.add(("ended_twice", ended.slot, ended.raw_id))
    # Where queues were changed by hand, the counters no longer say what they hold: k1 is missing, k2 moved, stuck came.
    held = {0: 1, 1: 0}
    held[where[b"k1"]] -= 1
    held[home] -= 1
    held[1 - home] += 1
    return expected | {("slot_ledger", slot, None) for slot, difference in held.items() if difference}


def keys(client: RMQ, slot: int) -> Any:
    return client.keyspace.slot("work", slot)


def store(client: RMQ, slot: int) -> str:
    return str(keys(client, slot).store)


def test_planted_faults_are_found_and_nothing_else(spark: Any, tmp_path: Path) -> None:
    reports, out = str(tmp_path / "reports"), io.StringIO()
    with EmbeddedRedis() as server, RMQ(server.url, "planted") as client, server.client() as raw:
        expected = plant(client, raw)
        options = SourceOptions(server.url, "planted", (), 2)
        progress = Progress(STAGES, json_lines=True, out=out)
        summary = reconcile(spark, Inputs(options, None, reports, run="first"), progress)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["percent"] for line in lines] == sorted(line["percent"] for line in lines)
    assert lines[-1] == {"stage": "report", "done": 1, "total": 1, "percent": 100}
    rows = pq.read_table(f"{reports}/first/findings").to_pylist()  # type: ignore[no-untyped-call]
    assert {(row["kind"], row["slot"], row["id"]) for row in rows} == expected
    assert len(rows) == len(expected)
    assert summary == json.loads((tmp_path / "reports" / "first" / "summary.json").read_text())
    assert summary["complete"] and summary["findings"] == len(expected)
    (figures,) = pq.read_table(f"{reports}/first/topics").to_pylist()  # type: ignore[no-untyped-call]
    assert (figures["topic"], figures["sent"], figures["acked"]) == ("work", 140, 41)
    assert not (tmp_path / "reports" / "first" / "work").exists()


def test_what_cannot_be_done_is_said_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["archive"], "--archive is missing: the folder of the archive"),
        (["reconcile", "--archive", "x"], "--reports is missing: the folder of the reports"),
        (["restore", "--archive", "x", "--url", "http://x"], "unknown Redis URL scheme 'http'"),
        (["archive", "--archive", "x", "--slots-per-partition", "0"], "slots_per_partition must be from 1 to 4096"),
    ):
        assert main(arguments) == 1
        assert capsys.readouterr().err.splitlines()[-1].startswith(said)
