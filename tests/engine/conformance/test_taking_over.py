"""A new owner begins with what the one before it left in flight, in order; who owns what is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import Delivery, FixedTimeMessage, PriorityMessage, Topic, TopicKind, errors
from rmq_core.protocol.slot_calls import acquire, epoch_text
from rmq_core.protocol.takes import Ack, Cycled, Release, cycle, extend, read_cycle, takeover
from rmq_core.queries.owners import note
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import clients_alone

FIRST, SECOND = 10, 20
# Neither the order of their bytes nor that of their hashes.
NAMES = ["m", "c", "x", "a", "t", "b"]


async def take_as(bench: Bench, topic: Topic, epoch: int, limit: int = 10, **settling: Any) -> Cycled:
    mine = epoch_text(epoch)
    reply = await bench.run(cycle(bench.q.keyspace, topic, 0, limit, epoch=mine, **settling))
    return read_cycle(topic, 0, reply, mine)


async def take_over_as(bench: Bench, topic: Topic, epoch: int) -> int:
    """How many deliveries of the former owner were put back."""
    put_back: int = await bench.run(takeover(bench.q.keyspace, topic, 0, epoch_text(epoch)))
    return put_back


async def take_alone_as(bench: Bench, topic: Topic, epoch: int, times: int) -> list[Delivery]:
    """One after another, each settled before the next."""
    taken: list[Delivery] = []
    for _ in range(times):
        several = await take_as(bench, topic, epoch)
        assert (several.deliveries, several.alone) == ([], True)
        cycled = await take_as(bench, topic, epoch, 1, alone=True)
        taken += cycled.deliveries
        await finish(bench, topic, cycled, epoch)
    return taken


async def owned(bench: Bench, **options: Any) -> Topic:
    """A topic whose first owner has taken every message, the earlier due first."""
    topic = await bench.topic(TopicKind.FIXED_TIME, **options)
    now_ms = await bench.now_ms()
    messages = [FixedTimeMessage(name, now_ms - 100 + place) for place, name in enumerate(NAMES)]
    await bench.q.send_many("work", messages, allow_past=True)
    await bench.run(acquire(bench.q.keyspace, topic, 0, FIRST))
    taken = await take_as(bench, topic, FIRST)
    assert [delivery.text for delivery in taken.deliveries] == NAMES
    return topic


async def finish(bench: Bench, topic: Topic, cycled: Cycled, epoch: int) -> None:
    """Every receipt must hold."""
    acks = [Ack(delivery.raw_id, delivery.receipt) for delivery in cycled.deliveries]
    settled = await take_as(bench, topic, epoch, 0, acks=acks)
    assert settled.statuses == [1] * len(acks)


async def test_deliveries_are_put_back_uncounted_in_their_order_and_come_alone(bench: Bench) -> None:
    topic = await owned(bench)
    due = bench.ledger().queues["prepare"]
    await bench.run(acquire(bench.q.keyspace, topic, 0, SECOND))
    assert await take_over_as(bench, topic, SECOND) == len(NAMES)
    left = await take_alone_as(bench, topic, SECOND, len(NAMES))
    assert [delivery.text for delivery in left] == NAMES
    assert {delivery.attempt for delivery in left} == {1}
    assert {delivery.epoch for delivery in left} == {epoch_text(SECOND)}
    assert len({delivery.due_ms for delivery in left}) == len(due)


async def test_the_order_outlives_an_extension(bench: Bench) -> None:
    topic = await owned(bench)
    receipts = [(name.encode(), int(score)) for name, score in _prepared(bench)]
    await bench.run(extend(bench.q.keyspace, topic, 0, receipts, FAR_MS, epoch_text(FIRST)))
    await bench.run(acquire(bench.q.keyspace, topic, 0, SECOND))
    await take_over_as(bench, topic, SECOND)
    left = await take_alone_as(bench, topic, SECOND, len(NAMES))
    assert [delivery.text for delivery in left] == NAMES


def _prepared(bench: Bench) -> list[tuple[str, int]]:
    queue = bench.ledger().queues["prepare"]
    return sorted(((name.decode(), score) for name, score in queue.items()), key=lambda pair: pair[1])


async def test_only_what_was_taken_alone_counts_as_failed(bench: Bench) -> None:
    topic = await owned(bench, max_retries=2)
    for epoch in range(SECOND, SECOND + 4):
        await bench.run(acquire(bench.q.keyspace, topic, 0, epoch))
        await take_over_as(bench, topic, epoch)
        # Whoever owns it now dies of the first message, which it runs alone.
        (killer,) = (await take_as(bench, topic, epoch, 1, alone=True)).deliveries
        if epoch < SECOND + 3:
            assert killer.text == NAMES[0]
            assert killer.attempt == epoch - SECOND + 1
    assert set(bench.ledger().queues["dead"]) == {NAMES[0].encode()}
    (found,) = await bench.inspector.find("work", NAMES[0])
    assert (found.failure.error, found.failure.failures) == ("OwnerLost", 3)
    assert bench.ledger().stats["died"] == 1


async def test_a_duplicate_that_waits_takes_its_place(bench: Bench) -> None:
    topic = await owned(bench)
    await bench.q.send("work", FixedTimeMessage("x", await bench.now_ms() + FAR_MS))
    await bench.run(acquire(bench.q.keyspace, topic, 0, SECOND))
    assert await take_over_as(bench, topic, SECOND) == len(NAMES)
    left = await take_alone_as(bench, topic, SECOND, len(NAMES) - 1)
    assert [delivery.text for delivery in left] == [name for name in NAMES if name != "x"]
    assert set(bench.ledger().queues["store"]) == {b"x"}


async def test_bodies_come_along(bench: Bench) -> None:
    topic = await bench.topic()
    await bench.q.send("work", PriorityMessage("content", 50, key="key", headers={"a": "b"}))
    await bench.run(acquire(bench.q.keyspace, topic, 0, FIRST))
    await take_as(bench, topic, FIRST)
    await bench.run(acquire(bench.q.keyspace, topic, 0, SECOND))
    await take_over_as(bench, topic, SECOND)
    (delivery,) = await take_alone_as(bench, topic, SECOND, 1)
    assert (delivery.id, delivery.text, delivery.headers) == ("key", "content", {"a": "b"})


async def test_a_former_owner_takes_nothing_over(bench: Bench) -> None:
    topic = await owned(bench)
    await bench.run(acquire(bench.q.keyspace, topic, 0, SECOND))
    before = bench.ledger()
    with pytest.raises(errors.Fenced):
        await take_over_as(bench, topic, FIRST)
    assert bench.ledger() == before


async def test_what_an_owner_gives_back_comes_again_in_order(bench: Bench) -> None:
    topic = await bench.topic(TopicKind.FIXED_TIME)
    now_ms = await bench.now_ms()
    messages = [FixedTimeMessage(name, now_ms - 100 + place) for place, name in enumerate(NAMES)]
    await bench.q.send_many("work", messages, allow_past=True)
    await bench.run(acquire(bench.q.keyspace, topic, 0, FIRST))
    taken = await take_as(bench, topic, FIRST, 3)
    releases = [Release(each.raw_id, each.receipt, 0, each.score) for each in taken.deliveries]
    again = await take_as(bench, topic, FIRST, 10, releases=releases)
    assert [delivery.text for delivery in again.deliveries] == NAMES
    await finish(bench, topic, again, FIRST)


async def test_the_timeline_tells_who_owned_what(bench: Bench) -> None:
    topic = await bench.topic(slots=8)
    keyspace = bench.q.keyspace
    await bench.run(note(keyspace, "work", "acquired", "ann", FIRST, [0, 1, 2, 5], "assigned"))
    await bench.run(note(keyspace, "work", "acquired", "bob the second", SECOND, [5], "assigned"))
    await bench.run(note(keyspace, "work", "released", "ann", FIRST, [0, 5], "moved"))
    owners = await bench.inspector.assignment("work")
    assert [owner.worker for owner in owners] == [None, "ann", "ann", None, None, "bob the second", None, None]
    assert (owners[5].epoch, owners[1].epoch) == (epoch_text(SECOND), epoch_text(FIRST))
    assert owners[5].since_ms is not None and owners[5].since_ms <= await bench.now_ms()
    reported = await bench.inspector.ownership_timeline("work")
    assert [(event.event, event.worker, event.slots, event.reason) for event in reported] == [
        ("released", "ann", (0, 5), "moved"),
        ("acquired", "bob the second", (5,), "assigned"),
        ("acquired", "ann", (0, 1, 2, 5), "assigned"),
    ]
    assert reported[0].at_ms >= reported[-1].at_ms > 0
    assert [event.worker for event in await bench.inspector.ownership_timeline("work", slot=1)] == ["ann"]
    assert len(await bench.inspector.ownership_timeline("work", limit=1)) == 1
    for wrong in ({"slot": topic.slots}, {"slot": -1}, {"limit": 0}, {"limit": "many"}):
        with pytest.raises(errors.InvalidMessage, match=next(iter(wrong))):
            await bench.inspector.ownership_timeline("work", **wrong)


async def test_unfencing_ends_every_ownership(bench: Bench) -> None:
    topic = await bench.topic(slots=4)
    for slot in (0, 1):
        await bench.run(acquire(bench.q.keyspace, topic, slot, FIRST))
    await bench.run(note(bench.q.keyspace, "work", "acquired", "ann", FIRST, [1], "assigned"))
    assert await bench.control.unfence("work") == 2
    assert [owner.worker for owner in await bench.inspector.assignment("work")] == [None] * 4
    assert await bench.control.unfence("work") == 0
    newest, *_ = reported = await bench.inspector.ownership_timeline("work")
    assert (newest.event, newest.slots, len(reported)) == ("unfenced", (0, 1), 2)


async def test_operators_drain_and_pin(bench: Bench) -> None:
    await bench.topic(slots=4)
    assert [await bench.control.drain("ann"), await bench.control.drain("ann")] == [True, False]
    assert await bench.control.drain("bob: \u00fc") is True
    assert await bench.control.pin("work", 3, "bob: \u00fc") is True
    assert await bench.control.pin("work", 2, "ann") is True
    assert [await bench.control.unpin("work", 2), await bench.control.unpin("work", 2)] == [True, False]
    assert [await bench.control.undrain("ann"), await bench.control.undrain("ann")] == [True, False]
    overrides = await bench.inspector.placement_overrides()
    assert (overrides.drained, overrides.pins) == ({"bob: \u00fc"}, {"work": {3: "bob: \u00fc"}})
    await bench.control.undrain("bob: \u00fc")  # the pin goes with the topic


@clients_alone
@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201, None, 7])
async def test_a_worker_without_a_proper_name_is_refused(bench: Bench, name: Any) -> None:
    await bench.topic()
    for act in (bench.control.drain, bench.control.undrain):
        with pytest.raises(errors.ConfigurationError, match="worker name"):
            await act(name)
    if name is not None:
        with pytest.raises(errors.ConfigurationError, match="worker name"):
            await bench.control.pin("work", 0, name)


@clients_alone
@pytest.mark.parametrize("slot", [-1, 4, True, "1", None])
async def test_only_slots_of_the_topic_are_pinned(bench: Bench, slot: Any) -> None:
    await bench.topic(slots=4)
    with pytest.raises(errors.InvalidMessage, match="slot="):
        await bench.control.pin("work", slot, "ann")
    with pytest.raises(errors.UnknownTopic):
        await bench.control.pin("nowhere", 0, "ann")
