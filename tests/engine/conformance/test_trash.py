"""What was cancelled or dropped comes back as it was, for as long as the topic says."""

from __future__ import annotations

import pytest

from rmq_core import FixedTimeMessage, MessageRef, PriorityMessage, TopicKind
from rmq_core.ops.reaper import reap_overdue
from rmq_core.protocol.slot_calls import reap
from rmq_core.queries.trash import Trashed
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import scripts_alone
from tests.engine.conformance.test_controlling import KINDS, Scene, scene  # noqa: F401 - a fixture

pytestmark = scripts_alone


def queues_and_pools(bench: Bench) -> tuple[object, ...]:
    ledger = bench.ledger()
    records = {raw: Trashed.read(packed) for raw, packed in ledger.pools["dead_record"].items()}
    return ledger.queues, ledger.pools["body"], ledger.pools["failed"], ledger.pools["cause"], ledger.clusters, records


async def test_everything_comes_back_to_where_it_was(scene: Scene) -> None:  # noqa: F811
    bench = scene.bench
    before = queues_and_pools(bench)
    ids = [name for name in scene.ids if name not in {"in flight", "nowhere"}]
    assert await scene.act("cancel", *ids) == ["not_found" if name == "dead" else "done" for name in ids]
    assert await scene.act("drop", "dead") == ["done"]
    assert bench.ledger().held == {b"in flight"}
    page = await bench.inspector.messages("work", "trash")
    assert {row.id: row.was for row in page.rows} == {name: name for name in ids}
    for row in page.rows:
        assert (row.state, row.preview, row.size) == ("trash", row.raw_id, len(row.raw_id))
        assert row.priority == (60 if scene.kind is TopicKind.PRIORITY else None)
        assert before[5 if row.id == "dead" else 1][row.raw_id]  # type: ignore[index]
    (sample,) = await bench.inspector.sample()
    assert (sample.trash, sample.ledger_gap) == (len(ids), 0)
    assert await scene.act("restore", *scene.ids) == ["done" if name in ids else "not_found" for name in scene.ids]
    after = queues_and_pools(bench)
    if scene.kind is not TopicKind.PRIORITY:
        # What was ready is ready, but no later than now.
        assert before[0]["store"].pop(b"ready") <= after[0]["store"].pop(b"ready")  # type: ignore[index]
    assert after == before
    assert bench.ledger().trash == {}
    assert await scene.act("restore", *scene.ids) == ["not_found"] * len(scene.ids)
    # And they go on as if nothing had been.
    await scene.act("requeue", "dead")
    await scene.act("run_now", *ids)
    taken = await bench.q.take("work", 10)
    assert {(d.text, d.content, d.attempt) for d in taken} == {
        (name, name.encode(), 2 if name == "retrying" else 1) for name in ids
    }
    expected = {60} if scene.kind is TopicKind.PRIORITY else {None}
    assert {d.priority for d in taken if d.attempt == 1} == expected


