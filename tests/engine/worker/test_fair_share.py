"""Turns are shared by weight, and a topic whose listener fails or slows down has fewer of them."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from rmq_core import Delivery, Listener
from rmq_core.errors import ConfigurationError
from rmq_core.model.views import Turns
from rmq_core.worker.fair_share import FairShare, Gate
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

CAPACITY = 20


@pytest.fixture
def gate() -> Gate:
    share = FairShare(CAPACITY)
    share.join("other", 1)
    return share.join("work", 1)


async def at_once(gate: Gate) -> int:
    """How many turns a topic that wants every one gets."""
    before = gate.running
    waiting = [asyncio.create_task(gate.acquire()) for _ in range(2 * CAPACITY)]
    for _ in range(3):
        await asyncio.sleep(0)
    got = gate.running
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    while gate.running > before:
        gate.release()
    return got


async def test_a_topic_that_does_well_gets_all_but_the_one_that_stays_free(gate: Gate) -> None:
    for _ in range(10):
        gate.adapt(succeeded=10, failed=0, message_ms=1)
    assert await at_once(gate) == CAPACITY - 1


async def test_failures_take_turns_away_quickly_and_leave_one(gate: Gate) -> None:
    turns = []
    for _ in range(12):
        gate.adapt(succeeded=1, failed=9, message_ms=1)
        turns.append(await at_once(gate))
    assert turns[:5] == [14, 9, 6, 4, 3]  # x0.7 each time
    assert turns[-1] == 1


async def test_some_failures_among_successes_take_nothing(gate: Gate) -> None:
    for _ in range(10):
        gate.adapt(succeeded=5, failed=5, message_ms=1)
    assert await at_once(gate) == CAPACITY - 1


async def test_it_wins_them_back_one_by_one(gate: Gate) -> None:
    for _ in range(12):
        gate.adapt(succeeded=0, failed=10, message_ms=1)
    turns = [await at_once(gate)]
    while turns[-1] < CAPACITY - 1:
        gate.adapt(succeeded=10, failed=0, message_ms=1)
        turns.append(await at_once(gate))
    assert {after - before for before, after in itertools.pairwise(turns)} == {0, 1}
    # One more after about as many good batches as there are turns: slower the more there are.
    assert len(turns) > CAPACITY * 5


async def test_slowing_down_beside_others_of_its_own_takes_turns_away(gate: Gate) -> None:
    for _ in range(10):
        gate.adapt(succeeded=10, failed=0, message_ms=1)
    await gate.acquire()
    await gate.acquire()
    for _ in range(30):
        gate.adapt(succeeded=10, failed=0, message_ms=50)
    assert gate.limit < 5


async def test_alone_it_is_not_punished_for_being_slow(gate: Gate) -> None:
    await gate.acquire()
    for ms in (1, 50, 50, 50, 50):
        gate.adapt(succeeded=10, failed=0, message_ms=ms)
    assert gate.limit == CAPACITY


async def test_what_became_slow_for_good_is_forgiven(gate: Gate) -> None:
    await gate.acquire()
    await gate.acquire()
    gate.adapt(succeeded=10, failed=0, message_ms=1)
    for _ in range(2_000):
        gate.adapt(succeeded=10, failed=0, message_ms=20)
    assert gate.limit > CAPACITY - 1


async def test_turns_go_by_weight() -> None:
    share = FairShare(12)
    gates = {name: share.join(name, weight) for name, weight in (("heavy", 3), ("light", 1))}
    waiting = [asyncio.create_task(gate.acquire()) for gate in gates.values() for _ in range(20)]
    for _ in range(3):
        await asyncio.sleep(0)
    assert gates["heavy"].running == 11  # it came first, and one stays free for the other
    for _ in range(6):
        gates["heavy"].release()
    assert {name: gate.running for name, gate in gates.items()} == {"heavy": 9, "light": 3}
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def test_who_has_turns_of_its_own_loses_none_and_gets_no_more() -> None:
    share = FairShare(CAPACITY)
    share.join("other", 1)
    gate = share.join("work", 1, turns=4)
    for _ in range(50):
        gate.adapt(succeeded=0, failed=10, message_ms=50)
    assert (gate.most, gate.could) == (4, 4)
    for _ in range(50):
        gate.adapt(succeeded=10, failed=0, message_ms=1)
    assert (gate.most, gate.could) == (4, 4)


@pytest.mark.parametrize("turns", [0, 1_001, 2.0, True, "4"])
def test_turns_that_cannot_be(turns: Any) -> None:
    with pytest.raises(ConfigurationError, match="whole number from 1 to 1000"):
        Listener("work", print, turns=turns)


def told(bench: WorkerBench, topic: str) -> Turns:
    (worker,) = bench.inspector.workers()
    return worker.turns[topic]


async def test_a_topic_that_turns_slow_and_failing_leaves_the_others_nine_tenths(bench: WorkerBench) -> None:
    """Of the calls that begin while both have enough to do, once it was noticed. By their number, however slow the
    machine is: one of the slow ones takes as long as forty of the others."""
    bench.topic("bad", slots=16, max_retries=16, backoff_ms=0, backoff_max_ms=0)
    bench.topic("good", slots=16)
    bench.send(*(f"m{i}" for i in range(2_000)), topic="bad")
    bench.send(*(f"m{i}" for i in range(4_000)), topic="good")
    begun: Counter[str] = Counter()
    over = threading.Event()

    def slow(delivery: Delivery) -> None:
        begun["bad"] += 1
        until = begun["good"] + 40
        while begun["good"] < until and not over.wait(0.001):
            pass
        raise ValueError("always")

    def quick(delivery: Delivery) -> None:
        begun["good"] += 1
        time.sleep(0.002)

    async with bench.running(Listener("bad", slow), Listener("good", quick), threads=10) as worker:
        try:
            bad = worker._topics["bad"].work.gate
            await wait_until_async(lambda: bad.limit < 2, what="the failing topic to lose its turns")
            before = begun.copy()
            more = before["good"] + 400
            await wait_until_async(lambda: begun["good"] > more, timeout_s=60, what="the others to go on")
            since = begun - before
        finally:
            over.set()
        assert since["good"] >= 9 * since["bad"]


async def test_a_topic_that_turns_slow_in_the_middle_of_large_batches_loses_its_turns(bench: WorkerBench) -> None:
    """What it took while it was quick may last for minutes: it is judged by what has ended, and leaves its turns."""
    bench.topic("bad", slots=16, max_retries=16, backoff_ms=0, backoff_max_ms=0)
    bench.topic("good", slots=16)
    begun: Counter[str] = Counter()
    turned = threading.Event()

    def turns(delivery: Delivery) -> None:
        begun["bad"] += turned.is_set()
        if turned.is_set():
            time.sleep(0.1)
            raise ValueError("always")

    def quick(delivery: Delivery) -> None:
        begun["good"] += 1
        time.sleep(0.002)

    async with bench.running(Listener("bad", turns), Listener("good", quick), threads=10) as worker:
        work = worker._topics["bad"].work
        for sent in itertools.count(0, 10_000):
            if work._size >= 256:
                break
            bench.send(*(f"m{sent + i}" for i in range(10_000)), topic="bad")
            await wait_until_async(lambda least=sent + 5_000: work.done > least, timeout_s=60, what="the quick ones")
        bench.send(*(f"n{i}" for i in range(10_000)), topic="bad")
        turned.set()
        await wait_until_async(lambda: work.gate.limit < 2, timeout_s=60, what="the failing topic to lose its turns")
        assert begun["bad"] < 200, "less than one of its batches"
        bench.send(*(f"m{i}" for i in range(4_000)), topic="good")
        await wait_until_async(lambda: work.gate.running < 2, what="those that ran to leave")
        before = begun.copy()
        await wait_until_async(lambda: begun["good"] > before["good"] + 400, timeout_s=60, what="the others to go on")
        since = begun - before
        assert since["good"] >= 9 * since["bad"]


@pytest.fixture
def held() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def test_a_worker_gives_a_topic_that_fails_fewer_turns(bench: WorkerBench, held: threading.Event) -> None:
    """Every slot has something to fail at; after some batches of failures they no longer run side by side."""
    bench.topic("bad", slots=16, max_retries=16, backoff_ms=0, backoff_max_ms=0)
    bench.topic("good", slots=16)
    bench.send(*(f"m{i}" for i in range(400)), topic="bad")

    def fail(delivery: Delivery) -> None:
        raise ValueError("always")

    listeners = Listener("bad", fail), Listener("good", lambda delivery: held.wait(30))
    async with bench.running(*listeners, threads=10) as worker:
        bad, good = (worker._topics[name].work.gate for name in ("bad", "good"))
        await wait_until_async(lambda: bad.limit < 2, what="the failing topic to lose its turns")
        await wait_until_async(lambda: told(bench, "bad").most == 1, what="the worker to report it")
        assert (told(bench, "bad").could, told(bench, "good").most) == (9, 9)
        bench.send(*(f"m{i}" for i in range(400)), topic="good")
        await wait_until_async(lambda: good.running >= 8, what="the other to have them")
        held.set()
        await wait_until_async(lambda: bench.total("acked", "good") == 400, what="the good ones to be done")
        await wait_until_async(lambda: bench.total("died", "bad") == 400, timeout_s=60, what="the bad ones to die")
