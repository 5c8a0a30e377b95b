"""A topic that is deleted, and made again with another shape: whoever remembers the old one changes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rmq_core import FixedTimeMessage, MessageFilter, PriorityMessage, Topic, TopicKind, errors
from rmq_core.protocol.slot_calls import reap
from rmq_core.protocol.takes import cycle
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.support.keys import keys_of


def remember(bench: Bench, topic: Topic) -> None:
    """As if the client had read the definition just now."""
    getattr(bench.q, "_target", bench.q).remember(topic)


async def test_a_client_that_remembers_a_deleted_topic_leaves_nothing_behind(bench: Bench) -> None:
    topic = await bench.topic(slots=16)
    await bench.control.delete_topic("work", force=True)
    remember(bench, topic)
    for _ in range(2):
        with pytest.raises(errors.UnknownTopic):
            await bench.q.send("work", PriorityMessage("a", 20))
    remember(bench, topic)
    with pytest.raises(errors.RMQError):
        await bench.q.send_many("work", [PriorityMessage(f"{n}", 20) for n in range(100)])
    remember(bench, topic)
    assert await bench.q.take("work") == []
    assert keys_of(bench.raw, bench.namespace) == []


async def test_a_client_follows_the_topic_that_was_made_anew(bench: Bench) -> None:
    old = await bench.topic(slots=64)
    await bench.control.delete_topic("work", force=True)
    await bench.topic(slots=4)
    for number in range(20):
        remember(bench, old)
        sent = await bench.q.send("work", PriorityMessage(f"{number}", 20))
        assert sent.slot < 4
    remember(bench, old)
    assert len(await bench.drain()) == 20


async def test_a_message_of_the_old_kind_is_refused(bench: Bench) -> None:
    old = await bench.topic(TopicKind.FIXED_TIME)
    await bench.control.delete_topic("work", force=True)
    await bench.topic(TopicKind.PRIORITY)
    remember(bench, old)
    with pytest.raises(errors.WrongKind):
        await bench.q.send("work", FixedTimeMessage("a", await bench.now_ms() + FAR_MS))
    assert bench.ledger().queues["store"] == {}


async def test_consumers_of_the_old_topic_are_refused_and_told_so(bench: Bench) -> None:
    old = await bench.topic(slots=1)
    await bench.control.delete_topic("work", force=True)
    await bench.topic(slots=1)
    await bench.q.send("work", PriorityMessage("a", 20))
    for call in (cycle(bench.q.keyspace, old, 0, 10), reap(bench.q.keyspace, old, 0)):
        with pytest.raises(errors.TopicReshaped, match="read the definition again"):
            await bench.run(call)
    assert bench.ledger().queues["prepare"] == {}
    assert [delivery.text for delivery in await bench.drain()] == ["a"]


async def test_an_edit_keeps_the_life_of_a_topic(bench: Bench) -> None:
    topic = await bench.topic()
    edited = await bench.redefine(topic, weight=7)
    assert (edited.created_ms, edited.version) == (topic.created_ms, 2)
    remember(bench, topic)
    await bench.q.send("work", PriorityMessage("a", 20))
    assert [delivery.text for delivery in await bench.drain()] == ["a"]


SETTLINGS = ("ack", "nack", "reject", "release", "extend")


@pytest.mark.parametrize("how", SETTLINGS)
async def test_deliveries_of_a_deleted_topic_are_stale(bench: Bench, how: str) -> None:
    topic = await bench.topic(slots=8)
    await bench.q.send_many("work", [PriorityMessage(f"{n}", 20) for n in range(20)])
    taken = await bench.q.take("work", 20)
    await bench.control.delete_topic("work", force=True)
    remember(bench, topic)
    settle = getattr(bench.q, how)
    assert await settle(taken) == ["stale"] * 20  # by what was remembered
    assert await settle(taken) == ["stale"] * 20  # by what is stored
    assert keys_of(bench.raw, bench.namespace) == []


@pytest.mark.parametrize("how", SETTLINGS)
async def test_deliveries_of_another_shape_are_stale_and_the_others_settle(bench: Bench, how: str) -> None:
    old = await bench.topic(slots=16)
    await bench.q.send_many("work", [PriorityMessage(f"{n}", 20) for n in range(40)])
    before = await bench.q.take("work", 40)
    assert max(delivery.slot for delivery in before) > 1
    await bench.control.delete_topic("work", force=True)
    await bench.topic(slots=2)
    await bench.q.send_many("work", [PriorityMessage(f"{n}", 20) for n in range(4)])
    after = await bench.q.take("work", 4)
    assert len(after) == 4
    settle = getattr(bench.q, how)
    remember(bench, old)
    mixed = [*before[:20], *after[:2], *before[20:]]
    assert await settle(mixed) == ["stale"] * 20 + ["done"] * 2 + ["stale"] * 20
    assert await settle([*after[2:], *before]) == ["done"] * 2 + ["stale"] * 40


async def test_deliveries_of_another_kind_are_stale(bench: Bench) -> None:
    old = await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 20))
    before = await bench.take_one()
    await bench.control.delete_topic("work", force=True)
    await bench.topic(TopicKind.FIXED_TIME)
    await bench.q.send("work", FixedTimeMessage("a", await bench.now_ms()), allow_past=True)
    after = await bench.take_one()
    for how in SETTLINGS:
        remember(bench, old)
        assert await getattr(bench.q, how)(before) == ["stale"]
    assert await bench.q.ack([before, after]) == ["stale", "done"]


async def test_reads_follow_the_topic_that_was_made_anew(bench: Bench) -> None:
    old = await bench.topic(slots=16)
    await bench.control.delete_topic("work", force=True)
    await bench.topic(slots=2)
    for number in range(6):
        await bench.q.send("work", PriorityMessage(f"{number}", 20, key=f"k{number}"))
    for slot in (2, 15):
        for read in (bench.inspector.slot, lambda _, slot: bench.inspector.messages("work", "ready", slot=slot)):
            remember(bench, old)
            with pytest.raises(errors.InvalidMessage, match="from 0 to 1"):
                await read("work", slot)
    remember(bench, old)
    assert (await bench.inspector.slot("work", 1)).sample.slot == 1
    for read in (
        lambda: bench.inspector.messages("work", "ready"),
        lambda: bench.inspector.search("work", "k"),
        lambda: bench.inspector.select("work", MessageFilter("ready", text="k")),
    ):
        remember(bench, old)
        assert len((await read()).rows) == 6
    remember(bench, old)
    assert [view.row.id for view in await bench.inspector.find("work", "k3")] == ["k3"]


async def test_calls_follow_a_stream_that_was_a_queue(bench: Bench) -> None:
    old = await bench.topic()
    await bench.control.delete_topic("work", force=True)
    await bench.topic(TopicKind.STREAM)
    remember(bench, old)
    first = await bench.q.send("work", "a")
    for read in (
        lambda: bench.q.take("work"),
        lambda: bench.q.take("work", timeout_ms=10),
        lambda: bench.inspector.messages("work", "ready"),
        lambda: bench.inspector.slot("work", 0),
        lambda: bench.inspector.find("work", "a"),
        lambda: bench.control.cancel("work", "a"),
    ):
        remember(bench, old)
        with pytest.raises(errors.WrongKind, match="is a stream"):
            await read()
    remember(bench, old)
    assert [str(entry.id) for entry in (await bench.q.read("work")).entries] == [first.id]
    remember(bench, old)
    with pytest.raises(errors.TopicReshaped):
        await bench.q.send_many("work", ["b", "c"])
    assert (await bench.q.send_many("work", ["b", "c"])).new == 2  # repeated: it follows
    remember(bench, old)
    assert await bench.control.trim("work") == 0
    remember(bench, old)
    assert (await bench.q.define_group("work", "g")).name == "work@g"


async def test_calls_follow_a_queue_that_was_a_stream(bench: Bench) -> None:
    old = await bench.topic(TopicKind.STREAM)
    await bench.control.delete_topic("work", force=True)
    await bench.topic()
    remember(bench, old)
    await bench.q.send("work", PriorityMessage("a", 20))
    remember(bench, old)
    assert len((await bench.inspector.messages("work", "ready")).rows) == 1
    remember(bench, old)
    assert [view.row.id for view in await bench.inspector.find("work", "a")] == ["a"]
    remember(bench, old)
    assert [delivery.text for delivery in await bench.q.take("work")] == ["a"]
    remember(bench, old)
    with pytest.raises(errors.TopicReshaped):
        await bench.q.send_many("work", [PriorityMessage("b", 20)])
    assert (await bench.q.send_many("work", [PriorityMessage("b", 20)])).new == 1
    remember(bench, old)
    with pytest.raises(errors.WrongKind, match="'work' is a priority topic"):
        await bench.q.read("work")


async def test_a_message_of_the_new_kind_is_sent(bench: Bench) -> None:
    old = await bench.topic(TopicKind.FIXED_TIME)
    await bench.control.delete_topic("work", force=True)
    await bench.topic(TopicKind.PRIORITY)
    remember(bench, old)
    await bench.q.send("work", PriorityMessage("a", 20))
    assert [delivery.text for delivery in await bench.drain()] == ["a"]


async def test_a_key_that_somebody_has_spoiled_is_named_as_ever(bench: Bench) -> None:
    topic = await bench.topic()
    store = bench.q.keyspace.slot("work", 0).store
    bench.raw.set(store, "no queue")
    try:
        for _ in range(2):
            remember(bench, topic)
            with pytest.raises(errors.ScriptFailed, match="WRONGTYPE"):
                await bench.inspector.messages("work", "ready")
    finally:
        bench.raw.delete(store)


async def test_reads_of_a_deleted_topic_say_so(bench: Bench) -> None:
    old = await bench.topic(slots=4)
    await bench.control.delete_topic("work", force=True)
    for read in (
        lambda: bench.inspector.slot("work", 3),
        lambda: bench.inspector.messages("work", "ready"),
        lambda: bench.inspector.find("work", "a"),
        lambda: bench.inspector.removed("work", "a"),
        lambda: bench.inspector.forecast("work"),
        lambda: bench.inspector.prepare_ages("work"),
        lambda: bench.inspector.search("work", "a"),
        lambda: bench.inspector.select("work", MessageFilter("dead")),
        lambda: bench.inspector.preview("work", MessageFilter("dead")),
    ):
        remember(bench, old)
        with pytest.raises(errors.UnknownTopic):
            await read()


async def test_slots_that_a_topic_made_anew_has_more_of_are_known_at_once(bench: Bench) -> None:
    old = await bench.topic(slots=2)
    await bench.control.delete_topic("work", force=True)
    await bench.topic(slots=16)
    remember(bench, old)
    assert (await bench.inspector.slot("work", 15)).sample.slot == 15
    remember(bench, old)
    assert (await bench.inspector.messages("work", "ready", slot=15)).rows == ()
    for wrong in (-1, 16, True, "3"):
        with pytest.raises(errors.InvalidMessage, match="from 0 to 15"):
            await bench.inspector.messages("work", "ready", slot=wrong)


async def test_a_change_to_a_topic_is_none_to_the_one_made_anew(bench: Bench) -> None:
    old = await bench.topic()
    await bench.control.delete_topic("work")
    new = await bench.topic()
    assert (new.version, new.slots, new.kind) == (old.version, old.slots, old.kind)
    with pytest.raises(errors.VersionConflict, match="made again"):
        await bench.redefine(old, weight=7)
    assert (await bench.redefine(new, weight=8)).weight == 8
    # Who wrote the definition out and names a version alone cannot be told apart.
    by_hand = replace(new, created_ms=0, updated_ms=0, version=0, weight=9)
    assert (await bench.control.put_topic(by_hand, 2)).weight == 9