async def test_a_timed_message_keeps_its_due_time(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    due_ms = await bench.now_ms() + FAR_MS
    await bench.q.send("work", FixedTimeMessage("a", due_ms))
    await bench.control.cancel("work", ["a"])
    await bench.control.restore("work", ["a"])
    (row,) = (await bench.inspector.messages("work", "delayed")).rows
    assert row.score_ms == due_ms


async def test_one_whose_time_has_gone_by_is_ready_and_not_late(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    await bench.q.send("work", FixedTimeMessage("a", 1_000_000), allow_past=True)
    await bench.control.cancel("work", ["a"])
    await bench.control.restore("work", ["a"])
    delivery = await bench.take_one()
    assert delivery.due_ms > 1_000_000
    (sample,) = await bench.inspector.sample()
    assert sample.lateness.percentile(100) < FAR_MS


async def test_the_content_and_the_headers_come_back(bench: Bench) -> None:
    await bench.topic(slots=8)
    content = bytes(range(256)) * 40
    await bench.q.send("work", PriorityMessage(content, 30, key=b"\x00 \xff", headers={"a": "ä"}, version=7))
    await bench.q.send("work", PriorityMessage("inline", 30))
    await bench.control.cancel("work", [b"\x00 \xff", "inline"])
    assert await bench.inspector.find("work", b"\x00 \xff") == []
    results = await bench.control.restore("work", [b"\x00 \xff", "inline"])
    assert [result.status for result in results] == ["done", "done"]
    (view,) = await bench.inspector.find("work", b"\x00 \xff")
    assert (view.content, view.headers, view.version, view.row.priority) == (content, {"a": "ä"}, 7, 30)


async def test_a_newer_send_of_the_same_id_stays(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("old", 20, key="k"))
    await bench.control.cancel("work", ["k"])
    await bench.q.send("work", PriorityMessage("new", 30, key="k"))
    assert [r.status for r in await bench.control.restore("work", ["k"])] == ["done"]
    (delivery,) = await bench.drain()
    assert (delivery.content, delivery.priority) == (b"new", 30)
    assert bench.ledger().stats["merged"] == 1


async def test_a_dead_letter_is_not_restored_over_another_one(bench: Bench) -> None:
    await bench.topic()
    for text in ("old", "new"):
        await bench.q.send("work", PriorityMessage(text, 20, key="k"))
        await bench.q.reject(await bench.take_one(), message=text)
        if text == "old":
            await bench.control.drop("work", ["k"])
    (result,) = await bench.control.restore("work", ["k"])
    assert result.status == "occupied"
    (view,) = await bench.inspector.find("work", "k")
    assert (view.content, view.failure.message, view.states) == (b"new", "new", ("dead",))
    (cluster,) = await bench.inspector.dead_clusters("work")
    assert (cluster.count, cluster.example) == (1, "new")
    # Once that one is out of the way, the older one comes back whole.
    await bench.control.requeue("work", ["k"])
    assert [delivery.content for delivery in await bench.drain()] == [b"new"]
    (result,) = await bench.control.restore("work", ["k"])
    assert result.status == "done"
    (view,) = await bench.inspector.find("work", "k")
    assert (view.content, view.failure.message, view.states) == (b"old", "old", ("dead",))


async def test_one_that_dies_again_leaves_the_older_dead_letter_in_the_trash(bench: Bench) -> None:
    await bench.topic()
    for text in ("old", "new"):
        await bench.q.send("work", PriorityMessage(text, 20, key="k"))
        await bench.q.reject(await bench.take_one(), message=text)
    (view,) = await bench.inspector.find("work", "k")
    assert (view.content, view.failure.message) == (b"new", "new")
    (removed,) = await bench.inspector.removed("work", "k")
    assert (removed.content, removed.failure.message, removed.row.was) == (b"old", "old", "dead")
    (sample,) = await bench.inspector.sample()
    assert (sample.dead, sample.trash, sample.ledger_gap) == (1, 1, 0)


@pytest.mark.parametrize("newer", ["retrying", "in flight"])
async def test_a_dead_letter_and_a_newer_message_of_its_id_keep_their_contents(bench: Bench, newer: str) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("old", 20, key="k"))
    await bench.q.reject(await bench.take_one())
    await bench.control.drop("work", ["k"])
    await bench.q.send("work", PriorityMessage("new", 30, key="k"))
    held = await bench.take_one() if newer == "in flight" else None
    await bench.control.restore("work", ["k"])
    (view,) = await bench.inspector.find("work", "k")
    assert set(view.states) == {"dead", "in_flight" if held else "ready"}
    assert view.content == b"new"
    if held:
        await bench.q.ack(held)
    else:
        assert [(d.content, d.priority) for d in await bench.drain()] == [(b"new", 30)]
    await bench.control.requeue("work", ["k"])
    assert [(d.content, d.priority) for d in await bench.drain()] == [(b"old", 20)]


async def test_requeueing_leaves_the_message_that_waits_as_it_is(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("old", 20, key="k"))
    await bench.q.reject(await bench.take_one())
    await bench.q.send("work", PriorityMessage("new", 30, key="k"))
    (result,) = await bench.control.requeue("work", ["k"])
    assert result.status == "done"
    assert [(d.content, d.priority) for d in await bench.drain()] == [(b"new", 30)]
    (removed,) = await bench.inspector.removed("work", "k")
    assert (removed.content, removed.row.was) == (b"old", "dead")


async def test_the_one_removed_last_is_in_the_trash(bench: Bench) -> None:
    await bench.topic()
    for text, priority in (("old", 20), ("new", 30)):
        await bench.q.send("work", PriorityMessage(text, priority, key="k"))
        await bench.control.cancel("work", ["k"])
    await bench.control.restore("work", ["k"])
    (delivery,) = await bench.drain()
    assert (delivery.content, delivery.priority) == (b"new", 30)


@pytest.mark.parametrize("kind", KINDS)
async def test_without_undo_nothing_is_kept(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind, undo_ms=0)
    made = Scene(bench, kind)
    await made.build()
    await made.act("cancel", "ready", "retrying")
    await made.act("drop", "dead")
    assert bench.ledger().trash == {}
    assert await made.act("restore", "ready", "dead") == ["not_found", "not_found"]


async def test_what_is_too_old_cannot_be_restored_and_goes(bench: Bench) -> None:
    topic = await bench.topic(slots=2)
    await bench.q.send_many("work", [PriorityMessage(f"m{i}", 20) for i in range(400)])
    rows = (await bench.inspector.messages("work", "ready", limit=500)).rows
    await bench.control.cancel("work", [row.ref for row in rows])
    assert len((await bench.inspector.messages("work", "trash", limit=500)).rows) == 400
    shorter = await bench.redefine(topic, undo_ms=1)
    removed_ms = max(bench.ledger(slot=0).trash.values())

    async def later() -> bool:
        return await bench.now_ms() > removed_ms + 1

    await bench.until(later, "a millisecond to go by")
    assert (await bench.inspector.messages("work", "trash")).rows == ()
    assert await bench.control.restore("work", [rows[0].ref]) == [(rows[0].ref, "not_found")]
    # Each call that has to do with the trash takes at most a hundred away; the keeper's reaper the rest.
    await bench.control.cancel("work", [MessageRef(0, "nothing"), MessageRef(1, "nothing")])
    assert len(bench.ledger(slot=0).trash) + len(bench.ledger(slot=1).trash) <= 400
    samples = await bench.inspector.sample()
    assert samples[0].trash > 0
    await bench.q.run(reap_overdue(bench.q.keyspace, samples, 0))
    assert bench.ledger(slot=0).trash == bench.ledger(slot=1).trash == {}
    (sample,) = await bench.inspector.sample()
    assert (sample.trash, sample.counters.erased, sample.slots[0].oldest_trash_ms) == (0, 400, None)
    assert (await bench.run(reap(bench.q.keyspace, shorter, 0)))[4] == 0


async def test_it_is_found_by_id_alone_in_whatever_slot(bench: Bench) -> None:
    await bench.topic(slots=16)
    sent = await bench.q.send("work", PriorityMessage("a", 20, slot_basis="elsewhere"))
    await bench.control.cancel("work", ["a"])
    assert await bench.control.restore("work", ["a"]) == [(MessageRef(sent.slot, "a"), "done")]


async def test_deleting_a_topic_empties_its_trash(bench: Bench) -> None:
    await bench.topic(name="gone")
    await bench.q.send("gone", PriorityMessage("a", 20))
    await bench.control.cancel("gone", ["a"])
    await bench.control.delete_topic("gone")
    assert bench.raw.exists(f"trash{{{bench.namespace}:gone_0}}") == 0


@pytest.mark.parametrize(("how", "delay_ms"), [("nack", FAR_MS), ("nack", 0), ("release", FAR_MS), ("release", 0)])
@pytest.mark.parametrize("pooled", [False, True])
async def test_a_copy_that_was_restored_beside_one_in_flight_takes_it_in(
    bench: Bench, how: str, delay_ms: int, pooled: bool
) -> None:
    """Take, nack with a delay, cancel, send again, take, restore, then nack or release: one waits, in one queue."""
    await bench.topic()
    options = {"key": "a", "headers": {"x": "y"}} if pooled else {}
    await bench.q.send("work", PriorityMessage("old" if pooled else "a", 20, **options))
    await bench.q.nack(await bench.take_one(), delay_ms=FAR_MS)
    await bench.control.cancel("work", ["a"])
    assert (await bench.q.send("work", PriorityMessage("new" if pooled else "a", 30, **options))).merged is False
    held = await bench.take_one()
    assert held.content == (b"new" if pooled else b"a")
    assert [each.status for each in await bench.control.restore("work", ["a"])] == ["done"]
    assert await getattr(bench.q, how)(held, delay_ms=delay_ms) == ["done"]
    ledger = bench.ledger()
    assert ledger.problems() == []
    assert [name for name, queue in ledger.queues.items() if b"a" in queue] in (["store"], ["retry"])
    assert (ledger.stats["merged"], ledger.stats["restored"], ledger.trash) == (1, 1, {})
    await bench.control.run_now("work", ["a"])
    (delivery,) = await bench.drain()
    assert (delivery.content, delivery.attempt) == (b"old" if pooled else b"a", 2)


async def test_a_dead_letter_that_made_room_is_restored_when_there_is_room_again(bench: Bench) -> None:
    await bench.topic()
    for text, priority in (("A", 20), ("B", 30)):
        await bench.q.send("work", PriorityMessage(text, priority, key="k", headers={"of": text}))
        await bench.q.reject(await bench.take_one(), message=text)
    assert [each.status for each in await bench.control.restore("work", ["k"])] == ["occupied"]
    # Requeued, B delivers B; then A comes back as it died, and delivers A.
    for text, priority in (("B", 30), ("A", 20)):
        assert [each.status for each in await bench.control.requeue("work", ["k"])] == ["done"]
        (delivery,) = await bench.drain()
        assert (delivery.text, delivery.headers, delivery.priority) == (text, {"of": text}, priority)
        if text == "B":
            assert [each.status for each in await bench.control.restore("work", ["k"])] == ["done"]
            (view,) = await bench.inspector.find("work", "k")
            assert (view.states, view.content, view.failure.message) == (("dead",), b"A", "A")
    (sample,) = await bench.inspector.sample()
    assert (sample.dead, sample.trash, sample.ledger_gap) == (0, 0, 0)
