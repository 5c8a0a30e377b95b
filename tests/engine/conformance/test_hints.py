"""Whoever pulls finds what is ready by the topic's hint, and by its own looks, on every kind of server."""

from __future__ import annotations

import pytest

from rmq_core import PriorityMessage
from rmq_core.ops import hints
from rmq_core.ops.consuming import Consumer
from rmq_core.protocol.scripts import on_slot
from tests.engine.conformance.bench import Bench


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
    await bench.run(on_slot("look", bench.q.keyspace, topic, 0))  # is known again, unlike what is to come
    await bench.q.nack(held)
    taken = await bench.q.run(other.take(1))
    assert [(delivery.text, delivery.attempt) for delivery in taken.deliveries] == [("a", 2)]
