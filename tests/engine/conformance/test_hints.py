"""Whoever pulls finds what is ready by the topic's hint, and by its own looks, on every kind of server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rmq_core import PriorityMessage, TopicKind
from rmq_core.ops import hints, sending
from rmq_core.ops.consuming import Consumer
from rmq_core.protocol.scripts import Operation, Request
from rmq_core.protocol.slot_calls import on_slot
from rmq_core.transport.retry import Replies
from tests.engine.conformance.bench import FAR_MS, Bench, message


async def test_a_retry_that_is_due_is_found_by_the_first_look(bench: Bench) -> None:
    topic = await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 20))
    await bench.q.nack(await bench.take_one())
    taken = await bench.q.run(Consumer(bench.q.keyspace, topic).take(1))
    assert [(delivery.text, delivery.attempt) for delivery in taken.deliveries] == [("a", 2)]


async def test_a_retry_that_is_due_is_found_by_the_hint_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "LOOK_EVERY_S", 3_600.0)
    topic = await bench.topic(slots=8)
    other = Consumer(bench.q.keyspace, topic)
    assert (await bench.q.run(other.take(1))).deliveries == []  # it has looked at every slot, and will not again
    await bench.q.send("work", PriorityMessage("a", 20))
    await bench.q.nack(await bench.take_one())
    taken = await bench.q.run(other.take(1))
    assert [(delivery.text, delivery.attempt) for delivery in taken.deliveries] == [("a", 2)]


async def test_a_script_that_had_to_be_taught_leaves_no_wrong_hint(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "LOOK_EVERY_S", 3_600.0)
    topic = await bench.topic()
    other = Consumer(bench.q.keyspace, topic)
    assert (await bench.q.run(other.take(1))).deliveries == []
    await bench.q.send("work", PriorityMessage("a", 20))
    held = await bench.take_one()
    bench.raw.script_flush()
    await bench.run(on_slot("next_due", bench.q.keyspace, topic, 0))  # is known again, unlike what is to come
    await bench.q.nack(held)
    taken = await bench.q.run(other.take(1))
    assert [(delivery.text, delivery.attempt) for delivery in taken.deliveries] == [("a", 2)]


@pytest.mark.parametrize("how", ["plain", "max_backlog", "unique_for_ms"])
async def test_a_merge_that_is_due_earlier_is_found_by_the_hint_alone(
    bench: Bench, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "LOOK_EVERY_S", 3_600.0)
    topic = await bench.topic(TopicKind.FIXED_TIME, slots=8, max_backlog=1_000 if how == "max_backlog" else 0)
    other = Consumer(bench.q.keyspace, topic)
    assert (await bench.q.run(other.take(1))).deliveries == []
    await bench.q.send("work", "later", key="a", in_ms=FAR_MS)
    await bench.q.send("work", "now", key="a", in_ms=0, **({"unique_for_ms": 60_000} if how == "unique_for_ms" else {}))
    taken = await bench.q.run(other.take(1))
    assert [delivery.text for delivery in taken.deliveries] == ["now"]


def asked(requests: Sequence[Request]) -> Operation[list[Any]]:
    return (yield requests)


@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.RANGE_MERGE])
async def test_a_look_that_was_before_a_send_does_not_hide_it(
    bench: Bench, kind: TopicKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "LOOK_EVERY_S", 3_600.0)
    topic = await bench.topic(kind, slots=8)
    other = Consumer(bench.q.keyspace, topic)
    assert (await bench.q.run(other.take(1))).deliveries == []  # it has looked at every slot, and will not again
    slow = Consumer(bench.q.keyspace, topic).take(1)
    nothing = await bench.q.run(asked(next(slow)))
    await bench.q.send("work", message(kind, "a"))
    with pytest.raises(StopIteration):  # and now it tells what it saw
        requests = slow.send(nothing)
        while True:
            requests = slow.send(await bench.q.run(asked(requests)))

    async def found() -> bool:  # a timed one is due in a millisecond
        return bool((await bench.q.run(other.take(1))).deliveries)

    await bench.until(found, "the message to be taken")


async def test_a_send_whose_answer_was_lost_is_found(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "LOOK_EVERY_S", 3_600.0)
    topic = await bench.topic(slots=8)
    other = Consumer(bench.q.keyspace, topic)
    assert (await bench.q.run(other.take(1))).deliveries == []
    sends = sending.send(bench.q.keyspace, topic, PriorityMessage("a", 20))
    calls = next(sends)
    await bench.q.run(asked(calls))  # done, and nobody hears of it
    again = Replies(await bench.q.run(asked(calls)))
    again.replayed = True
    with pytest.raises(StopIteration):
        requests = sends.send(again)
        while True:
            requests = sends.send(await bench.q.run(asked(requests)))
    taken = await bench.q.run(other.take(1))
    assert [delivery.text for delivery in taken.deliveries] == ["a"]


async def test_a_hint_that_nothing_stands_behind_costs_one_look(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "LOOK_EVERY_S", 3_600.0)
    topic = await bench.topic(slots=8)
    for n in range(3):
        await bench.q.send("work", PriorityMessage(f"m{n}", 20 + n, slot_basis="one"))
    slow, other = Consumer(bench.q.keyspace, topic), Consumer(bench.q.keyspace, topic)
    for consumer in (slow, other):
        assert len((await bench.q.run(consumer.take(1))).deliveries) == 1
    assert len((await bench.q.run(slow.take(2))).deliveries) == 1
    trips = 0

    def counted(operation: Operation[Any]) -> Operation[Any]:
        nonlocal trips
        requests = next(operation)
        try:
            while True:
                trips += 1
                requests = operation.send((yield requests))
        except StopIteration as done:
            return done.value

    looks = []
    while 1 not in looks[1:]:
        assert len(looks) < 4, f"the hint is never corrected: {looks}"
        # On Cluster, whose hints are noted apart, a look takes nothing back that was noted in its own millisecond.
        began_ms = await bench.now_ms()
        while await bench.now_ms() == began_ms:
            pass
        before = trips
        assert (await bench.q.run(counted(other.take(1)))).deliveries == []
        looks.append(trips - before)
