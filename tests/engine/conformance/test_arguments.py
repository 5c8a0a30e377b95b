"""One message or many, a topic or its name; what is neither is named, and nothing happens."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rmq_core import MessageRef, PriorityMessage, TopicKind
from rmq_core.errors import InvalidMessage, RMQError
from rmq_core.protocol.scripts import Call, one, script
from tests.engine.conformance.bench import Bench
from tests.engine.conformance.conftest import clients_alone

ONE_OR_MANY = ("cancel", "run_now", "requeue", "drop", "restore")


@pytest.mark.parametrize("ident", ["12", b"12"])
async def test_an_id_is_one_message_and_not_its_letters(bench: Bench, ident: str | bytes) -> None:
    await bench.topic()
    for name in ("1", "2", "12"):
        await bench.q.send("work", PriorityMessage(name, 20))
    assert [(each.ref.id, each.status) for each in await bench.control.cancel("work", ident)] == [("12", "done")]
    assert sorted(each.text for each in await bench.drain()) == ["1", "2"]


async def test_every_action_takes_one_of_each(bench: Bench) -> None:
    topic = await bench.topic(slots=4)
    sent = await bench.q.send(topic, PriorityMessage("a", 20, slot_basis="elsewhere", headers={"x": "y"}))
    assert [each.status for each in await bench.control.cancel(topic, sent)] == ["done"]
    assert [each.status for each in await bench.control.restore(topic, MessageRef(sent.slot, sent.id))] == ["done"]
    (delivery,) = await bench.q.take(topic, timeout_ms=5_000)
    assert [each.status for each in await bench.control.cancel(topic, delivery)] == ["in_flight"]
    assert await bench.q.reject(delivery) == ["done"]
    assert [each.status for each in await bench.control.requeue(topic, delivery)] == ["done"]
    assert [each.status for each in await bench.control.reschedule(topic, sent, priority=30)] == ["done"]
    assert (await bench.control.cancel(topic, [sent, delivery, "a"]))[0].status == "done"


@clients_alone
@pytest.mark.parametrize("wrong", [None, 12, 1.5, PriorityMessage("a", 20), [None], [["a"]], [12], {1: 2}], ids=repr)
async def test_what_names_no_message_is_refused(bench: Bench, wrong: Any) -> None:
    await bench.topic()
    for action in ONE_OR_MANY:
        with pytest.raises(InvalidMessage, match="a message is named by"):
            await getattr(bench.control, action)("work", wrong)


async def test_a_topic_is_taken_for_its_name(bench: Bench) -> None:
    topic = await bench.topic()
    await bench.q.send(topic, PriorityMessage("a", 20))
    assert await bench.q.send_many(topic, [PriorityMessage("b", 20)]) == (1, 0)
    assert len(await bench.q.take(topic, 10, timeout_ms=5_000)) == 2
    assert (await bench.control.pause(topic)).paused
    assert not (await bench.control.resume(topic)).paused
    assert (await bench.q.topic(topic)).name == topic.name
    other = await bench.topic(name="other")
    assert await bench.control.delete_topic(other) == 0


@clients_alone
@pytest.mark.parametrize("wrong", [None, 12, b"work", ["work"], TopicKind], ids=repr)
async def test_what_is_no_topic_is_refused(bench: Bench, wrong: Any) -> None:
    for call in (
        bench.q.send(wrong, PriorityMessage("a", 20)),
        bench.q.send_many(wrong, [PriorityMessage("a", 20)]),
        bench.q.take(wrong),
        bench.q.topic(wrong),
        bench.control.cancel(wrong, "a"),
        bench.control.pause(wrong),
        bench.control.delete_topic(wrong),
    ):
        with pytest.raises(InvalidMessage, match="a topic is given as its name"):
            await call


@clients_alone
@pytest.mark.parametrize("wrong", [None, 12, "text", b"bytes", ("a", 20)], ids=repr)
async def test_what_is_no_message_is_refused(bench: Bench, wrong: Any) -> None:
    await bench.topic()
    with pytest.raises(InvalidMessage):
        await bench.q.send("work", wrong)
    with pytest.raises(InvalidMessage):
        await bench.q.send_many("work", wrong)
    with pytest.raises(InvalidMessage):
        await bench.q.send_many("work", [wrong])
    assert await bench.q.take("work", 10) == []


@clients_alone
@pytest.mark.parametrize("wrong", [None, 12, "text", b"bytes", ["text"], [None]], ids=repr)
async def test_what_is_no_delivery_is_refused(bench: Bench, wrong: Any) -> None:
    await bench.topic()
    for action in ("ack", "nack", "reject", "release", "extend"):
        with pytest.raises(InvalidMessage, match="a delivery is settled by"):
            await getattr(bench.q, action)(wrong)


@clients_alone
@pytest.mark.parametrize(("most", "timeout"), [(None, 0), ("1", 0), (0, 0), (1, None), (1, "5"), (1, -1), (1, 1.5)])
async def test_how_many_and_how_long_are_numbers(bench: Bench, most: Any, timeout: Any) -> None:
    await bench.topic()
    with pytest.raises(RMQError, match="must be"):
        await bench.q.take("work", most, timeout_ms=timeout)


async def test_one_bad_argument_fails_nobody_else(bench: Bench) -> None:
    """An asyncio client sends what several ask for in one go."""
    topic = await bench.topic()
    bad = Call(script("next_due"), [bench.q.keyspace.slot(topic.name, 0).store], [object()])
    results = await asyncio.gather(
        bench.q.send("work", PriorityMessage("a", 20)),
        bench.q.run(one(bad, lambda reply: reply)),
        bench.q.send("work", PriorityMessage("b", 20)),
        return_exceptions=True,
    )
    assert [type(each).__name__ for each in results] == ["Sent", results[1].__class__.__name__, "Sent"]
    assert isinstance(results[1], Exception)
