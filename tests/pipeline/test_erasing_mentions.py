"""What other messages say of erased ones goes with them: what was to follow, and what was followed.

One archive for all: whatever is done with it afterwards, nothing of Ann's comes back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pyarrow.parquet as pq
import pytest

from rmq_core import RMQ, Addressed, Control, Inspector, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.bodies import decode_body
from rmq_core.model.follow_ups import AFTER_HEADER, THEN_HEADER
from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.ops import repairs
from rmq_core.ops.repairs import Repair
from rmq_core.pipeline.archive import erasures
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.history.replay import content_hash
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.erasing import Erased, Left, erase
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.rehearsal import Rehearsal
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state import versions
from rmq_core.pipeline.state.closing import FORMAT, ClosingState
from rmq_core.pipeline.state.covered import Covered
from tests.support.waiting import wait_until

CUT = {"slot_ledger": 1}
"""The entry of the stream was taken away by hand, and who erases it knows not of it any more."""
FULL: dict[str, Any] = {"slots": 2, "journal": "full", "undo_ms": 0}


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


def live(client: RMQ) -> None:
    """Orders that are to be paid, and what is to follow, most of it Ann's."""
    client.define(Topic("pay", TopicKind.PRIORITY, max_retries=0, **FULL))
    client.define(Topic("ship", TopicKind.PRIORITY, merge="never", **FULL))
    client.define(Topic("mail", TopicKind.PRIORITY, **FULL))
    client.define(Topic("news", TopicKind.STREAM, slots=1, journal="full"))
    thanks = Addressed(
        "mail", "thank you, ann", priority=100, key="ann-thanks", if_done=Addressed("mail", "bob", priority=50)
    )
    shipped = Addressed("ship", "ann lives here", priority=100, if_done=thanks, headers={"to": "ann"})
    unpaid = Addressed("mail", "ann has not paid", priority=100, key="ann-unpaid")
    client.send("pay", "order one", priority=100, key="order-1", if_done=shipped, if_dead=unpaid)
    client.send("pay", "order two", priority=100, key="order-2", if_dead=unpaid)
    client.send(
        "pay", "order four", priority=100, key="order-4", if_done=Addressed("news", "ann has paid", slot_basis="x")
    )


def drained(client: RMQ, topic: str) -> list[bytes]:
    """Takes all and is done with it; the ids."""
    found = []
    while taken := client.take(topic, 10):
        found += [each.raw_id for each in taken]
        client.ack(taken)
    return found


def bodies(path: Path) -> list[bytes]:
    """Of all files of the archive's events."""
    several = [pq.ParquetFile(file).read(["body"]).to_pylist() for file in (path / "events").rglob("*.parquet")]
    return [row["body"] for rows in several for row in rows if row["body"]]


def now_ms(client: RMQ) -> int:
    ((seconds, micros),) = client.connection.run([("TIME",)])
    return int(seconds) * 1000 + int(micros) // 1000


def carried(spark: Any, path: Path) -> set[tuple[str, bytes, int]]:
    """Topic, id and content of what the newest closing state carries."""
    state = ClosingState(Archive(spark, str(path)))
    said = versions.said(spark, state.path, sorted(versions.manifests(spark, state.path))[-1], FORMAT)
    assert said is not None
    state.known = {topic: Covered(**each) for topic, each in said["topics"].items()}
    frame = state.carried()
    assert frame is not None
    return {(row.topic, bytes(row.id), row.content) for row in frame.where("length(carried) > 0").collect()}


