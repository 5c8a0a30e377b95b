"""What is sent again and ends while a restore runs is in no queue; its old copy stays away, whatever became of it."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import JournalFull, PipelineError
from rmq_core.journal import trimmer
from rmq_core.model.topic import Journal
from rmq_core.ops.putting_back import begin
from rmq_core.pipeline.archive.lock import ArchiveLock, RestoreLock
from rmq_core.pipeline.jobs import archive as archiving
from rmq_core.pipeline.jobs.archive import Archived, archive
from rmq_core.pipeline.restoring import arrivals
from rmq_core.pipeline.restoring import restore as restoring
from rmq_core.pipeline.restoring.arrivals import Arrivals, reached
from rmq_core.pipeline.restoring.put_back import COLUMNS, putter
from rmq_core.pipeline.sources.options import SourceOptions
from tests.pipeline.test_restore import held
from tests.support.waiting import wait_until

NAMES = ("done", "cancelled", "waits", "flies", "lost")


@pytest.fixture
def topic(client: RMQ) -> Topic:
    return client.define(Topic("busy", TopicKind.FIXED_TIME, slots=1, journal=Journal.EVENTS))


@pytest.fixture
def options(client: RMQ, redis_server: Any) -> SourceOptions:
    return SourceOptions(redis_server.url, client.keyspace.namespace, (), 4)


def send(client: RMQ, *names: str) -> None:
    client.send_many("busy", [FixedTimeMessage("news", due_ms=1_000, key=name) for name in names], allow_past=True)


def rows(copies: list[tuple[str, str]]) -> Any:
    """Of messages that were lost: (id, which copy), as a restore has them."""
    now_ms = int(time.time() * 1000)
    usual = dict.fromkeys(COLUMNS) | {"topic": "busy", "slot": 0, "score": now_ms, "failures": 0, "body": b""}
    queues = {"waiting": "s", "in_flight": "p", "dead": "d"}
    several = [usual | {"id": id.encode(), "copy": copy, "queue": queues[copy]} for id, copy in copies]
    kinds = {"slot": pa.int32(), "body": pa.binary(), "id": pa.binary(), "exact": pa.float64()}
    return pa.record_batch([pa.array([each[name] for each in several], kinds.get(name)) for name in COLUMNS], COLUMNS)


def put(options: SourceOptions, topic: Topic, before: Any, copies: list[tuple[str, str]]) -> dict[str, int]:
    given = iter([rows(copies)])
    found = Counter[str]()
    with RMQ(options.url, options.namespace) as client:
        client.run(begin(client.keyspace, [topic], "one"))
    for told in putter(options, [topic], int(time.time() * 1000) - 60_000, before, "one")(given):
        found.update(dict(zip(told.column("what").to_pylist(), told.column("copies").to_pylist(), strict=True)))
    return found


def test_what_came_and_ended_meanwhile_does_not_come_back(client: RMQ, topic: Topic, options: SourceOptions) -> None:
    send(client, "before")
    client.ack(client.take("busy"))
    before = reached(options, [topic])
    send(client, "done")
    client.ack(client.take("busy"))
    send(client, "flies")
    client.take("busy")
    send(client, "waits", "cancelled")
    Control(client).cancel("busy", ["cancelled"])
    copies = [(name, "waiting") for name in NAMES]
    copies += [("done", "in_flight"), ("done", "dead"), ("before", "waiting")]
    told = put(options, topic, before, sorted(copies))
    assert held(client, "busy") == {
        "store": {b"waits", b"lost", b"before"},  # what had ended before the journal was read, the history tells
        "prepare": {b"flies"},
        "dead": {b"done"},
    }
    assert (told["restored"], told["present"]) == (3, 5)


def test_each_time_it_is_asked_it_reads_on(
    client: RMQ, topic: Topic, options: SourceOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "ENTRIES_AT_ONCE", 2)
    asked = Arrivals(client, topic, 0, reached(options, [topic])["busy", 0])
    assert asked.ids() == set()
    for number in range(5):
        send(client, f"m{number}")
        client.ack(client.take("busy"))
    assert asked.ids() == {b"m%d" % number for number in range(5)}
    send(client, "later")
    assert len(asked.ids()) == len(asked.ids()) == 6


def test_a_journal_that_is_trimmed_meanwhile_is_no_journal(client: RMQ, topic: Topic, options: SourceOptions) -> None:
    asked = Arrivals(client, topic, 0, reached(options, [topic])["busy", 0])
    send(client, "a")
    send(client, "b")
    key = client.keyspace.slot("busy", 0).journal
    client.connection.run([("XTRIM", key, "MAXLEN", "=", 1)])
    with pytest.raises(PipelineError, match="topic 'busy', slot 0, was trimmed while it was restored: run it again"):
        asked.ids()
    client.connection.run([("XTRIM", key, "MAXLEN", "=", 0)])
    with pytest.raises(PipelineError, match="was trimmed"):
        Arrivals(client, topic, 0, reached(options, [topic])["busy", 0]._replace(sent=0, journaled=0)).ids()


def test_an_archive_that_goes_on_meanwhile_ends_no_restore(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one with `--every`, which would trim behind what is sent again and again."""
    candidates, did = restoring.candidates, list[Archived]()
    with EmbeddedRedis() as server, RMQ(server.url, "both") as client, server.client() as raw:
        options, path = SourceOptions(server.url, "both", (), 4), str(tmp_path)
        topic = Topic("busy", TopicKind.FIXED_TIME, slots=1, journal=Journal.FULL)
        client.define(topic)
        send(client, "lost", "done")
        archive(spark, options, path)
        raw.flushall()
        client.define(topic)

        def slowly(*given: Any) -> Any:
            found = candidates(*given)
            send(client, "done")
            client.ack(client.take("busy"))
            did.append(archive(spark, options, path))
            did.append(archive(spark, options, path))
            trimmed = trimmer.trim_each(client.keyspace, [client.topic("busy")])
            assert client.run(trimmed) == 0, "nor does the record's keeper"
            return found

        monkeypatch.setattr(restoring, "candidates", slowly)
        found = restoring.restore(spark, options, path)
        assert (found.restored, found.present) == (1, 1) and held(client, "busy")["store"] == {b"lost"}
        assert [each.rows > 0 for each in did] == [True, False] and [each.trimmed for each in did] == [0, 0]
        assert archive(spark, options, path).trimmed > 2, "behind it all goes"


