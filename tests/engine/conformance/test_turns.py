"""Whoever pulls serves slots with equals in turn, and what was retried though others have fresh ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count

import pytest

from rmq_core import Delivery, PriorityMessage
from rmq_core.ops import hints
from rmq_core.protocol.keys import slot_for
from tests.engine.conformance.bench import Bench
from tests.engine.conformance.conftest import few_servers


class Slots:
    """Messages for slots of one's choice; each is new."""

    def __init__(self, bench: Bench, slots: int) -> None:
        self._bench = bench
        self._bases = {slot_for(name.encode(), slots): name for name in map(str, range(slots * 20))}
        self._numbers = count()

    async def send(self, slots: Sequence[int], priority: int = 500) -> None:
        """One to each slot that is named, as often as it is."""
        made = [PriorityMessage(f"m{next(self._numbers)}", priority, slot_basis=self._bases[slot]) for slot in slots]
        await self._bench.q.send_many("work", made)

    async def fail(self, slots: Sequence[int]) -> None:
        """So many that have failed once and are due again. Nothing else may wait."""
        await self.send(slots)
        taken: list[Delivery] = []
        while len(taken) < len(slots):
            taken += await self._bench.q.take("work", len(slots) - len(taken))
        await self._bench.q.nack(taken)


@pytest.fixture(autouse=True)
def the_hint_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "LOOK_EVERY_S", 3_600.0)


@pytest.mark.parametrize("most", [1, 4])
async def test_no_slot_waits_while_equals_come_to_others(bench: Bench, most: int) -> None:
    await bench.topic(slots=4)
    slots = Slots(bench, 4)
    # The running numbers of these two are far ahead of the others'.
    await slots.send([1, 2] * 100)
    await bench.drain()
    await slots.send([1, 2] + [0, 3] * 10)
    served: Counter[int] = Counter()
    for _ in range(4):
        taken = await bench.q.take("work", most)
        served.update(delivery.slot for delivery in taken)
        await slots.send([delivery.slot for delivery in taken if delivery.slot in (0, 3)])
        await bench.q.ack(taken)
    assert served[1] == served[2] == 1
    assert abs(served[0] - served[3]) <= 1
    await bench.drain()


async def test_of_very_many_slots_none_waits_for_ever(bench: Bench) -> None:
    await bench.topic(slots=64)
    slots = Slots(bench, 64)
    assert await bench.q.take("work") == []  # it has looked at every slot, and will not again
    await slots.send(range(64))
    served: set[int] = set()
    for _ in range(1_000):
        (taken,) = await bench.q.take("work")
        served.add(taken.slot)
        if len(served) == 64:
            break
        await slots.send([taken.slot])
        await bench.q.ack(taken)
    assert len(served) == 64
    await bench.drain()


@pytest.mark.parametrize("slots", [4, 64])
@pytest.mark.parametrize("most", [1, 10])
async def test_retried_ones_have_a_tenth_beside_fresh_ones_of_other_slots(bench: Bench, most: int, slots: int) -> None:
    await bench.topic(slots=slots)
    made = Slots(bench, slots)
    await made.fail([1] * 15)
    fresh = [slot for slot in range(slots) if slot != 1]
    await made.send(fresh * (126 // len(fresh)))
    attempts: Counter[int] = Counter()
    while attempts.total() < 100:
        taken = await bench.q.take("work", most)
        attempts.update(delivery.attempt for delivery in taken)
        await bench.q.ack(taken)
    assert 8 <= attempts[2] <= 12, attempts
    await bench.drain()


@few_servers
async def test_sixteen_slots_of_each_take_turns_strictly(bench: Bench) -> None:
    await bench.topic(slots=32)
    assert await bench.q.take("work") == []  # it has looked at every slot, and will not again
    made = Slots(bench, 32)
    await made.fail([*range(16)] * 2)
    await made.send(range(16, 32))
    turns: dict[int, list[int]] = {1: [], 2: []}
    while len(turns[2]) < 16:
        (taken,) = await bench.q.take("work")
        turns[taken.attempt].append(taken.slot)
        if taken.attempt == 1:
            await made.send([taken.slot])
        await bench.q.ack(taken)
    assert len(set(turns[2])) == 16
    assert turns[1][16:] == turns[1][:-16]
    await bench.drain()


@pytest.mark.parametrize("most", [1, 10])
async def test_the_turn_of_a_retried_one_is_nobody_elses(bench: Bench, most: int) -> None:
    """A low one that came to its slot meanwhile still waits for the high ones."""
    topic = await bench.topic(slots=4)
    made = Slots(bench, 4)
    await made.fail([1])
    await made.send([0, 2, 3] * 20)
    (first,) = await bench.q.take("work")
    await bench.q.ack(first)
    await made.send([1], priority=17)
    bench.raw.zadd(bench.q.keyspace.hints(topic.name)[0], {"1": 16})  # as one saw it before
    priorities: list[int] = []
    while len(priorities) < 50:
        taken = await bench.q.take("work", most)
        priorities += [delivery.priority for delivery in taken if delivery.attempt == 1]
        await bench.q.ack(taken)
    assert set(priorities) == {500}
    await bench.drain()
