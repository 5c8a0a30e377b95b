"""What was erased comes back by no restore and no rehearsal, also where the erasure was killed when readers saw it; and
all else does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, PriorityMessage, RangeMergeMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.ids import MessageRef
from rmq_core.pipeline.archive import erasures, redacted
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.erasing import erase
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.program.rounds import Rounds
from rmq_core.pipeline.restoring.rehearsal import Rehearsal
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state.closing import opened
from tests.support.waiting import wait_until

FAR_MS = 3_600_000
ODD = b"\xff\x00\n'\"%ann"
ANN = [b"ann-merged", b"ann-dead", b"ann-event", ODD]
TOPICS = ("merged", "dead", "events", "timed")
QUEUES = ("store", "retry", "prepare", "dead")


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


def live(client: RMQ) -> None:
    """Of both the same: merged twice, dead, with a content that no journal holds, with an odd id."""
    due, more = int(time.time() * 1000) + FAR_MS, {"slots": 1, "undo_ms": 0}
    client.define(Topic("merged", TopicKind.RANGE_MERGE, journal="full", **more))
    client.define(Topic("dead", TopicKind.PRIORITY, journal="full", max_retries=0, **more))
    client.define(Topic("events", TopicKind.PRIORITY, journal="events", **more))
    client.define(Topic("timed", TopicKind.FIXED_TIME, journal="full", **more))
    for who, odd in (("ann", ODD), ("bob", b"\xff\x00\n'\"%bob")):
        for _ in range(3):
            client.send("merged", RangeMergeMessage(f"for {who}", range_ms=FAR_MS, key=f"{who}-merged"))
        client.send("dead", PriorityMessage(f"for {who}", priority=50, key=f"{who}-dead"))
        client.send("events", PriorityMessage(f"for {who}", priority=50, key=f"{who}-event"))
        client.send("timed", FixedTimeMessage(f"for {who}", due_ms=due, key=odd))
    client.reject(client.take("dead", 2), message="no use")


def there(client: RMQ) -> dict[tuple[str, str], dict[bytes, float]]:
    """What the queues hold."""
    places = [(topic, queue, getattr(client.keyspace.slot(topic, 0), queue)) for topic in TOPICS for queue in QUEUES]
    replies = client.connection.run([("ZRANGE", key, 0, -1, "WITHSCORES") for _, _, key in places])
    found: dict[tuple[str, str], dict[bytes, float]] = {}
    for (topic, queue, _), reply in zip(places, replies, strict=True):
        flat = [part for each in reply for part in (each if isinstance(each, (tuple, list)) else (each,))]
        if flat:
            found[topic, queue] = dict(zip(flat[::2], map(float, flat[1::2]), strict=True))
    return found


def test_what_was_erased_comes_back_by_no_restore(
    spark: Any, server: EmbeddedRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, options = tmp_path / "archive", SourceOptions(server.url, "back", (), 4)
    inputs = Inputs(options, str(path), f"{tmp_path}/reports")
    commit = redacted.commit
    with RMQ(server.url, "back") as client:
        live(client)
        ((seconds, micros),) = client.connection.run([("TIME",)])
        then = int(seconds) * 1000 + int(micros) // 1000
        wait_until(lambda: int(time.time() * 1000) > then + 1, what="a later millisecond")
        before = there(client)
        assert {id for several in before.values() for id in several} >= {*ANN}
        archive(spark, options, str(path), compacting=False)
        rounds = Rounds(spark)
        assert rounds.reconcile(inputs)["counts"] == {}
        control = Control(client)
        control.cancel("merged", ["ann-merged"])
        control.cancel("events", ["ann-event"])
        control.cancel("timed", [ODD])
        control.drop("dead", [MessageRef(0, "ann-dead")])
        archive(spark, options, str(path), compacting=False)

        def after_a_run(*given: Any) -> None:
            reconcile(spark, Inputs(options, str(path), f"{tmp_path}/others", from_scratch=True))
            commit(*given)

        def killed(*given: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(redacted, "commit", after_a_run)
        monkeypatch.setattr(erasures, "apply", killed)
        with pytest.raises(KeyboardInterrupt):
            erase(spark, options, str(path), ids=ANN, reason="asked")
        monkeypatch.undo()
        kept = Archive(spark, str(path))
        assert set(opened(kept, [*TOPICS], {}).scratch.values()) == {"erased"}
        past = restore(spark, options, str(path), rehearsal=Rehearsal("back-then", then))
        assert past.counts == {
            "dead": {"dead": 1},
            "events": {"without_content": 1},
            "merged": {"waiting": 1},
            "timed": {"waiting": 1},
        }
        with RMQ(server.url, "back-then") as other:
            assert {id for several in there(other).values() for id in several} == {
                b"bob-merged",
                b"bob-dead",
                b"\xff\x00\n'\"%bob",
            }
        summary = rounds.reconcile(inputs)
        assert (summary["counts"], summary.get("same_as"), summary["complete"]) == ({}, None, True)
        (record,) = erasures.erasures(spark, str(path))
        assert record.done_ms and record.messages == 4 and erasures.begun(spark, str(path)) == []
        archive(spark, options, str(path))
        with server.client() as raw:
            raw.flushall()
        did = restore(spark, options, str(path))
        assert (did.restored, did.without_content, did.left_out) == (3, 1, ())
        after = there(client)
    for place, several in before.items():
        wanted = {id: score for id, score in several.items() if id not in ANN and place[0] != "events"}
        assert after.pop(place, {}) == wanted, place
    assert after == {}
    for file in path.rglob("*.parquet"):
        rows = pq.ParquetFile(file).read().to_pylist()  # type: ignore[no-untyped-call]
        assert not [row for row in rows if b"ann" in repr(row).encode()], file
