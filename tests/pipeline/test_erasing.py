"""A person's messages are erased from archive and closing state: nothing is left of them, and nothing false is said."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConfigurationError, PipelineError
from rmq_core.journal.entries import MARKS
from rmq_core.model.topic import Journal
from rmq_core.ops.putting_back import Gone, Task, put_back
from rmq_core.pipeline.archive import erasures, redacted
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.compaction import compact
from rmq_core.pipeline.archive.lock import RestoreBusy, RestoreLock
from rmq_core.pipeline.archive_files import archive_files
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.erasing import Erased, Left, erase
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring import restore as restoring
from rmq_core.pipeline.restoring.rehearsal import Rehearsal
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.restoring.under_way import under_way
from rmq_core.pipeline.sources.options import SourceOptions
from tests.docs.blocks import ROOT, blocks

FAR_MS = 3_600_000
ODD = b"ann\x00\xff'"
ANN = (b"ann-done", b"ann-lost", b"ann-waits", b"order-1", ODD)

FOUND = {"lost": 1, "missing_in_queue": 1, "slot_ledger": 1}
"""What Bob has lost, what nobody sent, and a slot that counted one more: what of it was Ann's, nobody knows."""


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


def live(client: RMQ) -> None:
    """Ann has something done, something that will be lost, and something that waits; Bob is like her."""
    due = int(time.time() * 1000) + FAR_MS
    client.define(Topic("mail", TopicKind.FIXED_TIME, slots=1, journal="full", undo_ms=0))
    client.define(Topic("news", TopicKind.STREAM, slots=1, journal="full"))
    client.define_group("news", "all", start="start")
    for who in ("ann", "bob"):
        client.send("mail", FixedTimeMessage(f"for {who}", due_ms=1_000, key=f"{who}-done"), allow_past=True)
        (taken,) = client.take("mail", 1)
        client.nack(taken, error="NoAnswer", message=f"{who} does not answer", delay_ms=0)
        client.ack(client.take("mail", 1))
        for what in ("lost", "waits"):
            client.send("mail", FixedTimeMessage(f"for {who}", due_ms=due, key=f"{who}-{what}"))
    client.send(
        "mail", FixedTimeMessage("order of ann", due_ms=1_000, key=b"order-1", slot_basis="ann"), allow_past=True
    )
    client.send("mail", FixedTimeMessage("odd", due_ms=1_000, key=ODD), allow_past=True)
    client.ack(client.take("mail", 2))


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [row for file in path.rglob("*.parquet") for row in pq.ParquetFile(file).read().to_pylist()]  # type: ignore[no-untyped-call]


def ids_in(path: Path) -> set[bytes]:
    return {row["id"] for row in rows_of(path) if row.get("id")}


def as_documented(spark: Any, options: SourceOptions, path: Path) -> Erased:
    """docs/reference/pipeline.md."""
    page = ROOT / "docs" / "reference" / "pipeline.md"
    (code,) = [each.code for each in blocks(page) if each.how == "run by" and __file__.endswith(each.what)]
    code = code.replace('"redis://…"', repr(options.url)).replace('"var/archive"', repr(str(path)))
    names: dict[str, Any] = {"spark": spark}
    exec(code.replace('"topics"', f'"namespace": "{options.namespace}", "topics"'), names)
    done: Erased = names["did"]
    return done


