"""Holding one key: its messages wait, others of the slot go on, and all come back to exactly their places."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import FixedTimeMessage, Topic, TopicKind
from rmq_core.errors import InvalidMessage, TooManyHolds, TopicReshaped, WrongKind
from rmq_core.model import holds as model
from rmq_core.model.filters import MessageFilter
from rmq_core.ops import holds as ops
from rmq_core.protocol.slot_calls import on_hold, reap
from rmq_core.protocol.takes import cycle
from tests.engine.conformance.bench import FAR_MS, SOON_MS, Bench
from tests.engine.conformance.conftest import few_servers, scripts_alone

KINDS = [TopicKind.PRIORITY, TopicKind.RANGE_MERGE, TopicKind.FIXED_TIME]


async def send(bench: Bench, kind: TopicKind, content: str, at: int = 0, **options: Any) -> None:
    """Ready at once, in the order of ``at``."""
    if kind is TopicKind.PRIORITY:
        await bench.q.send("work", content, priority=100 - at, **options)
    elif kind is TopicKind.RANGE_MERGE:
        await bench.q.send("work", content, range_ms=1, **options)
    else:
        due_ms = await bench.now_ms() - 20_000 + at
        await bench.q.send("work", FixedTimeMessage(content, due_ms, **options))


def places(bench: Bench) -> dict[bytes, float]:
    return bench.ledger().queues["store"]


@scripts_alone
@pytest.mark.parametrize("kind", KINDS)
async def test_all_come_back_to_exactly_their_places(bench: Bench, kind: TopicKind) -> None:
    await bench.topic(kind)
    for at, content in enumerate(["a1", "b1", "a2", "b2", "a3"]):
        await send(bench, kind, content, at, key=content, slot_basis=content[0])
    before = places(bench)

    async def ready() -> bool:
        return bool(kind is TopicKind.PRIORITY or await bench.now_ms() > max(before.values()))

    await bench.until(ready, "all to be due")
    (hold,) = await bench.control.hold("work", slot_basis="a", note="asks the customer")
    assert (hold.of, hold.key, hold.until_ms, hold.note, hold.held) == ("slot_basis", "a", None, "asks the customer", 0)
    assert [each.text for each in await bench.drain()] == ["b1", "b2"]
    (sample,) = await bench.inspector.sample(["work"])
    assert (sample.held, sample.retrying, sample.ready, sample.backlog) == (3, 0, 0, 3)
    assert (sample.slots[0].next_retry_ms, sample.slots[0].ledger_gap) == (None, 0)
    (listed,) = await bench.inspector.holds("work")
    assert (listed.ref, listed.held) == (hold.ref, 3)
    assert {row.id for row in (await bench.inspector.messages("work", "held")).rows} == {"a1", "a2", "a3"}
    assert await bench.control.lift("work", hold) == (True, 3)
    assert places(bench) == {key: score for key, score in before.items() if key.startswith(b"a")}
    assert [each.text for each in await bench.drain()] == ["a1", "a2", "a3"]
    assert await bench.inspector.holds("work") == []
    assert await bench.control.lift("work", hold) == (False, 0)


@few_servers
async def test_an_id_is_set_aside_at_once_and_later_sends_merge_into_it(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", "one", key="k", priority=30)
    await bench.control.hold("work", id="k")
    (view,) = await bench.inspector.find("work", "k")
    assert (view.states, view.row.priority, view.row.score_ms) == (("held",), 30, None)
    sent = await bench.q.send("work", "two", key="k", priority=40)
    assert sent.merged
    assert await bench.drain() == []
    (view,) = await bench.inspector.find("work", "k")
    assert (view.states, view.content, view.row.priority) == (("held",), b"two", 40)
    (hold,) = await bench.inspector.holds("work")
    await bench.control.lift("work", hold.ref)
    (delivery,) = await bench.drain()
    assert (delivery.text, delivery.priority) == ("two", 40)


@few_servers
async def test_an_equal_time_keeps_its_place_and_another_one_is_its_place_for_later(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    now = await bench.now_ms()
    for name in ("k", "other"):
        await bench.q.send("work", FixedTimeMessage(name, now - 10, key=name))
    before = places(bench)[b"k"]
    (hold,) = await bench.control.hold("work", id="k")
    await bench.q.send("work", FixedTimeMessage("again", now - 10, key="k"))
    await bench.control.lift("work", hold)
    assert places(bench)[b"k"] == before
    (hold,) = await bench.control.hold("work", id="k")
    await bench.q.send("work", FixedTimeMessage("later", now + FAR_MS, key="k"))
    (view,) = await bench.inspector.find("work", "k")
    assert (view.states, view.row.score_ms) == (("held",), now + FAR_MS)
    await bench.control.lift("work", hold)
    (view,) = await bench.inspector.find("work", "k")
    assert (view.states, view.row.score_ms) == (("delayed",), now + FAR_MS)


@few_servers
async def test_what_has_failed_keeps_its_failures_and_its_priority(bench: Bench) -> None:
    await bench.topic(max_retries=2)
    await bench.q.send("work", "a", key="a", priority=50)
    await bench.q.nack(await bench.take_one())
    (hold,) = await bench.control.hold("work", id="a")
    assert await bench.drain() == []
    (view,) = await bench.inspector.find("work", "a")
    assert (view.states, view.row.failures, view.row.retries_left, view.row.priority) == (("held",), 1, 2, 50)
    await bench.control.lift("work", hold)
    delivery = await bench.take_one()
    assert delivery.attempt == 2
    await bench.q.ack(delivery)


@few_servers
async def test_a_hold_ends_by_itself(bench: Bench) -> None:
    topic = await bench.topic()
    await bench.q.send("work", "a", priority=50)
    (hold,) = await bench.control.hold("work", id="a", for_ms=SOON_MS)
    assert hold.until_ms == hold.since_ms + SOON_MS
    why = await bench.inspector.why("work", "a")
    assert why.reasons[0].code in {"held_until", "on_its_way", "no_worker"}
    delivery = await bench.take_one()  # it is waited for, though nobody sends or lifts
    assert (delivery.text, await bench.now_ms() >= hold.until_ms) == ("a", True)
    await bench.q.ack(delivery)
    # Of a slot that nobody takes from, a keeper sees it.
    await bench.q.send("work", "b", priority=50)
    (hold,) = await bench.control.hold("work", id="b", for_ms=1)

    async def over() -> bool:
        return bool(await bench.now_ms() > hold.until_ms)

    await bench.until(over, "the hold to end")
    (sample,) = await bench.inspector.sample(["work"])
    assert (sample.held, sample.with_deadlines) == (1, sample.slots)
    assert (await bench.run(reap(bench.q.keyspace, topic, 0)))[3] == 1
    assert places(bench).keys() == {b"b"}


@few_servers
async def test_whoever_lifted_may_die_and_takers_do_the_rest(bench: Bench) -> None:
    topic = await bench.topic()
    for number in range(5):
        await bench.q.send("work", f"a{number}", key=f"a{number}", slot_basis="a", priority=50 - number)
    (hold,) = await bench.control.hold("work", slot_basis="a")
    assert await bench.drain() == []
    args = (hold.since_ms, 2)
    assert await bench.run(on_hold("lift", bench.q.keyspace, topic, 0, *args)) == [1, 2, 1]
    (sample,) = await bench.inspector.sample(["work"])
    assert (sample.held, sample.ready) == (3, 2)
    assert [each.text for each in await bench.drain()] == ["a0", "a1", "a2", "a3", "a4"]
    assert await bench.inspector.holds("work") == []


@few_servers
async def test_cancel_restore_requeue_and_run_now_know_what_is_held(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME, max_retries=0)
    now = await bench.now_ms()
    for name in ("a", "b", "c"):
        await bench.q.send("work", FixedTimeMessage(name, now - 10))
    await bench.q.nack(await bench.take_one())
    before = places(bench)
    for name in ("a", "b", "c"):
        await bench.control.hold("work", id=name)
    assert [each.status for each in await bench.control.run_now("work", ["b"])] == ["held"]
    assert [each.status for each in await bench.control.cancel("work", ["b"])] == ["done"]
    assert [each.status for each in await bench.control.restore("work", ["b"])] == ["done"]
    assert [each.status for each in await bench.control.requeue("work", ["a"])] == ["done"]
    assert await bench.drain() == []
    assert (await bench.inspector.preview("work", MessageFilter("held"))).count == 3
    for hold in await bench.inspector.holds("work"):
        await bench.control.lift("work", hold)
    assert places(bench)[b"c"] == before[b"c"]
    assert {each.text for each in await bench.drain()} == {"a", "b", "c"}


@few_servers
async def test_what_expires_while_held_is_never_delivered(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", "a", key="k", priority=50, expires_ms=SOON_MS)
    (hold,) = await bench.control.hold("work", id="k")

    async def late() -> bool:
        return bool(await bench.now_ms() > hold.since_ms + SOON_MS)

    await bench.until(late, "it to expire")
    await bench.control.lift("work", hold)
    assert await bench.drain() == []
    assert bench.ledger().stats["lapsed"] == 1


@few_servers
async def test_the_hold_is_the_cause(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", "a", key="k", priority=50)
    (hold,) = await bench.control.hold("work", id="k", note="disputed")
    (reason, *_) = (await bench.inspector.why("work", "k")).reasons
    assert (reason.code, reason.values["hold"], reason.values["note"]) == ("held", hold.ref, "disputed")
    (reason,) = (await bench.inspector.why("work")).reasons
    assert (reason.code, reason.values["held"], reason.values["holds"]) == ("holds_back", 1, 1)
    await bench.control.cancel("work", "k")


@few_servers
async def test_a_slot_that_waits_for_its_failed_does_not_wait_for_what_is_held(bench: Bench) -> None:
    topic = await bench.topic()
    await bench.q.send("work", "a", priority=50)
    await bench.q.send("work", "b", priority=40)
    await bench.control.hold("work", id="a")
    call = cycle(bench.q.keyspace, topic, 0, 10, waits=True)
    assert [each[0] for each in [(await bench.run(call))[3]]] == [b"b"]


@few_servers
async def test_there_are_so_many_at_most_and_each_key_has_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.topic(slots=4)
    monkeypatch.setattr(ops, "HOLDS_MAX", 2)
    (first,) = await bench.control.hold("work", id="a")
    (again,) = await bench.control.hold("work", id="a", for_ms=FAR_MS, note="longer")
    assert (again.ref, again.note) == (first.ref, "longer")
    await bench.control.hold("work", slot_basis="a")
    with pytest.raises(TooManyHolds):
        await bench.control.hold("work", id="b")
    for wrong in ({}, {"id": "a", "slot_basis": "a"}, {"id": ""}, {"id": "a" * (model.KEY_MAX + 1)},
                  {"id": "a", "for_ms": 0}, {"id": "a", "note": "n" * 201}, {"id": "a", "note": "\ud800"},
                  {"id": "a", "slot": 4}):  # fmt: skip
        with pytest.raises(InvalidMessage):
            await bench.control.hold("work", **wrong)
    for ref in ("", "1", "1-x", "99-1", "١-1"):
        with pytest.raises(InvalidMessage):
            await bench.control.lift("work", ref)
    await bench.q.define(Topic("stream", TopicKind.STREAM, slots=1))
    with pytest.raises(WrongKind):
        await bench.control.hold("stream", id="a")


@few_servers
async def test_odd_keys_and_notes_are_kept_as_they_are(bench: Bench) -> None:
    await bench.topic()
    for key in (b"1 i 2 3 4 5 6", b"\x00\xff \n", "ключ".encode(), b"' .. os.exit() .. '"):
        await bench.control.hold("work", id=key, note="7 b 0 0 1 1 xy \x01")
        await bench.q.send("work", b"content", key=key, priority=20)
    assert await bench.drain() == []
    found = await bench.inspector.holds("work")
    assert [hold.held for hold in found] == [1] * 4
    assert {hold.note for hold in found} == {"7 b 0 0 1 1 xy \x01"}
    for hold in found:
        await bench.control.lift("work", hold)
    assert len(await bench.drain()) == 4


@few_servers
async def test_a_topic_made_again_has_no_holds(bench: Bench) -> None:
    old = await bench.topic()
    await bench.q.send("work", "a", priority=20)
    await bench.control.hold("work", id="a")
    await bench.control.delete_topic("work", force=True)
    await bench.topic()
    assert await bench.inspector.holds("work") == []
    await bench.control.hold("work", id="a")
    with pytest.raises(TopicReshaped):
        await bench.run(reap(bench.q.keyspace, old, 0))
