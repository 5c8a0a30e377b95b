"""Ids, contents and values that no list of cases names: through archive, restore, reconciliation and repair."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, Control, Delivery, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.model.topic import Journal
from rmq_core.ops import repairs
from rmq_core.ops.repairs import Repair
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline.test_drill import everything

FAR_MS = 3_600_000
HOSTILE = [
    *(b"\x00", b"\xff\xfe", b"a,b", b'"', b"'", b"two\nlines", b"\r\n", b"a b", b"%41", b"\\", b"{}", b"[1]", b"null"),
    *(b"0 0 x", "\u2028é😀".encode(), b"-", b"?", b"\x01", b"x" * 200),
]


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


def fill(client: RMQ, name: str, kind: TopicKind, journal: Journal) -> None:
    """Hostile ids that wait, are in back-off, in flight and dead; some beside a dead one."""
    client.define(
        Topic(name, kind, slots=2, journal=journal, max_retries=3, backoff_ms=FAR_MS, backoff_max_ms=FAR_MS,
              visibility_timeout_ms=600_000)
    )  # fmt: skip
    now = int(time.time() * 1000)

    def message(content: bytes, key: bytes, **more: Any) -> Any:
        if kind is TopicKind.PRIORITY:
            return PriorityMessage(content, priority=900, key=key, **more)
        return FixedTimeMessage(content, due_ms=now - 50, key=key, **more)

    client.send_many(name, [message(b"of " + id, id, headers={"h": "é\x00"}) for id in HOSTILE], allow_past=True)
    taken = client.take(name, len(HOSTILE))
    assert len(taken) == len(HOSTILE)
    client.nack(taken[:4], error="Error\ud800", message="😀" * 300)
    client.reject(taken[4:10], message='"\\\n\x00\ud83d')
    client.ack(taken[10:12])
    client.release(taken[12:14])
    for dead in taken[4:7]:
        client.send(name, message(b"again", dead.raw_id), allow_past=True)
    client.send_many(name, [message(id, b"based" + id, slot_basis=id) for id in HOSTILE], allow_past=True)


def counts(put: Any) -> tuple[int, int, int]:
    return put.restored, put.without_content, len(put.left_out)


def test_hostile_ids_come_back_and_hostile_values_are_set_right(
    spark: Any, server: EmbeddedRedis, tmp_path: Path
) -> None:
    """One story, for the sake of its price: a job of Spark costs the same for one topic and for four."""
    path, options = str(tmp_path / "archive"), SourceOptions(server.url, "h", (), 2)
    inputs = Inputs(options, path, str(tmp_path / "r"), overdue_ms=10**12)
    with RMQ(server.url, "h") as client:
        fill(client, "timed", TopicKind.FIXED_TIME, Journal.FULL)
        fill(client, "first", TopicKind.PRIORITY, Journal.FULL)
        fill(client, "quiet", TopicKind.FIXED_TIME, Journal.EVENTS)
        before = everything(client)
        archive(spark, options, path)
        server.client().flushall()
        dry = restore(spark, options, path, dry_run=True)
        assert server.client().dbsize() == 0
        with sending(server.url) as sent:
            put = restore(spark, options, path)
        after = everything(client)
        assert counts(put) == counts(dry)
        wanted = {key for key in before if key[0] != "quiet"} | {("timed", id) for id in sent}
        assert after.keys() == wanted
        for key in before.keys() & wanted:
            old, new = before[key], after[key]
            assert new.get("body") == old.get("body"), key
            assert ("dead" in old) == ("dead" in new), key
            assert new.get("dead_record") == old.get("dead_record"), key
            assert new.get("retry") == old.get("retry"), key
        again = restore(spark, options, path)
        assert (again.restored, again.left_out) == (0, ())
        assert everything(client) == after
        taken = fill_with_values(client)
        archive(spark, options, path)
        well = of_values(client)
        altered = alter(client, server, taken)
        first = reconcile(spark, inputs)
        # Nobody knows the contents of the topic in mode events; of the others that came back nothing is to be said.
        rows = findings(tmp_path / "r" / first["run"])
        assert {(row["topic"], row["kind"], row["repair"]) for row in rows if row["topic"] != "work"} <= NOT_TOLD
        assert {row["id"] for row in rows if row["topic"] == "work"} == altered, first["counts"]
        assert repaired(client, [row for row in rows if row["topic"] == "work"]) == {
            "set_right": ["done"] * len(altered)
        }
        assert of_values(client) == well
        assert first["complete"]
        assert all(each.status == "done" for each in Control(client).requeue("work", [MessageRef(0, taken[2].id)]))


NOT_TOLD = {("quiet", "lost", "none")}


@contextmanager
def sending(url: str) -> Iterator[list[bytes]]:
    """Somebody who defines the topic anew and goes on; gives the keys sent."""
    stop, sent = threading.Event(), list[bytes]()

    def send() -> None:
        with RMQ(url, "h") as other:
            other.define(Topic("timed", TopicKind.FIXED_TIME, slots=2, journal=Journal.FULL))
            while not stop.is_set():
                key = f"new {len(sent)}"
                other.send("timed", FixedTimeMessage("new", due_ms=int(time.time() * 1000) + FAR_MS, key=key))
                sent.append(key.encode())

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield sent
    finally:
        stop.set()
        sender.join()


def fill_with_values(client: RMQ) -> list[Delivery]:
    """Messages that wait, are in back-off, in flight and dead; gives those that were taken."""
    client.define(
        Topic("work", TopicKind.FIXED_TIME, slots=1, journal=Journal.FULL, backoff_ms=FAR_MS, backoff_max_ms=FAR_MS,
              visibility_timeout_ms=600_000)
    )  # fmt: skip
    now = int(time.time() * 1000)
    names = [f"m{i}" for i in range(12)]
    client.send_many("work", [FixedTimeMessage(f"of {n}", due_ms=now - 9, key=n) for n in names], allow_past=True)
    taken = client.take("work", 12)
    client.nack(taken[:2], error="Broken")
    client.reject(taken[2:6], message="no use")
    client.send_many("work", [FixedTimeMessage(f"of w{i}", due_ms=now + FAR_MS, key=f"w{i}") for i in range(9)])
    return taken


def alter(client: RMQ, server: EmbeddedRedis, taken: list[Delivery]) -> set[bytes]:
    """Writes values that no release writes, into every queue and pool; gives the ids."""
    keys = client.keyspace.slot("work", 0)
    with server.client() as raw:
        for id, score in (("w0", "+inf"), ("w1", "-inf"), ("w2", 1e300), ("w3", -5), ("w4", 3)):
            raw.zadd(keys.store, {id: float(score)}, xx=True)
        raw.hset(keys.body, "w5", b"\xff not a body")
        raw.hset(keys.body, "w6", b"")
        raw.hset(keys.body, "w7", b"\x09a newer format")
        raw.zadd(keys.retry, {taken[0].raw_id: float("inf")}, xx=True)
        raw.zadd(keys.retry, {taken[1].raw_id: 0.5}, xx=True)
        raw.hset(keys.dead_record, taken[2].raw_id, b"not a record")
        raw.hset(keys.dead_record, taken[3].raw_id, b"")
        raw.hdel(keys.dead_record, taken[4].raw_id)
        raw.zadd(keys.dead, {taken[5].raw_id: float("-inf")}, xx=True)
        raw.zadd(keys.prepare, {taken[6].raw_id: float("inf")}, xx=True)
    return {*(f"w{i}".encode() for i in range(8)), *(each.raw_id for each in taken[:7])}


def of_values(client: RMQ) -> dict[bytes, dict[str, Any]]:
    """What lies where, without the failures' own words."""
    found = everything(client)
    return {id: {**each, "failed": None, "dead_failed": None} for (topic, id), each in found.items() if topic == "work"}


def findings(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(folder / "findings").to_pylist()  # type: ignore[no-untyped-call]
    return rows


def repaired(client: RMQ, rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Does what a report says, and tells what came of it, by repair."""
    did: dict[str, list[str]] = {}
    for row in rows:
        topic = client.topic(row["topic"])
        if row["repair"] == "set_right":
            data = msgpack.unpackb(row["repair_data"])
            ref = MessageRef(row["slot"], id_to_text(row["id"]))
            each = Repair(ref, tuple(data["seen"]), tuple(data["copies"]), data["counts_lost"])
            (result,) = client.run(repairs.set_right(client.keyspace, topic, [each]))
            did.setdefault("set_right", []).append(result.status)
        else:
            did.setdefault(row["repair"], []).append(row["kind"])
    return did
