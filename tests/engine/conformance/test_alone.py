"""What is in flight together counts for nobody when it times out; what is taken alone counts for itself."""

from __future__ import annotations

import pytest

from rmq_core import FixedTimeMessage, PriorityMessage, TopicKind
from rmq_core.protocol.takes import cycle, extend, read_cycle
from tests.engine.conformance.bench import Bench
from tests.engine.conformance.conftest import scripts_alone

pytestmark = scripts_alone

TIMEOUT_MS = 100


async def timed_out(bench: Bench, times: int) -> None:
    """Waits until so many deliveries have been given up, as any consumer that looks would see to."""

    async def given_up() -> bool:
        topic = await bench.q.topic("work")
        await bench.run(cycle(bench.q.keyspace, topic, 0, 0))
        return bench.ledger().stats.get("expired", 0) >= times

    await bench.until(given_up, "deliveries to time out")


async def test_several_that_time_out_come_back_uncounted_to_their_places_and_alone(bench: Bench) -> None:
    await bench.topic(visibility_timeout_ms=TIMEOUT_MS, max_retries=1)
    names = ["m", "c", "x", "a"]
    await bench.q.send_many("work", [PriorityMessage(name, 50) for name in names])
    assert [delivery.text for delivery in await bench.q.take("work", 3)] == names[:3]
    await timed_out(bench, 3)
    assert set(bench.ledger().pools["suspect"]) == {name.encode() for name in names[:3]}
    for name in names[:3]:
        (delivery,) = await bench.q.take("work", 10)
        assert (delivery.text, delivery.attempt) == (name, 1)
        await bench.q.ack(delivery)
    assert [delivery.text for delivery in await bench.drain()] == names[3:]
    assert bench.ledger().pools["suspect"] == {}
    assert bench.ledger().origins == 0


async def test_one_that_times_out_alone_has_failed(bench: Bench) -> None:
    await bench.topic(visibility_timeout_ms=TIMEOUT_MS, max_retries=1)
    await bench.q.send_many("work", [PriorityMessage(name, 50) for name in "ab"])
    await bench.q.take("work", 2)
    await timed_out(bench, 2)
    attempts = []
    while not bench.ledger().queues["dead"]:
        (delivery,) = await bench.q.take("work", 2)
        if delivery.text == "a":
            attempts.append(delivery.attempt)
            await timed_out(bench, 2 + len(attempts))
        else:  # before or after the retry: a tenth of the takes are for what has failed
            assert await bench.q.ack(delivery) == ["done"]
    for delivery in await bench.q.take("work", 2):  # where all that has failed came before it
        assert await bench.q.ack(delivery) == ["done"]
    assert attempts == [1, 2]
    assert set(bench.ledger().queues["dead"]) == {b"a"}
    assert bench.ledger().stats["acked"] == 1


@pytest.mark.parametrize("alone", [False, True])
async def test_who_is_extended_keeps_company_unless_told_otherwise(bench: Bench, alone: bool) -> None:
    topic = await bench.topic(visibility_timeout_ms=TIMEOUT_MS)
    await bench.q.send_many("work", [PriorityMessage(name, 50) for name in "ab"])
    taken = read_cycle(topic, 0, await bench.run(cycle(bench.q.keyspace, topic, 0, 2))).deliveries
    receipts = [(delivery.raw_id, delivery.receipt) for delivery in taken]
    await bench.run(extend(bench.q.keyspace, topic, 0, receipts, None, alone=alone))
    await timed_out(bench, 2)
    assert bench.ledger().stats.get("retried", 0) == (2 if alone else 0)


async def test_the_places_of_old_takes_are_forgotten_while_one_delivery_stays(bench: Bench) -> None:
    topic = await bench.topic(TopicKind.PRIORITY)
    await bench.q.send_many("work", [PriorityMessage(f"{n:03}", 50) for n in range(200)])
    (stuck,) = read_cycle(topic, 0, await bench.run(cycle(bench.q.keyspace, topic, 0, 1))).deliveries
    most = 0
    for _ in range(99):
        await bench.q.ack(await bench.q.take("work", 2))
        most = max(most, bench.ledger().origins)
    assert 1 <= most <= 20
    assert await bench.q.release(stuck) == ["done"]
    assert [delivery.text for delivery in await bench.drain()] == ["000", "199"]


async def test_a_timed_message_returns_to_its_time(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME, visibility_timeout_ms=TIMEOUT_MS)
    now = await bench.now_ms()
    sent = {name: now - 1_000 + place // 2 for place, name in enumerate("dbca")}
    await bench.q.send_many("work", [FixedTimeMessage(name, due) for name, due in sent.items()], allow_past=True)
    assert len(await bench.q.take("work", 10)) == 4
    await timed_out(bench, 4)
    for name, due_ms in sent.items():
        (delivery,) = await bench.q.take("work", 10)
        assert (delivery.text, delivery.due_ms, delivery.attempt) == (name, due_ms, 1)
        await bench.q.ack(delivery)
