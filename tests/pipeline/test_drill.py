"""The drill: a server with messages in all states loses everything, and gets everything back from the archive."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, PriorityMessage, RangeMergeMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from rmq_core.model.ids import MessageRef
from rmq_core.model.topic import QUEUE_KINDS, Journal
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.queue_rows import Place, read_slots
from rmq_core.queries.trash import Trashed

MESSAGES = int(os.environ.get("DRILL_MESSAGES", "6000"))
"""200,000 is the full drill; the suite has time for a smaller one."""

FULL = MESSAGES >= 200_000
SLOTS, TAKEN = (4, 1_000) if FULL else (2, 500)
FAR_MS = 3_600_000
QUEUES = ("store", "retry", "prepare", "dead")


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


def everything(client: RMQ) -> dict[tuple[str, bytes], dict[str, Any]]:
    """Where every message is, read without Spark: queue → score, and its body."""
    found: dict[tuple[str, bytes], dict[str, Any]] = {}
    for topic in Inspector(client).topics():
        for slot in range(topic.slots):
            for batch in read_slots(client.connection, client.keyspace, [Place(topic.name, slot, topic.timed)]):
                for row in batch.to_pylist():
                    if row["part"] in (*QUEUES, "body", "failed", "dead_record"):
                        value = row["exact"] if row["part"] in QUEUES else row["value"]
                        found.setdefault((topic.name, row["id"]), {})[row["part"]] = value
            ((keys, *_),) = [(client.keyspace.slot(topic.name, slot),)]
            (records,) = client.connection.run([("HGETALL", keys.dead_record)])
            for id, packed in dict(records).items():
                found[topic.name, id]["dead_failed"] = Trashed.read(packed).failed
    return found


def failure(record: bytes | None) -> dict[str, Any] | None:
    """Of a failure record, what a journal tells."""
    names = ("failures", "first_ms", "last_ms", "fingerprint", "error", "message", "worker")
    return record and {name: json.loads(record)[name] for name in names}


def messages(kind: TopicKind, n: int, now_ms: int) -> Iterator[Any]:
    """Half of them due soon or late, a third with content beside their id."""
    for i in range(n):
        named: dict[str, Any] = {"key": f"{kind.value}-{i}", "headers": {"i": str(i)}} if i % 3 == 0 else {}
        content = f"content of {kind.value} {i}" if named else f"{kind.value}:{i}"
        if kind is TopicKind.PRIORITY:
            yield PriorityMessage(content, priority=17 + i % 1_000, **named)
        elif kind is TopicKind.FIXED_TIME:
            yield FixedTimeMessage(content, due_ms=now_ms + (FAR_MS + i if i % 2 else -i), **named)
        else:
            yield RangeMergeMessage(content, range_ms=FAR_MS + i if i % 2 else 1, **named)


def live(client: RMQ, kind: TopicKind, n: int) -> None:
    """Everything that can happen to messages happens to some of them."""
    name = kind.value
    client.define(
        Topic(name, kind, slots=SLOTS, journal=Journal.FULL, max_retries=3, backoff_ms=FAR_MS, backoff_max_ms=FAR_MS)
    )
    client.send_many(name, messages(kind, n, int(time.time() * 1000)), allow_past=True)
    for turn in range(max(1, n // 8_000)):
        taken = client.take(name, TAKEN, timeout_ms=5_000)
        assert len(taken) == TAKEN
        tenth = TAKEN // 10
        client.ack(taken[: 4 * tenth])
        client.nack(taken[4 * tenth : 5 * tenth], error="Broken", message=f"in turn {turn}")
        client.reject(taken[5 * tenth : 6 * tenth], message="no use")
        client.release(taken[6 * tenth : 7 * tenth])
    control = Control(client)
    dead = [MessageRef(row.slot, row.id) for row in Inspector(client).messages(name, "dead", limit=60).rows]
    control.requeue(name, dead[:20])
    control.drop(name, dead[20:40])
    # A second copy beside the dead one, and beside the one in flight, with contents of their own.
    for ref in dead[40:50]:
        client.send(name, message(kind, "beside a dead letter", ref.id))
    for delivery in taken[8 * tenth : 9 * tenth]:
        client.send(name, message(kind, "beside one in flight", delivery.id))
    last = [f"{name}:{i}" for i in range(60) if i % 3 and i % 2]
    assert "done" in {each.status for each in control.cancel(name, last)}


def message(kind: TopicKind, content: str, key: str) -> Any:
    if kind is TopicKind.PRIORITY:
        return PriorityMessage(content, priority=500, key=key)
    if kind is TopicKind.FIXED_TIME:
        return FixedTimeMessage(content, due_ms=int(time.time() * 1000) + FAR_MS, key=key)
    return RangeMergeMessage(content, range_ms=FAR_MS, key=key)


def test_the_drill(spark: Any, server: EmbeddedRedis, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, reports = str(tmp_path / "archive"), str(tmp_path / "reports")
    with RMQ(server.url, "drill") as client:
        for kind in QUEUE_KINDS:
            live(client, kind, MESSAGES // 3)
        before = everything(client)
        options = SourceOptions(server.url, "drill", (), 2)
        started = time.monotonic()
        archived = archive(spark, options, path)
        archived_s = time.monotonic() - started
        assert restore(spark, options, path).restored == 0  # nothing is missing: nothing is touched
        assert everything(client) == before
        server.client().flushall()
        started = time.monotonic()
        put = restore(spark, options, path)
        restored_s = time.monotonic() - started
        after = everything(client)
        compare(before, after)
        waiting = sum(bool(there.keys() & {"store", "retry", "prepare"}) for there in before.values())
        assert put.restored == waiting + sum("dead" in there for there in before.values())
        assert (put.without_content, put.left_out, put.deleted) == (0, (), ())
        archive(spark, options, path)
        started = time.monotonic()
        summary = reconcile(spark, Inputs(options, path, reports, overdue_ms=10**12))
        reconciled_s = time.monotonic() - started
        assert (summary["counts"], summary["complete"]) == ({}, True)
    states = Counter(queue for there in before.values() for queue in QUEUES if queue in there)
    with capsys.disabled():
        print(
            f"\ndrill: {MESSAGES} sent, {archived.rows} transitions archived in {archived_s:.1f} s, {dict(states)}"
            f" restored in {restored_s:.1f} s, reconciled in {reconciled_s:.1f} s: 0 lost, 0 resurrected"
        )


def compare(before: dict[tuple[str, bytes], dict[str, Any]], after: dict[tuple[str, bytes], dict[str, Any]]) -> None:
    """Zero lost, zero resurrected; due times, priorities, retries, contents equal; what was in flight waits, ready."""
    assert before.keys() - after.keys() == set()
    assert after.keys() - before.keys() == set()
    for (topic, id), old in before.items():
        new = after[topic, id]
        assert new.get("body") == old.get("body"), (topic, id)
        assert ("dead" in new) == ("dead" in old), (topic, id)
        if "store" in old:
            assert new["store"] == old["store"], (topic, id)  # its place among equals, too
        elif "retry" in old:
            assert new["retry"] == old["retry"], (topic, id)
            assert b'"error":"Broken"' in new["failed"] and failure(new["failed"]) == failure(old["failed"])
        elif "prepare" in old:
            assert ("store" in new) or ("retry" in new), (topic, id)
            if topic == "priority" and "store" in new:
                assert new["store"] > 16, (topic, id)
        if "dead" in old:
            assert (new["dead"], new["dead_record"]) == (old["dead"], old["dead_record"]), (topic, id)
            assert failure(new["dead_failed"]) == failure(old["dead_failed"]), (topic, id)
            assert b'"error":"Reject"' in new["dead_failed"]


def test_restoring_from_nothing_is_refused(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="holds nothing to restore"):
        restore(spark, SourceOptions(server.url, "drill", ()), str(tmp_path))