def test_what_others_say_of_erased_messages_goes(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    path, options = tmp_path / "archive", SourceOptions(server.url, "erm", (), 4)
    inputs = Inputs(options, str(path), f"{tmp_path}/reports")

    def erased(ids: list[bytes], **more: Any) -> Erased:
        return erase(spark, options, str(path), ids=ids, reason="asked", **more)

    with RMQ(server.url, "erm") as client, server.client() as raw:
        live(client)
        then = now_ms(client)
        wait_until(lambda: now_ms(client) > then, what="a later millisecond")
        for taken in client.take("pay", 10):
            if taken.id == "order-2":
                client.reject(taken)
            else:
                client.ack(taken)
        (ship,), mail = drained(client, "ship"), drained(client, "mail")
        mail += drained(client, "mail")
        assert ship.startswith(b"then-") and b"ann-thanks" in mail and b"ann-unpaid" in mail
        later = Addressed("mail", "ann, in the end", priority=100, key="ann-later")
        lost = client.send("pay", "order three", priority=100, key="order-3", if_done=later)
        ((entry, _),) = raw.xrange(client.keyspace.slot("news", 0).store)
        archive(spark, options, str(path), compacting=False)
        assert reconcile(spark, inputs)["counts"] == {}
        keys = client.keyspace.slot("pay", lost.slot)
        assert raw.zrem(keys.store, "order-3") and raw.hdel(keys.body, "order-3")
        raw.xtrim(client.keyspace.slot("news", 0).store, maxlen=0)

        everything = [ship, b"ann-thanks", b"ann-unpaid", b"ann-later", entry]
        client.send("mail", "bob, too", priority=50, key="bob-2", headers={AFTER_HEADER: "mail 0 ann-thanks"})
        planned = erased(everything, dry_run=True)
        assert planned.left == (
            Left("mail", "ann-thanks", "mention", "mail: bob-2"),
            Left("mail", "ann-unpaid", "mention", "pay: order-2"),
        ), "one that is not archived yet, and a dead letter"
        assert planned.sentences()[0].startswith("mail: ann-thanks stays, mail: bob-2 tells of it, and is not over")
        assert drained(client, "mail") == [b"bob-2"]
        archive(spark, options, str(path), compacting=False)
        before = len(bodies(path))
        first = erased([each for each in everything if each != b"ann-unpaid"])
        assert (first.messages, first.left, first.mentioning) == (3, (), 5), "order-1, -3, -4, and Bob's mail"
        assert len(bodies(path)) < before
        assert {each for each in bodies(path) if b"ann" in each} and all(
            b"ann has not paid" in each for each in bodies(path) if b"ann" in each
        )
        (dead,) = Inspector(client).messages("pay", "dead").rows
        Control(client).drop("pay", [MessageRef(dead.slot, dead.id)])
        archive(spark, options, str(path), compacting=False)
        second = erased(everything)
        assert (second.messages, second.left, second.mentioning) == (1, (), 2), "order-1 and order-2"
        assert [each for each in bodies(path) if b"ann" in each] == []
        told = {each.content: each.headers for each in map(decode_body, bodies(path))}
        assert json.loads(told[b"order one"][THEN_HEADER]) == {
            "if_done": {"topic": "ship", "erased": True},
            "if_dead": {"topic": "mail", "erased": True},
        }
        assert told[b"bob"][AFTER_HEADER].partition(" ")[2].partition(" ")[2] == id_to_text(b"")
        one, two = erasures.erasures(spark, str(path))
        assert {topic: len(each) for topic, each in one.mentioning.items()} == {"pay": 3, "mail": 2}
        assert {topic: len(each) for topic, each in two.mentioning.items()} == {"pay": 2}

        # What is lost is known as it is told of now.
        kept = Archive(spark, str(path)).read().where("body IS NOT NULL")
        hashes = {
            (r.topic, bytes(r.id), r.h)
            for r in kept.select("topic", "id", content_hash(kept.body).alias("h")).collect()
        }
        assert {each[:2] for each in carried(spark, path)} == {("pay", b"order-2"), ("pay", b"order-3")}
        assert carried(spark, path) <= hashes
        for asked in (inputs, replace(inputs, from_scratch=True)):
            summary = reconcile(spark, asked)
            assert (summary["complete"], summary["counts"]) == (True, {"lost": 1} | CUT)
        (finding,) = [
            row
            for file in Path(inputs.reports, summary["run"], "findings").rglob("*.parquet")
            for row in pq.ParquetFile(file).read().to_pylist()
            if row["kind"] == "lost"
        ]
        assert b"ann" not in repr(finding).encode()
        data = msgpack.unpackb(finding["repair_data"])
        ref = MessageRef(finding["slot"], "order-3")
        right = Repair(ref, tuple(data["seen"]), tuple(data["copies"]), data["counts_lost"])
        (result,) = client.run(repairs.set_right(client.keyspace, client.topic("pay"), [right]))
        assert result.status == "done"

        # As it was before, elsewhere: what was erased is not sent any more.
        past = restore(spark, options, str(path), rehearsal=Rehearsal("erm-then", then))
        assert past.counts == {"pay": {"waiting": 3}}
        with RMQ(server.url, "erm-then") as other:
            assert len(drained(other, "pay")) == 3
            assert not any(drained(other, name) for name in ("ship", "mail"))

        archive(spark, options, str(path))
        raw.flushall()
        restore(spark, options, str(path))
        (back,) = client.take("pay", 1)
        assert (back.text, b"ann" in bytes(back.raw_body)) == ("order three", False)
        client.ack(back)
        assert drained(client, "mail") == []