def test_an_archive_that_goes_on_trims_what_a_restore_held_back(
    spark: Any, client: RMQ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing comes any more: senders may be refused since the journal is full."""
    monkeypatch.setattr(archiving, "TRIM_WITHIN_S", 0.1)
    namespace = client.keyspace.namespace
    options = SourceOptions(client.target.url, namespace, (), 4)
    client.define(Topic("busy", TopicKind.FIXED_TIME, slots=1, journal=Journal.FULL, journal_max=20))

    def end(job: Future[Archived]) -> None:
        client.connection.run([("DEL", client.keyspace.election("archive")[0])])
        with ArchiveLock(options), pytest.raises(PipelineError, match="lock went to another job"):
            job.result()

    def behind() -> list[int]:
        return [each.behind for each in Inspector(client).journal("busy").readers]

    def kept() -> int:
        return client.connection.run([("XLEN", client.keyspace.slot("busy", 0).journal)])[0]

    with ThreadPoolExecutor(1) as threads:
        with RestoreLock(options):
            going_on = threads.submit(archive, spark, options, str(tmp_path), every_ms=100)
            try:
                with pytest.raises(JournalFull):
                    for n in range(99):
                        send(client, f"m{n}")
                wait_until(lambda: going_on.done() or behind() == [0], what="all is archived")
                assert kept() >= 20
            except BaseException:
                end(going_on)
                raise
        try:
            wait_until(lambda: going_on.done() or kept() == 0, what="the journal is trimmed")
            send(client, "more")
        finally:
            end(going_on)
