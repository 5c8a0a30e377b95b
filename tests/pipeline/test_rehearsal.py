"""What was there at a moment, in a namespace of another name: the one in use is not touched."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, PriorityMessage, Topic, TopicKind
from rmq_core.errors import PipelineError
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive.lock import RestoreBusy, RestoreLock
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.restoring.rehearsal import Rehearsal, text
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline import parquet
from tests.support.waiting import wait_until

FAR_MS = 3_600_000


@pytest.fixture
def other(client: RMQ) -> Iterator[RMQ]:
    """The namespace of another name."""
    with RMQ(client.target.url, f"{client.keyspace.namespace}-then") as rmq:
        yield rmq
        for topic in Inspector(rmq).topics():
            Control(rmq).delete_topic(topic.name, force=True)


def now_ms(client: RMQ) -> int:
    ((seconds, micros),) = client.connection.run([("TIME",)])
    return int(seconds) * 1000 + int(micros) // 1000


def held(client: RMQ, topic: str) -> dict[str, dict[bytes, float]]:
    """queue → id → score, of the only slot."""
    keys, found = client.keyspace.slot(topic, 0), {}
    for name in ("store", "retry", "prepare", "dead"):
        (pairs,) = client.connection.run([("ZRANGE", getattr(keys, name), 0, -1, "WITHSCORES")])
        if pairs:
            found[name] = {each[0]: float(each[1]) for each in pairs}
    return found


def test_the_past_in_another_namespace(spark: Any, client: RMQ, other: RMQ, tmp_path: Path) -> None:
    path, options = str(tmp_path / "archive"), SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    for name in ("work", "bare", "holed", "gone"):
        mode = Journal.EVENTS if name == "bare" else Journal.FULL
        client.define(Topic(name, TopicKind.PRIORITY, slots=1, journal=mode, backoff_ms=FAR_MS, backoff_max_ms=FAR_MS))
        client.send_many(name, [PriorityMessage(f"content {i}", priority=100 + i, key=f"m{i}") for i in range(6)])
    client.send("holed", PriorityMessage("of the entry that will be gone", priority=50))
    taken = client.take("work", 4)
    client.ack(taken[:1])
    client.nack(taken[1:2], error="Broken")
    client.reject(taken[2:3])
    then, was = now_ms(client), held(client, "work")
    wait_until(lambda: now_ms(client) > then, what="a later millisecond")
    client.send("work", PriorityMessage("later", priority=50))
    client.ack(taken[3:])
    client.define(Topic("young", TopicKind.FIXED_TIME, slots=1, journal=Journal.FULL))
    client.send("young", FixedTimeMessage("young", due_ms=int(time.time() * 1000) + FAR_MS))
    archive(spark, options, path)
    parquet.remove_entry(Path(path), "holed", 0, n=3)
    Control(client).delete_topic("gone", force=True)
    archive(spark, options, path)
    client.send("work", PriorityMessage("in the journal only", priority=60))
    before = held(client, "work")

    rehearsal = Rehearsal(other.keyspace.namespace, then)
    counts = {
        "bare": {"without_content": 6},
        "gone": {"waiting": 6},
        "work": {"waiting": 2, "retrying": 1, "in_flight": 1, "dead": 1},
    }
    dry = restore(spark, options, path, dry_run=True, rehearsal=rehearsal)
    assert (dry.counts, dry.restored, dry.without_content) == (counts, 11, 6)
    assert [(each.topic, each.slot, each.reason) for each in dry.left_out] == [("holed", 0, "file")]
    assert Inspector(other).topics() == []
    did = restore(spark, options, path, rehearsal=rehearsal)
    assert (did.restored, did.present, did.counts, did.into) == (11, 0, counts, other.keyspace.namespace)
    assert set(did.topics) == {"work", "bare", "holed", "gone", "young"}
    there = held(other, "work")
    assert there["retry"] == was["retry"] and there["dead"] == was["dead"]
    assert there["store"].items() >= was["store"].items() and there["store"].keys() - was["store"].keys() == {b"m2"}
    assert held(other, "young") == held(other, "bare") == {}
    assert held(client, "work") == before, "the one in use is not touched"

    # One that was interrupted goes on.
    keys = other.keyspace.slot("work", 0)
    other.connection.run([("ZREM", keys.store, "m1"), ("HDEL", keys.body, "m1")])
    again = restore(spark, options, path, rehearsal=rehearsal)
    assert (again.restored, again.present) == (1, 10)
    assert [each.content for each in other.take("work", 10) if each.id == "m1"] == [b"content 1"]
    with pytest.raises(PipelineError, match=r"is in use \(topic work\)"):
        restore(spark, options, path, rehearsal=rehearsal)
    with pytest.raises(PipelineError, match="is the one itself"):
        restore(spark, options, path, rehearsal=replace(rehearsal, into=options.namespace))


def test_without_a_moment_it_is_as_now(spark: Any, client: RMQ, other: RMQ, tmp_path: Path) -> None:
    path, options = str(tmp_path / "archive"), SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal=Journal.FULL))
    client.send_many("work", [PriorityMessage(f"m{i}", priority=100) for i in range(3)])
    client.define(Topic("dark", TopicKind.PRIORITY, slots=1, journal=Journal.FULL))
    client.send("dark", PriorityMessage("of which no archive knows", priority=100))
    client.connection.run([("XTRIM", client.keyspace.slot("dark", 0).journal, "MAXLEN", 0)])
    archive(spark, options, path)
    client.ack(client.take("work", 1))
    client.send("work", PriorityMessage("in the journal only", priority=60))
    did = restore(spark, options, path, rehearsal=Rehearsal(other.keyspace.namespace))
    assert did.restored == 3 and held(other, "work") == held(client, "work")
    assert [(each.topic, each.reason) for each in did.left_out] == [("dark", "trimmed")]


def test_one_namespace_has_one_moment_of_one_other(
    spark: Any, client: RMQ, other: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, options = str(tmp_path / "archive"), SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    into = other.keyspace.namespace
    client.define(Topic("work", TopicKind.PRIORITY, slots=1, journal=Journal.FULL))
    client.send_many("work", [PriorityMessage(f"m{i}", priority=100 + i) for i in range(3)])
    archive(spark, options, path)
    was = held(client, "work")
    with pytest.raises(PipelineError, match="is still to come"):
        restore(spark, options, path, rehearsal=Rehearsal(into, now_ms(client) + FAR_MS))
    monkeypatch.setattr("rmq_core.pipeline.restoring.restore.RestoreLock", lambda each: RestoreLock(each, wait_ms=0))
    with RestoreLock(replace(options, namespace=into)), pytest.raises(RestoreBusy):
        restore(spark, options, path, rehearsal=Rehearsal(into))
    first = restore(spark, options, path, rehearsal=Rehearsal(into))
    assert (first.restored, first.as_of_ms) == (3, None)
    (noted,) = other.connection.run([("GET", other.keyspace.rehearsed)])
    then = int(noted.split()[1])
    wait_until(lambda: now_ms(client) > then, what="a later millisecond")
    client.ack(client.take("work", 1))
    client.send("work", PriorityMessage("later", priority=60))

    # One that named no moment goes on with that of the first; another moment is refused.
    keys = other.keyspace.slot("work", 0)
    other.connection.run([("ZREM", keys.store, "m0"), ("HDEL", keys.body, "m0")])
    again = restore(spark, options, path, rehearsal=Rehearsal(into))
    assert (again.restored, again.present, again.as_of_ms) == (1, 2, then) and held(other, "work") == was
    assert f"it went on with the rehearsal of {text(then)}; " in " ".join(again.sentences())
    with pytest.raises(PipelineError, match=rf"is in use \(topic work\): it has '.+' as of {re.escape(text(then))}; "):
        restore(spark, options, path, rehearsal=Rehearsal(into, now_ms(client)))
    assert held(other, "work") == was

    # What its own restore has put there is nobody's rehearsal, nor is what nobody can tell.
    note = other.keyspace.rehearsed
    far = f"{client.keyspace.namespace} {10**15}"
    for change in (("SET", note, b"\xff of old"), ("SET", note, far), ("SET", note, far + "0" * 5_000), ("DEL", note)):
        other.connection.run([change])
        with pytest.raises(PipelineError, match=r"is in use \(topic work\); choose"):
            restore(spark, options, path, rehearsal=Rehearsal(into), dry_run=True)
    Control(other).delete_topic("work", force=True)
    assert restore(spark, options, path, rehearsal=Rehearsal(into)).restored == 3
    assert held(other, "work") == held(client, "work")
