"""Permits (`concurrency`) go to what comes first in the topic, and to slots with equals in turn, whoever had them."""

from __future__ import annotations

from collections import Counter
from itertools import count
from random import Random
from typing import Any

import pytest

from rmq_core import RMQ, Delivery, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.protocol.keys import slot_for
from tests.engine.clock import ClockedRedis

SLOTS, PAUSE_MS = 4, 10
BASES = {slot_for(name.encode(), SLOTS): name for name in map(str, range(SLOTS * 20))}
LIMITS: list[dict[str, Any]] = [{}, {"rate_limit": 1_000_000}, {"key_concurrency": 100}]
numbers = count()


def send(rmq: RMQ, slot: int, priority: int, n: int = 1) -> None:
    made = [PriorityMessage(f"m{next(numbers)}", priority, slot_basis=BASES[slot]) for _ in range(n)]
    rmq.send_many("work", made)


@pytest.mark.parametrize("limits", LIMITS, ids=["alone", "with a rate", "with a limit of keys"])
@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (3, 3), (3, 10), (3, 1)])
def test_the_highest_have_the_permits(
    clocked: RMQ, clock: ClockedRedis, limits: dict[str, Any], concurrency: int, most: int
) -> None:
    clocked.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS, concurrency=concurrency, **limits))
    send(clocked, 0, 100, 20)
    taken = clocked.take("work", concurrency)
    assert len(taken) == concurrency  # all permits lie in that slot
    for high in range(500, 503):
        clocked.ack(taken)
        send(clocked, 1, high, 2)
        clock.move(PAUSE_MS)
        taken = clocked.take("work", most)
        assert [each.priority for each in taken] == [high, high, 100][: min(most, concurrency)]
        if len(taken) < 2:
            clocked.ack(taken)
            clock.move(PAUSE_MS)
            taken = clocked.take("work")
            assert [each.priority for each in taken] == [high]


@pytest.mark.parametrize("most", [1, 3])
def test_equals_have_them_in_turn(clocked: RMQ, clock: ClockedRedis, most: int) -> None:
    clocked.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS, concurrency=most))
    served: Counter[int] = Counter()
    for slot in range(SLOTS):
        send(clocked, slot, 500, 20)
    for _ in range(24 // most):
        taken = clocked.take("work", most)
        assert len(taken) == most
        served.update(each.slot for each in taken)
        clocked.ack(taken)
        clock.move(PAUSE_MS)
    assert set(served.values()) == {24 // SLOTS}, served


def test_those_due_the_longest_have_them(clocked: RMQ, clock: ClockedRedis) -> None:
    clocked.define(Topic("work", TopicKind.FIXED_TIME, slots=SLOTS, concurrency=1))
    due_ms = clock.now_ms
    clocked.send_many("work", [FixedTimeMessage(f"{n}", due_ms + n, slot_basis=BASES[n % 3]) for n in range(12)])
    clock.move(1_000)
    for n in range(12):
        (taken,) = clocked.take("work", 5)
        assert taken.text == f"{n}"
        clocked.ack(taken)
        clock.move(PAUSE_MS)


@pytest.mark.parametrize("most", [1, 3])
def test_what_gets_none_leaves_others_theirs(clocked: RMQ, clock: ClockedRedis, most: int) -> None:
    """It waits for a turn of its slot, and is next."""
    clocked.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS, concurrency=2))
    send(clocked, 0, 100, 4)
    (held,) = clocked.take("work")
    send(clocked, 1, 500)
    clock.move(PAUSE_MS)
    (high,) = clocked.take("work")
    assert high.priority == 500
    assert clocked.take("work", most) == []
    clocked.ack(high)
    clock.move(PAUSE_MS)
    (low,) = clocked.take("work", most)
    assert low.priority == 100
    clocked.ack([held, low])


@pytest.mark.parametrize("most", [1, 5])
def test_the_rate_counts_what_permits_let_through(clocked: RMQ, clock: ClockedRedis, most: int) -> None:
    clocked.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS, concurrency=5, rate_limit=5))
    for slot in range(SLOTS):
        send(clocked, slot, 500, 10)
    came = 0
    for _ in range(100):
        taken = clocked.take("work", most)
        came += len(taken)
        clocked.ack(taken)
        clock.move(PAUSE_MS)
    assert 5 <= came <= 10


@pytest.mark.parametrize("concurrency", [3, 20])
@pytest.mark.parametrize("pause_ms", [20, 40, 110])
def test_one_by_one_the_highest_comes_first_whenever_it_was_sent(
    clocked: RMQ, clock: ClockedRedis, concurrency: int, pause_ms: int
) -> None:
    clocked.define(
        Topic("work", TopicKind.PRIORITY, slots=SLOTS, concurrency=concurrency, visibility_timeout_ms=600_000)
    )
    chance, waiting, held = Random(1), dict[str, int](), list[Delivery]()
    for n in range(120):
        for part in range(chance.choice([0, 1, 1, 2])):
            name, priority = f"m{n}-{part}", chance.randint(20, 1_000)
            basis = BASES[chance.randrange(SLOTS)]
            clocked.send("work", PriorityMessage(name, priority, slot_basis=basis))
            waiting[name] = priority
        clock.move(pause_ms)
        if held and chance.random() < 0.7:
            clocked.ack(held.pop(chance.randrange(len(held))))
        clock.move(pause_ms)
        taken = clocked.take("work")
        assert taken or len(held) == concurrency or not waiting, "a permit is free"
        if taken:
            assert waiting.pop(taken[0].text) >= max(waiting.values(), default=0)
            held += taken
