"""A take is three round trips at most, whatever it meets, and brings what comes first in the topic all the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rmq_core import Delivery, PriorityMessage, Topic
from rmq_core.ops import hints
from rmq_core.ops.consuming import SPARES, Consumer
from rmq_core.protocol.keys import slot_for
from rmq_core.protocol.scripts import Call, Operation, Request
from tests.engine.conformance.bench import Bench

pytestmark = [
    pytest.mark.parametrize(
        "bench",
        [
            pytest.param(("sync", "redis"), id="redis"),
            pytest.param(("sync", "cluster"), id="cluster", marks=pytest.mark.cluster),
            pytest.param(("async", "cluster"), id="async-cluster", marks=pytest.mark.cluster),
        ],
        indirect=True,
    )
]

SLOTS = 32
TIMEOUT_MS = 100


class Trips:
    """Takes, counting what goes to the servers: all calls of a round trip are under way at once."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hints, "LOOK_EVERY_S", 3_600.0)
        self.bench = bench
        self.seen: list[Sequence[Request]] = []
        connection = bench.q.connection
        run = connection.run

        def counted(requests: Sequence[Request]) -> Any:
            # A definition is read once a second, and is no script.
            if any(type(each) is Call for each in requests):
                assert all(type(each) is Call for each in requests)
                self.seen.append(list(requests))
            return run(requests)

        monkeypatch.setattr(connection, "run", counted)

    async def take(self, most: int = 1) -> tuple[list[Delivery], int]:
        """What came, and in how many round trips."""
        self.seen.clear()
        deliveries = await self.bench.q.take("work", most)
        assert 1 <= len(self.seen) <= 3, [[each.script.name for each in trip] for trip in self.seen]
        return deliveries, len(self.seen)

    async def know_all(self) -> None:
        """The first take looks at every slot, and on Cluster tells the hints what it found."""
        assert (await self.take())[0] == []

    async def texts(self, most: int = 1) -> list[str]:
        """What came, done."""
        deliveries, _ = await self.take(most)
        await self.bench.q.ack(deliveries)
        return [delivery.text for delivery in deliveries]


