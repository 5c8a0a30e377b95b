"""The drill: a server with messages in all states loses everything, and gets everything back from the archive."""

from __future__ import annotations

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
from rmq_core.message import MessageRef
from rmq_core.pipeline.archive import archive
from rmq_core.pipeline.reconcile import Inputs, reconcile
from rmq_core.pipeline.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.queues import read_slot
from rmq_core.topic import Journal

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
            for batch in read_slot(client.connection, client.keyspace, topic.name, slot):
                for row in batch.to_pylist():
                    if row["part"] in (*QUEUES, "body", "failed"):
                        value = row["score"] if row["part"] in QUEUES else row["value"]
                        found.setdefault((topic.name, row["id"]), {})[row["part"]] = value
    return found


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
    last = [f"{name}:{i}" for i in range(n - 40, n) if i % 3 and i % 2]
    assert "done" in {each.status for each in control.cancel(name, last)}


def test_the_drill(spark: Any, server: EmbeddedRedis, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, reports = str(tmp_path / "archive"), str(tmp_path / "reports")
    with RMQ(server.url, "drill") as client:
        for kind in TopicKind:
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
        assert put.restored == len(before) and put.without_content == 0
        again = restore(spark, options, path)
        assert again.restored == 0
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
    now_ms = time.time() * 1000
    for (topic, id), old in before.items():
        new = after[topic, id]
        assert new.get("body") == old.get("body"), (topic, id)
        if "store" in old:
            timed = topic != "priority" and old["store"] > 16
            # What was overdue is due now.
            assert new["store"] == old["store"] or (timed and old["store"] <= new["store"] <= now_ms), (topic, id)
        elif "retry" in old:
            assert new["retry"] == old["retry"], (topic, id)
            assert b'"error":"Broken"' in new["failed"]
        elif "dead" in old:
            assert abs(new["dead"] - old["dead"]) < 1_000 and b'"error":"Reject"' in new["failed"], (topic, id)
        else:
            assert ("store" in new) or ("retry" in new), (topic, id)
            if topic == "priority" and "store" in new:
                assert new["store"] > 16, (topic, id)


def test_restoring_from_nothing_is_refused(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="holds nothing to restore"):
        restore(spark, SourceOptions(server.url, "drill", ()), str(tmp_path))