def test_a_person_is_forgotten_and_nothing_false_is_said(
    spark: Any, server: EmbeddedRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, options = tmp_path / "archive", SourceOptions(server.url, "er", (), 4)
    (tmp_path / "ledger.csv").write_text(
        "topic,id,expected\nmail,ann-done,done\nmail,bob-done,done\nmail,order-1,done\nmail,nobody,sent\n"
        "mail,bob-lost,known\nmail,bob-waits,known\n"
    )
    inputs = Inputs(options, str(path), f"{tmp_path}/reports")
    ledger = replace(inputs, ledgers=(f"{tmp_path}/ledger.csv",))

    def erased(**more: Any) -> Erased:
        return erase(spark, options, str(path), ids=[*ANN[:3], ODD], slot_bases=[b"ann"], reason="asked", **more)

    with RMQ(server.url, "er") as client:
        live(client)
        ((seconds, micros),) = client.connection.run([("TIME",)])
        then = Rehearsal("er-then", int(seconds) * 1000 + int(micros) // 1000)
        archive(spark, options, str(path), compacting=False)
        assert reconcile(spark, inputs)["counts"] == {}
        with server.client() as raw:
            keys = client.keyspace.slot("mail", 0)
            for who in ("ann", "bob"):
                assert raw.zrem(keys.store, f"{who}-lost") and raw.hdel(keys.body, f"{who}-lost")
            raw.hset(keys.dead_record, "ann-done", b"left behind")
        before = sorted(path.rglob("*.parquet"))
        planned = erased(dry_run=True)
        in_redis = tuple(Left("mail", name, "redis") for name in ("ann-done", "ann-waits"))
        assert planned.messages == 3 and planned.left == in_redis
        assert "cancel or drop it there" in planned.sentences()[0]
        assert sorted(path.rglob("*.parquet")) == before and erasures.erasures(spark, str(path)) == []
        client.connection.run([("HDEL", keys.dead_record, "ann-done")])
        Control(client).cancel("mail", ["ann-waits"])
        assert erased(dry_run=True).left == (Left("mail", "ann-waits", "journal"),)
        archive(spark, options, str(path), compacting=False)

        def killed(kept: Archive, notes: list[Any]) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(redacted, "commit", killed)
        with pytest.raises(KeyboardInterrupt):
            erased()
        monkeypatch.undo()
        assert set(ANN) <= {bytes(row.id) for row in Archive(spark, str(path)).read().collect()}
        did = erased()
        assert (did.messages, did.left) == (5, ()) and did.days >= 1
        assert not {*ANN} & ids_in(path), "in a file of the archive, or of the state"
        told = [row for row in rows_of(path / "events") if b"ann" in repr(row).encode()]
        assert told == []
        assert {b"bob-done", b"bob-lost", b"bob-waits"} <= ids_in(path)
        assert as_documented(spark, options, path).messages == 0  # again: there is nothing left to do
        past = restore(spark, options, str(path), dry_run=True, rehearsal=then)
        assert (past.counts, past.left_out) == ({"mail": {"waiting": 2}}, ()), "Bob's, also as it was before"
        plain = pq.ParquetDataset(archive_files(str(path))).read(["id", "event"]).to_pylist()
        assert len(plain) == Archive(spark, str(path)).read().count()
        nameless = [row for row in plain if not row["id"] and row["event"] not in MARKS]
        assert len(nameless) == did.transitions > 10, "their places stay"
        stopped, done = erasures.erasures(spark, str(path))
        assert (stopped.done_ms, stopped.messages) == (None, 5)
        assert (done.reason, done.topics, done.messages, done.transitions) == ("asked", ["mail"], 5, did.transitions)
        assert done.done_ms and "ann" not in json.dumps([done.hashes])
        summary = reconcile(spark, ledger)
        assert (summary["complete"], summary["counts"]) == (True, FOUND)
        assert compact(Archive(spark, str(path)), most=0, read_within_s=0) >= 0
        client.send("mail", FixedTimeMessage("ann is back", due_ms=int(time.time() * 1000) + FAR_MS, key=b"ann-done"))
        archive(spark, options, str(path))
        for asked in (ledger, replace(ledger, from_scratch=True)):
            summary = reconcile(spark, asked)
            assert (summary["complete"], summary["counts"]) == (True, FOUND)
        with server.client() as raw:
            raw.flushall()
        restore(spark, options, str(path))
        back = client.connection.run([("ZRANGE", client.keyspace.slot("mail", 0).store, 0, -1)])
        assert set(back[0]) == {b"bob-lost", b"bob-waits", b"ann-done"}


def test_nothing_is_erased_while_something_is_restored(
    spark: Any, client: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a restore has read before would come back."""
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    with RestoreLock(options):
        with pytest.raises(RestoreBusy, match="another restore, or an erasure, is running"):
            erase(spark, options, str(tmp_path), ids=[b"ann"])
        monkeypatch.setattr(restoring, "RestoreLock", partial(RestoreLock, wait_ms=0))
        with pytest.raises(RestoreBusy):
            restore(spark, options, str(tmp_path))
        got = Event()

        def wait() -> None:
            with RestoreLock(options):
                got.set()

        waiting = Thread(target=wait)
        waiting.start()
        assert not got.is_set()
    assert got.wait(60), "one that was killed is waited for"
    waiting.join()
    with pytest.raises(PipelineError, match="holds nothing to restore"):
        restore(spark, options, str(tmp_path))


def test_a_restore_that_stood_still_meanwhile_puts_nothing_back(
    spark: Any, client: RMQ, tmp_path: Path, redis_server: EmbeddedRedis
) -> None:
    path, options = str(tmp_path / "archive"), SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    topic = client.define(Topic("mail", TopicKind.FIXED_TIME, slots=1, journal=Journal.FULL))
    client.send("mail", FixedTimeMessage("of bob", due_ms=int(time.time() * 1000) + FAR_MS, key="bob"))
    archive(spark, options, path, compacting=False)
    gone = [Gone(b"ann", "w", (b"s 1000 - - - 6 of ann",))]
    with RestoreLock(options) as lock:
        with under_way(options, [topic], lock) as name:
            with redis_server.client() as raw:
                raw.delete(client.keyspace.election(lock.role)[0])  # the lease has run out
            erase(spark, options, path, ids=[b"ann"])
            with pytest.raises(PipelineError, match="the restore is over"):
                client.run(put_back(client.keyspace, topic, 0, gone, 0, Task(name, 0)))
        lost = pytest.raises(PipelineError, match="lock went to another job")
        with RestoreLock(options), lost, under_way(options, [topic], lock):
            pass


def test_what_is_to_be_erased_is_named(spark: Any, client: RMQ, tmp_path: Path) -> None:
    options = SourceOptions(client.target.url, client.keyspace.namespace, (), 4)
    for ids in ([], [b""]):
        with pytest.raises(ConfigurationError, match="name what to erase"):
            erase(spark, options, str(tmp_path), ids=ids)


def test_a_record_that_cannot_be_read_is_named(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "erased"
    folder.mkdir()
    for text in ("", "{", "[]", '{"name": "1"}'):
        (folder / "1.json").write_text(text)
        with pytest.raises(PipelineError, match="json, which says what was erased, is damaged"):
            erasures.erasures(spark, str(tmp_path))