@pytest.fixture
def trips(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Trips:
    return Trips(bench, monkeypatch)


async def in_slots(bench: Bench, priorities: Sequence[int], first_slot: int = 0) -> None:
    """One message in each of so many slots, named for its priority."""
    slots = {slot_for(f"b{n}".encode(), SLOTS): f"b{n}" for n in range(50 * SLOTS)}
    for slot, priority in enumerate(priorities, first_slot):
        await bench.q.send("work", PriorityMessage(str(priority), priority, slot_basis=slots[slot]))


def lie(bench: Bench, topic: Topic, slots: Sequence[int], priority: int = 5_000) -> None:
    """Hints that nothing stands behind."""
    heads = bench.q.keyspace.hints(topic.name)[0]
    bench.raw.zadd(heads, {str(slot): priority + slot for slot in slots})


async def test_the_best_of_the_topic(bench: Bench, trips: Trips) -> None:
    await bench.topic(slots=SLOTS)
    await trips.know_all()
    assert await trips.take() == ([], 1)  # what is empty is known by one look at the hints
    await in_slots(bench, range(100, 100 + SLOTS))
    found, count = await trips.take(1)
    assert ([delivery.text for delivery in found], count) == (["131"], 2)
    await bench.q.ack(found)
    assert await trips.texts(10) == [str(priority) for priority in range(130, 120, -1)]
    assert await trips.texts(1_000) == [str(priority) for priority in range(120, 99, -1)]


async def test_all_of_a_large_take_may_lie_in_one_slot(bench: Bench, trips: Trips) -> None:
    await bench.topic(slots=SLOTS)
    await trips.know_all()
    await in_slots(bench, range(100, 100 + SLOTS))
    await bench.q.send_many("work", [PriorityMessage(str(n), n, slot_basis="one") for n in range(500, 520)])
    assert await trips.texts(20) == [str(priority) for priority in range(519, 499, -1)]
    await bench.drain()


@pytest.mark.parametrize("most", [1, 5])
async def test_hints_that_nothing_stands_behind_cost_one_look(bench: Bench, trips: Trips, most: int) -> None:
    topic = await bench.topic(slots=SLOTS)
    await trips.know_all()
    await in_slots(bench, [100], first_slot=SLOTS - 1)
    lie(bench, topic, range(SPARES))
    assert await trips.texts(most) == ["100"]
    for _ in range(SPARES):
        await trips.take(most)
    assert (await trips.take(most))[1] <= 2  # they have been put right


@pytest.mark.parametrize("most", [1, 5])
async def test_who_meets_more_wrong_hints_than_it_looks_into_may_ask_again_at_once(
    bench: Bench, trips: Trips, most: int
) -> None:
    topic = await bench.topic(slots=SLOTS)
    consumer = Consumer(bench.q.keyspace, topic)
    assert (await bench.q.run(consumer.take(1))).deliveries == []
    await in_slots(bench, [100], first_slot=SLOTS - 1)
    lie(bench, topic, range(SLOTS - 1))
    trips.seen.clear()
    taken = await bench.q.run(consumer.take(most))
    assert (taken.deliveries, taken.next_due_ms, len(trips.seen)) == ([], taken.now_ms, 3)
    taken = await bench.q.run(consumer.take(most))
    assert ([delivery.text for delivery in taken.deliveries], len(trips.seen)) == (["100"], 6)
    await bench.q.ack(taken.deliveries)


@pytest.mark.parametrize("most", [1, 3])
async def test_what_waits_for_its_own_earlier_delivery_hides_nothing(bench: Bench, trips: Trips, most: int) -> None:
    await bench.topic(slots=SLOTS)
    higher = range(200, 200 + SPARES)
    await in_slots(bench, higher)
    held = await bench.q.take("work", len(higher))
    assert len(held) == len(higher)
    await in_slots(bench, higher)
    await in_slots(bench, [100], first_slot=SLOTS - 1)
    assert await trips.texts(most) == ["100"]
    assert await trips.texts(most) == []
    await bench.q.ack(held)
    await bench.drain()


async def test_who_is_outrun_may_ask_again_at_once(bench: Bench, trips: Trips) -> None:
    topic = await bench.topic(slots=SLOTS)
    await in_slots(bench, [300, 200, 100])
    slow = Consumer(bench.q.keyspace, topic).take(1)
    requests, count = next(slow), 0
    with pytest.raises(StopIteration) as done:
        while True:
            count += 1
            if count > 1:  # whatever it has seen is gone when it comes
                await bench.q.ack(await bench.q.take("work"))
            replies = await bench.q.run(_asked(requests))
            requests = slow.send(replies)
    assert count == 3
    assert (done.value.value.deliveries, done.value.value.next_due_ms) == ([], done.value.value.now_ms)
    assert await trips.texts() == ["100"]


def _asked(requests: Sequence[Request]) -> Operation[list[Any]]:
    return (yield requests)


async def test_a_rate_limit(bench: Bench, trips: Trips) -> None:
    await bench.topic(slots=SLOTS, rate_limit=100_000)
    await trips.know_all()
    await in_slots(bench, range(100, 110))
    assert await trips.texts(1) == ["109"]
    assert await trips.texts(3) == ["108", "107", "106"]
    assert sorted(await trips.texts(100)) == [str(priority) for priority in range(100, 106)]


async def test_a_rate_limit_that_is_used_up(bench: Bench, trips: Trips) -> None:
    await bench.topic(slots=SLOTS, rate_limit=1)
    await in_slots(bench, range(100, 110))
    assert await trips.texts(5) == ["109"]
    found, count = await trips.take(5)
    assert (found, count) == ([], 2)


async def test_what_the_rate_grants_for_nothing_is_used_by_the_next_take(bench: Bench, trips: Trips) -> None:
    topic = await bench.topic(slots=SLOTS, rate_limit=1)
    await trips.know_all()
    for _ in range(3):
        lie(bench, topic, range(3))
        assert await trips.texts() == []
    await in_slots(bench, [100])
    assert await trips.texts() == ["100"]  # else it would come a second later


@pytest.mark.parametrize("most", [1, 10])
async def test_what_was_in_flight_when_a_process_died(bench: Bench, trips: Trips, most: int) -> None:
    await bench.topic(slots=SLOTS, visibility_timeout_ms=TIMEOUT_MS)
    names = [str(priority) for priority in range(300, 306)]
    for part in range(3):  # two of each slot were taken together
        await bench.q.send_many(
            "work", [PriorityMessage(name, int(name), slot_basis=f"s{part}") for name in names[part::3]]
        )
    held = await bench.q.take("work", 100)
    assert len(held) == len(names)
    await in_slots(bench, range(400, 400 + SLOTS - 4))
    await bench.until(lambda: _past(bench, held[-1].taken_ms + TIMEOUT_MS), "the timeouts")
    came: list[str] = []
    while len(came) < len(names) + SLOTS - 4:
        found, _ = await trips.take(most)
        assert found, came
        suspects = [delivery for delivery in found if delivery.text in names]
        assert len(found) == 1 or not suspects
        assert [delivery.attempt for delivery in suspects] == [1] * len(suspects)
        came += [delivery.text for delivery in found]
        await bench.q.ack(found)
    assert came[-len(names) :] == names[::-1]
    assert await trips.texts(most) == []


async def _past(bench: Bench, at_ms: int) -> bool:
    return await bench.now_ms() > at_ms + 1


@pytest.mark.parametrize("most", [1, 10])
async def test_retries_that_are_due_in_many_slots_come_together(bench: Bench, trips: Trips, most: int) -> None:
    await bench.topic(slots=SLOTS, backoff_ms=1, backoff_max_ms=1)
    await in_slots(bench, range(100, 110))
    held = await bench.q.take("work", 10)
    await bench.q.nack(held)
    at_ms = await bench.now_ms()
    await bench.until(lambda: _past(bench, at_ms + 1), "the back-offs")
    came: list[str] = []
    takes = 0
    while len(came) < 10:
        came += await trips.texts(most)
        takes += 1
    assert takes == 10 // most


async def test_a_paused_topic(bench: Bench, trips: Trips) -> None:
    topic = await bench.topic(slots=SLOTS)
    await in_slots(bench, [100])
    paused = await bench.redefine(topic, paused=True)
    trips.seen.clear()
    taken = await bench.q.run(Consumer(bench.q.keyspace, paused).take(10))
    assert (taken.deliveries, len(trips.seen) <= 2) == ([], True)
