"""Once a slot has an owner, only that owner takes and settles; operators and the reaper go on."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import PriorityMessage, Topic, errors
from rmq_core.protocol.slot_calls import acquire, epoch_text, reap
from rmq_core.protocol.takes import Ack, cycle, extend, read_cycle, settle
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import scripts_alone

pytestmark = scripts_alone

OLD, NEW = 7, 12_345_678_901


async def acquired(bench: Bench, epoch: int = NEW) -> Topic:
    """A topic of one slot with two messages, of which one is in flight, acquired afterwards."""
    topic = await bench.topic(visibility_timeout_ms=100)
    await bench.q.send_many("work", [PriorityMessage("a", 50), PriorityMessage("b", 20)])
    await bench.run(acquire(bench.q.keyspace, topic, 0, epoch))
    return topic


async def test_an_acquisition_returns_the_epoch_before_and_never_goes_back(bench: Bench) -> None:
    topic = await bench.topic()
    keyspace = bench.q.keyspace
    assert await bench.run(acquire(keyspace, topic, 0, OLD)) == b""
    assert await bench.run(acquire(keyspace, topic, 0, NEW)) == epoch_text(OLD).encode()
    assert await bench.run(acquire(keyspace, topic, 0, NEW)) == epoch_text(NEW).encode()
    with pytest.raises(errors.EpochTooLow, match=f"acquired with epoch {epoch_text(NEW)}"):
        await bench.run(acquire(keyspace, topic, 0, OLD))


async def test_whoever_is_not_the_owner_takes_nothing(bench: Bench) -> None:
    await acquired(bench)
    for timeout_ms in (0, 50):
        with pytest.raises(errors.Fenced, match=rf"owned by epoch {epoch_text(NEW)}.*control\.unfence"):
            await bench.q.take("work", timeout_ms=timeout_ms)
    assert bench.ledger().queues["prepare"] == {}


@pytest.mark.parametrize("late", ["ack", "nack", "reject", "release", "extend"])
async def test_what_was_taken_before_the_claim_is_not_settled_after_it(bench: Bench, late: str) -> None:
    topic = await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 50))
    delivery = await bench.take_one()
    await bench.run(acquire(bench.q.keyspace, topic, 0, NEW))
    before = bench.ledger()
    with pytest.raises(errors.Fenced):
        await getattr(bench.q, late)(delivery)
    assert bench.ledger() == before


async def test_the_owner_takes_and_settles(bench: Bench) -> None:
    topic = await acquired(bench)
    keyspace, mine = bench.q.keyspace, epoch_text(NEW)
    reply = await bench.run(cycle(keyspace, topic, 0, 1, epoch=mine))
    (first,) = read_cycle(topic, 0, reply).deliveries
    acks = [Ack(first.raw_id, first.receipt)]
    cycled = read_cycle(topic, 0, await bench.run(cycle(keyspace, topic, 0, 1, epoch=mine, acks=acks)))
    assert (first.text, cycled.statuses, [d.text for d in cycled.deliveries]) == ("a", [1], ["b"])
    second = cycled.deliveries[0]
    (receipt,) = await bench.run(
        extend(keyspace, topic, 0, [(second.raw_id, second.receipt)], FAR_MS, mine),
    )
    assert await bench.run(settle("ack", keyspace, topic, 0, [(second.raw_id, receipt)], mine)) == [1]
    assert bench.ledger().held == set()


async def test_an_owner_that_was_overtaken_is_fenced(bench: Bench) -> None:
    topic = await acquired(bench, OLD)
    keyspace = bench.q.keyspace
    reply = await bench.run(cycle(keyspace, topic, 0, 1, epoch=epoch_text(OLD)))
    (held,) = read_cycle(topic, 0, reply).deliveries
    await bench.run(acquire(keyspace, topic, 0, NEW))
    before = bench.ledger()
    acks = [Ack(held.raw_id, held.receipt)]
    calls: list[Any] = [
        cycle(keyspace, topic, 0, 1, epoch=epoch_text(OLD), acks=acks),
        settle("ack", keyspace, topic, 0, acks, epoch_text(OLD)),
        extend(keyspace, topic, 0, acks, None, epoch_text(OLD)),
    ]
    for call in calls:
        with pytest.raises(errors.Fenced):
            await bench.run(call)
    assert bench.ledger() == before


async def test_without_an_owner_an_epoch_is_refused(bench: Bench) -> None:
    topic = await bench.topic()
    with pytest.raises(errors.Fenced, match="epoch none"):
        await bench.run(cycle(bench.q.keyspace, topic, 0, 1, epoch=epoch_text(NEW)))


async def test_timeouts_and_operators_need_no_epoch(bench: Bench) -> None:
    topic = await acquired(bench)
    keyspace = bench.q.keyspace
    await bench.run(cycle(keyspace, topic, 0, 1, epoch=epoch_text(NEW)))

    async def timed_out() -> bool:
        _, _, expired, *_ = await bench.run(reap(keyspace, topic, 0))
        return bool(expired)

    await bench.until(timed_out, "the delivery to time out")
    assert bench.ledger().queues["prepare"] == {}
    results = await bench.control.reschedule("work", ["a"], priority=99)
    results += await bench.control.run_now("work", ["b"])
    results += await bench.control.cancel("work", ["a", "b"])
    assert {result.status for result in results} == {"done"}


async def test_unfence_hands_the_slots_back(bench: Bench) -> None:
    await acquired(bench)
    assert await bench.control.unfence("work") == 1
    assert await bench.control.unfence("work") == 0
    assert [d.text for d in await bench.drain()] == ["a", "b"]


async def test_the_inspector_sees_who_owns_a_slot(bench: Bench) -> None:
    topic = await bench.topic()
    seen = []
    for _ in range(3):
        (sample,) = await bench.inspector.sample()
        seen.append(sample.slots[0].epoch)
        if len(seen) == 1:
            await bench.run(acquire(bench.q.keyspace, topic, 0, NEW))
        else:
            await bench.control.unfence("work")
    assert seen == [None, epoch_text(NEW), None]


async def test_one_fenced_slot_does_not_lose_what_was_taken_from_others(bench: Bench) -> None:
    topic = await bench.topic(slots=8)
    await bench.q.send_many("work", [PriorityMessage(str(i), 20) for i in range(50)])
    for slot in range(4):
        await bench.run(acquire(bench.q.keyspace, topic, slot, NEW))
    returned = set()
    for _ in range(40):
        try:
            returned |= {d.id for d in await bench.q.take("work", 50)}
        except errors.Fenced:
            continue
    in_flight = {each for slot in range(8) for each in bench.ledger(slot=slot).queues["prepare"]}
    assert {each.encode() for each in returned} == in_flight
    await bench.control.unfence("work")
