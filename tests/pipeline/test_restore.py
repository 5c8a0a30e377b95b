"""Restores out of archives that are not whole, of topics that were deleted, beside what came since."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.topic import Journal
from rmq_core.ops.putting_back import Gone, put_back
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.restoring.lost import LeftOut, decide
from rmq_core.pipeline.restoring.restore import Restored, restore
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.queries.trash import Trashed
from tests.pipeline import parquet

DUE = int(time.time() * 1000) + 3_600_000
NAMES = ("whole", "holed", "twice", "bare", "gone", "anew")


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


def define(client: RMQ, name: str) -> None:
    client.define(Topic(name, TopicKind.FIXED_TIME, slots=1, journal=Journal.FULL, visibility_timeout_ms=600_000))


def send(client: RMQ, topic: str, *ids: str, due: int = DUE, content: str = "old") -> None:
    client.send_many(topic, [FixedTimeMessage(f"{content} {id}", due_ms=due, key=id) for id in ids], allow_past=True)


def held(client: RMQ, topic: str) -> dict[str, set[bytes]]:
    keys = client.keyspace.slot(topic, 0)
    names = ("store", "retry", "prepare", "dead")
    replies = client.connection.run([("ZRANGE", getattr(keys, name), 0, -1) for name in names])
    return {name: set(ids) for name, ids in zip(names, replies, strict=True) if ids}


def test_only_what_is_whole_comes_back_beside_what_came_since(
    spark: Any, server: EmbeddedRedis, tmp_path: Path
) -> None:
    path, options = tmp_path / "archive", SourceOptions(server.url, "rs", (), 4)
    with RMQ(server.url, "rs") as client:
        for name in NAMES:
            define(client, name)
            for id in ("dies", "again", "late"):
                send(client, name, id, due=1_000)
            client.reject(client.take(name, 2))
            send(client, name, "a", "b")
        Control(client).delete_topic("anew", force=True)
        define(client, "anew")
        send(client, "anew", "second life")
        archive(spark, options, str(path), compacting=False)
        Control(client).delete_topic("gone", force=True)
        parquet.remove_entry(path, "holed", 0, n=3)
        (file,) = parquet.files(path, "twice")
        shutil.copy(file, file.with_name("copy.parquet"))
        shutil.rmtree(path / "events" / "topic=bare")
        archive(spark, options, str(path), compacting=False)
        server.client().flushall()
        define(client, "whole")
        send(client, "whole", "again", "new", content="news of")
        send(client, "whole", "a", due=1_000, content="news of")
        client.ack(client.take("whole", 1))
        for _ in range(2):
            did = restore(spark, options, str(path))
            assert {each.topic: each.reason for each in did.left_out} == {
                "holed": "file",
                "twice": "doubled",
                "bare": "slot",
            }
            assert did.deleted == ("gone",)
            assert held(client, "whole") == {"store": {b"late", b"again", b"new", b"b"}, "dead": {b"dies", b"again"}}
            assert held(client, "anew") == {"store": {b"second life"}}
            assert [held(client, name) for name in ("holed", "twice", "bare", "gone")] == [{}] * 4
        assert did.restored == 0
        (body,) = client.connection.run([("HGET", client.keyspace.slot("whole", 0).body, "again")])
        assert body.endswith(b"news of again")
        assert "left out: topic holed, slot 0: its history is not whole (file)" in " ".join(did.sentences())


def test_a_life_that_began_while_the_clock_was_set_back_is_the_one_that_comes_back(
    spark: Any, server: EmbeddedRedis, tmp_path: Path
) -> None:
    """Redis gives no id before the last one, so an hour later in the journal is an hour back on the clock."""
    path, options = str(tmp_path / "archive"), SourceOptions(server.url, "rs", (), 4)
    with RMQ(server.url, "rs") as client:
        define(client, "anew")
        send(client, "anew", "a")
        (seconds, _), key = server.client().time(), client.keyspace.slot("anew", 0).journal
        client.connection.run([("XSETID", key, f"{(seconds + 3_600) * 1000}-0")])
        send(client, "anew", "first life")
        archive(spark, options, path, compacting=False)
        Control(client).delete_topic("anew", force=True)
        define(client, "anew")
        send(client, "anew", "second life")
        archive(spark, options, path, compacting=False)
        server.client().flushall()
        assert restore(spark, options, path).restored == 1
        assert held(client, "anew") == {"store": {b"second life"}}


def test_what_ended_without_a_journal_does_not_come_back(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    path, options = tmp_path / "archive", SourceOptions(server.url, "rs", (), 4)
    with RMQ(server.url, "rs") as client:
        define(client, "work")
        send(client, "work", "a", "b", "c", due=1_000)
        archive(spark, options, str(path), compacting=False)
        server.client().flushall()
        client.define(Topic("work", TopicKind.FIXED_TIME, slots=1, visibility_timeout_ms=600_000))
        assert restore(spark, options, str(path)).restored == 3
        again = restore(spark, options, str(path))
        assert (again.restored, again.present, again.left_out) == (0, 3, ()), "nothing has happened since"
        client.ack(client.take("work", 2))
        done = restore(spark, options, str(path))
        assert (done.restored, done.present) == (0, 0)
        assert [(each.topic, each.reason) for each in done.left_out] == [("work", "unwatched")]
        assert "Switch the journal on before you restore." in " ".join(done.sentences())
        assert held(client, "work") == {"store": {b"c"}}


def test_what_fits_into_no_slot_is_said(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    path, options = str(tmp_path / "archive"), SourceOptions(server.url, "rs", (), 8)
    with RMQ(server.url, "rs") as client:
        for name in ("kind", "fewer", "same"):
            client.define(Topic(name, TopicKind.FIXED_TIME, slots=2, journal=Journal.FULL))
            send(client, name, *"abcdef")
        archive(spark, options, path, compacting=False)
        server.client().flushall()
    with RMQ(server.url, "rs") as client:
        client.define(Topic("kind", TopicKind.PRIORITY, slots=2, journal=Journal.FULL))
        client.define(Topic("fewer", TopicKind.FIXED_TIME, slots=1, journal=Journal.FULL))
        alone = restore(spark, replace(options, topics=("fewer",)), path)
        assert [(each.topic, each.slot) for each in alone.left_out] == [("fewer", 0), ("fewer", 1)]
        did = restore(spark, options, path)
        assert (did.restored, did.counts) == (6, {"same": {"waiting": 6}})
        assert {(each.topic, each.reason) for each in did.left_out} == {("kind", "redefined"), ("fewer", "redefined")}
        assert "topic fewer, slot 0-1: it is another one here (redefined). The topic is" in " ".join(did.sentences())
        assert held(client, "kind") == held(client, "fewer") == {}


def test_a_restore_of_everything_leaves_a_note(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    path, everything = str(tmp_path / "archive"), SourceOptions(server.url, "rs", (), 4)
    raw = server.client()
    with RMQ(server.url, "rs") as client:
        define(client, "work")
        send(client, "work", "a")
        archive(spark, everything, path, compacting=False)
        raw.flushall()
        restore(spark, everything, path, dry_run=True)
        restore(spark, replace(everything, topics=("work",)), path)
        assert raw.get(client.keyspace.restored) is None
        began_ms = int(raw.time()[0]) * 1000
        restore(spark, everything, path)
        assert int(raw.get(client.keyspace.restored)) >= began_ms


def test_failures_are_known_when_the_server_is_lost_twice(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    path, options = tmp_path / "archive", SourceOptions(server.url, "rs", (), 4)
    with RMQ(server.url, "rs") as client:
        client.define(Topic("work", TopicKind.FIXED_TIME, slots=1, journal=Journal.FULL, backoff_ms=60_000))
        send(client, "work", "waits", "dies", due=1_000)
        for each in client.take("work", 2):
            client.nack(each, error="Broken", message="at first", delay_ms=0)
        for each in client.take("work", 2):
            client.reject(each, message="no use") if each.id == "dies" else client.nack(each, error="Worse")
        before = failures(client)
        for _ in range(2):
            archive(spark, options, str(path), compacting=False)
            server.client().flushall()
            assert restore(spark, options, str(path)).restored == 2
            assert failures(client) == before == {"waits": (2, "Worse", ""), "dies": (2, "Reject", "no use")}


def failures(client: RMQ) -> dict[str, tuple[int, str, str]]:
    """How often and of what they failed, of what waits and of dead letters."""
    keys = client.keyspace.slot("work", 0)
    pool, records = client.connection.run([("HGETALL", keys.failed), ("HGETALL", keys.dead_record)])
    texts = dict(pool) | {id: Trashed.read(packed).failed for id, packed in dict(records).items()}
    read = {id.decode(): json.loads(text) for id, text in texts.items()}
    return {id: (each["failures"], each["error"], each["message"]) for id, each in read.items()}


@pytest.mark.parametrize(("since", "put"), [("before", (0, 1)), ("after", (1, 0))])
def test_what_was_sent_again_and_taken_while_it_ran_is_left_alone(
    client: RMQ, since: str, put: tuple[int, int]
) -> None:
    define(client, "busy")
    send(client, "busy", "k", due=1_000, content="news of")
    (taken,) = client.take("busy", 1)
    now_ms = int(time.time() * 1000)
    topic = client.topic("busy")
    for had, since_ms, wanted in (("w", {"before": -60_000, "after": 60_000}[since], put), ("f", 60_000, (0, 1))):
        gone = [Gone(b"k", had, (b"s %d - - - 7 0 0 old" % DUE,))]
        assert client.run(put_back(client.keyspace, topic, 0, gone, now_ms + since_ms)) == (1, *wanted), had
    client.ack([taken])


def life(number: int, **more: Any) -> dict[str, Any]:
    usual = {
        "topic": "t",
        "slot": 0,
        "life": number,
        "last_n": 10,
        "journaled": 10,
        "damage": None,
        "next_wiped": False,
        "off": False,
        "used": False,
    }
    return usual | more


@pytest.mark.parametrize(
    ("rows", "lost", "left"),
    [
        ([life(0)], [], []),
        ([life(0, journaled=0)], [0], []),
        ([life(0, journaled=0, damage="file")], [], ["file"]),
        ([life(0, next_wiped=True), life(1)], [0], []),
        ([life(0, next_wiped=True), life(1, damage="missing")], [], ["missing"]),
        ([life(0), life(1)], [], []),  # the journal was off in between: nothing was lost
        ([life(0), life(1, next_wiped=True), life(2)], [1], []),
        ([life(0, journaled=0, off=True)], [0], []),
        ([life(0, journaled=0, used=True)], [0], []),
        ([life(0, journaled=0, off=True, used=True)], [], ["unwatched"]),
        ([life(0, next_wiped=True), life(1, damage="off", used=True)], [], ["unwatched"]),
        ([life(0, off=True, used=True)], [], []),
        ([life(0, damage="past", next_wiped=True), life(1)], [], ["past"]),
        ([life(0) | {"life": None}], [], ["slot"]),
    ],
)
def test_which_lives_come_back(rows: list[dict[str, Any]], lost: list[int], left: list[str]) -> None:
    found, alone, left_out = decide(rows)
    assert ([each[2] for each in found], [each.reason for each in left_out]) == ([lost] if lost else [], left)
    assert alone == (not lost and not left)


def test_slots_that_are_left_out_are_all_named() -> None:
    slots = [0, 1, 2, 3, 7, 9, 10]
    left = (*(LeftOut("work", slot, "file", "") for slot in reversed(slots)), LeftOut("work", 4, "off", ""))
    (of_files, of_journal) = Restored(0, 0, 0, (), 0, left).sentences()
    assert "topic work, slot 0-3, 7, 9-10: its history is not whole (file)" in of_files
    assert "topic work, slot 4: its history is not whole (off)" in of_journal
