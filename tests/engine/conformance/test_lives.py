"""One life of a topic and the next: whoever dies, or is late, between two steps of a deletion or a definition."""

from __future__ import annotations

import pytest

from rmq_core import PriorityMessage, Topic, errors
from rmq_core.model import formats
from rmq_core.ops.registry import REFUSED_MS
from rmq_core.protocol.scripts import Call, script
from tests.engine.conformance.bench import Bench


async def stored_alone(bench: Bench, topic: Topic) -> None:
    """As if whoever defines it died before its slots were marked."""
    keys = bench.q.keyspace
    args = [topic.name, 0, topic.to_json(), keys.changes, 0, formats.NAMESPACE]
    await bench.run(Call(script("topic_put"), [keys.topics, keys.deleted, keys.format], args))


async def forgotten_alone(bench: Bench, topic: Topic) -> None:
    """As if whoever deletes it had not come to its slots yet."""
    keys = bench.q.keyspace
    args = [topic.name, topic.version, keys.changes, topic.created_ms, formats.NAMESPACE]
    await bench.run(Call(script("topic_delete"), [keys.topics, keys.deleted, keys.format], args))
    getattr(bench.q, "_target", bench.q).forget(topic.name)


async def purged(bench: Bench, topic: Topic) -> int:
    args = [topic.shape, topic.created_ms, REFUSED_MS]
    return await bench.run(Call(script("purge"), bench.q.keyspace.slot_keys(topic.name, 0), args))


async def test_a_creator_that_dies_leaves_a_topic_that_can_be_sent_to(bench: Bench) -> None:
    old = await bench.topic(slots=4)
    await bench.control.delete_topic("work", force=True)
    await stored_alone(bench, old)
    with pytest.raises(errors.TopicReshaped):
        await bench.q.send_many("work", [PriorityMessage("b", 20)])
    assert (await bench.q.send_many("work", [PriorityMessage("b", 20)])).new == 1
    for number in range(20):
        await bench.q.send("work", PriorityMessage(f"a{number}", 20))
    assert len(await bench.drain()) == 21


async def test_a_send_follows_a_creator_that_died(bench: Bench) -> None:
    old = await bench.topic(slots=4)
    await bench.control.delete_topic("work", force=True)
    await stored_alone(bench, old)
    assert (await bench.q.send("work", PriorityMessage("a", 20))).merged is False
    assert len(await bench.drain()) == 1


async def test_defining_it_again_goes_on_where_its_creator_died(bench: Bench) -> None:
    old = await bench.topic(slots=4)
    await bench.control.delete_topic("work", force=True)
    await stored_alone(bench, old)
    topic = await bench.topic(slots=4)
    marks = [bench.raw.hget(bench.q.keyspace.slot("work", slot).stats, "shape") for slot in range(4)]
    assert marks == [topic.shape.encode()] * 4


async def test_a_late_purge_leaves_the_next_life_alone(bench: Bench) -> None:
    old = await bench.topic(slots=1)
    await forgotten_alone(bench, old)
    await bench.topic(slots=1)
    await bench.q.send("work", PriorityMessage("a", 20))
    assert await purged(bench, old) == 0
    assert [delivery.text for delivery in await bench.drain()] == ["a"]


async def test_what_a_deleted_topic_held_is_not_the_next_ones(bench: Bench) -> None:
    old = await bench.topic(slots=1)
    await bench.q.send("work", PriorityMessage("deleted", 20))
    await forgotten_alone(bench, old)
    await bench.topic(slots=1)
    assert await bench.drain() == []
    assert bench.ledger().stats.get("sent", 0) == 0


async def test_a_life_that_is_over_is_not_marked_again(bench: Bench) -> None:
    old = await bench.topic(slots=1)
    await bench.control.delete_topic("work", force=True)
    marked = await bench.run(
        Call(script("shape_set"), bench.q.keyspace.slot_keys("work", 0), [old.shape, old.created_ms])
    )
    assert marked == 0
    with pytest.raises(errors.UnknownTopic):
        await bench.q.send("work", PriorityMessage("a", 20))


async def test_two_lives_never_begin_in_one_millisecond(bench: Bench) -> None:
    lives = []
    for _ in range(10):
        lives.append((await bench.topic(slots=1)).created_ms)
        await bench.control.delete_topic("work")
    assert sorted(set(lives)) == lives
