"""How a slot waits: by the server's clock, whatever the delay of its replies, and for one future at a time."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmq_core import FixedTimeMessage, Listener, TopicKind
from rmq_core.worker.server_clock import KNOWN_FOR_S, STEP_US, ServerClock
from rmq_core.worker.waiting import done_within
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

AHEAD_US = 7_000_000_000
"""Of the server's clock, of this process's."""


@given(st.lists(st.tuples(st.integers(1, 2_000_000), st.integers(0, STEP_US - 1)), min_size=1))
def test_a_reply_is_at_least_as_old_as_the_clock_says_and_no_older_than_it_is(
    replies: list[tuple[int, int]],
) -> None:
    clock = ServerClock()
    now_us, least_us = 0, None
    for apart_us, late_us in replies:
        now_us += apart_us
        age_us = clock.age_us(AHEAD_US + now_us - late_us, now_us / 1_000_000)
        assert 0 <= age_us <= late_us + 10  # what floats may lose
        least_us = late_us if least_us is None else min(least_us, late_us)
        if now_us < KNOWN_FOR_S * 1_000_000:
            assert age_us >= late_us - least_us - 10


def test_a_clock_that_was_set_back_is_believed_at_once_and_one_that_drifted_in_time() -> None:
    clock = ServerClock()
    clock.age_us(AHEAD_US, 0.0)
    assert clock.age_us(AHEAD_US + 1_000_000 - 2 * STEP_US, 1.0) == 0
    assert clock.age_us(AHEAD_US + 2_000_000 - 2 * STEP_US, 2.0) == 0
    slow = STEP_US // 2
    assert clock.age_us(AHEAD_US + 3_000_000 - 2 * STEP_US - slow, 3.0) == pytest.approx(slow)
    for second in range(4, 20):
        age_us = clock.age_us(AHEAD_US + second * 1_000_000 - 2 * STEP_US - slow, second)
    assert age_us == 0


async def test_waiting_for_a_future() -> None:
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    assert not await done_within(future, 0.001)
    assert not future.cancelled()
    loop.call_soon(future.set_result, None)
    assert await done_within(future, 30)
    assert await done_within(future)


async def test_who_gives_up_waiting_leaves_the_future_to_the_others() -> None:
    future = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(done_within(future))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not future.done()
    assert not future._callbacks


async def test_what_is_done_is_settled_by_the_take_that_is_due_next(bench: WorkerBench) -> None:
    bench.topic(kind=TopicKind.FIXED_TIME)
    begins_ms = bench.inspector.now_ms() + 500
    messages = [FixedTimeMessage(f"m{number:03}", begins_ms + 10 * number) for number in range(200)]
    bench.rmq.send_many("work", messages)
    seen: list[str] = []
    async with bench.running(Listener("work", lambda delivery: seen.append(delivery.text))):
        before = calls(bench)
        await wait_until_async(lambda: bench.total("acked") == 200, what="all to be settled")
        asked = calls(bench) - before
    assert seen == [str(message.content) for message in messages]
    assert asked < 300  # two for each, were it settled by itself


def calls(bench: WorkerBench) -> int:
    return sum(stats["calls"] for name, stats in bench.raw.info("commandstats").items() if name == "cmdstat_evalsha")


async def test_what_waits_to_be_settled_is_settled_when_the_worker_stops(bench: WorkerBench) -> None:
    bench.topic(kind=TopicKind.FIXED_TIME)
    now_ms = bench.inspector.now_ms()
    bench.rmq.send_many("work", [FixedTimeMessage(f"m{number:03}", now_ms + 20 * number) for number in range(100)])
    seen: list[str] = []
    async with bench.running(Listener("work", lambda delivery: seen.append(delivery.text))):
        await wait_until_async(lambda: len(seen) >= 5, what="some calls")
    assert bench.total("acked") == len(seen)
