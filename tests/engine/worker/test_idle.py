"""Slots where nothing happens cost next to nothing, and still nothing that happens there is missed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from rmq_core import FixedTimeMessage, Listener, Topic, TopicKind
from rmq_core.worker import idle_slots, threads
from rmq_core.worker.idle_slots import IdleSlots
from rmq_core.worker.slot_runner import SlotRunner
from rmq_core.worker.threads import Threads
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

TOPICS, SLOTS = 200, 16
A_LOOK = -(-TOPICS * SLOTS // idle_slots.SLOTS_AT_ONCE)
OTHERS = 200
"""Commands of heartbeats, of reading definitions, and of the test, meanwhile."""


@pytest.fixture
async def looks(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[int]]:
    """What every look of a worker found."""
    found: list[int] = []
    once = IdleSlots.once

    async def counting(self: IdleSlots) -> int:
        found.append(await once(self))
        return found[-1]

    monkeypatch.setattr(IdleSlots, "once", counting)
    monkeypatch.setattr(idle_slots, "FALLBACK_S", 0.3)
    yield found


def commands(bench: WorkerBench) -> int:
    """Commands so far, those inside scripts too, without the worker's heartbeat."""
    return sum(
        stats["calls"]
        for name, stats in bench.raw.info("commandstats").items()
        if name in {"cmdstat_exists", "cmdstat_hvals", "cmdstat_zrangebyscore", "cmdstat_zrange", "cmdstat_zadd"}
    )


def all_commands(bench: WorkerBench) -> int:
    """Every command so far, of anybody."""
    return sum(stats["calls"] for stats in bench.raw.info("commandstats").values())


async def rounds(looks: list[int], count: int) -> None:
    until = len(looks) + count
    await wait_until_async(lambda: len(looks) >= until, what=f"{count} looks")


async def test_two_hundred_idle_topics_cost_next_to_nothing(
    bench: WorkerBench, looks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was 3,400 commands a second and 154 threads; a look is a second's worth."""
    monkeypatch.setattr(threads, "IDLE_S", 0.05)
    topics = [Topic(f"t{number}", TopicKind.PRIORITY, slots=SLOTS) for number in range(TOPICS)]
    seen: list[str] = []
    before = threading.active_count()
    async with bench.running(
        *(Listener(topic.name, lambda delivery: seen.append(delivery.topic), definition=topic) for topic in topics)
    ):
        for topic in topics:  # every one of them has been at work
            bench.send("m", topic=topic.name)
        await wait_until_async(lambda: len(seen) == len(topics), what="one of each")
        await wait_until_async(lambda: threading.active_count() - before <= 4, what="the threads to end")
        await rounds(looks, 4)  # what was taken from is looked at once more
        of_looks, of_all, looked = commands(bench), all_commands(bench), len(looks)
        await rounds(looks, 3)
        looked = len(looks) - looked + 1  # one may be on its way
        assert commands(bench) - of_looks <= looked * A_LOOK
        assert all_commands(bench) - of_all <= looked * A_LOOK + OTHERS
        assert threading.active_count() - before <= 4


async def test_slots_that_hold_what_is_not_due_are_not_read_again_and_again(
    bench: WorkerBench, looks: list[int]
) -> None:
    bench.topic("timed", TopicKind.FIXED_TIME, slots=SLOTS)
    due_ms = bench.inspector.now_ms() + 3_600_000
    bench.rmq.send_many("timed", [FixedTimeMessage(f"m{i}", due_ms) for i in range(200)])
    async with bench.running(Listener("timed", print)):
        await rounds(looks, 3)
        before, looked = commands(bench), len(looks)
        await rounds(looks, 3)
        # Their counters only.
        assert commands(bench) - before <= (len(looks) - looked + 1) * SLOTS


@pytest.mark.parametrize("held", [False, True], ids=["an empty slot", "a slot that holds something"])
async def test_what_nobody_was_told_of_is_found_by_the_next_look(
    bench: WorkerBench, looks: list[int], held: bool
) -> None:
    bench.topic("timed", TopicKind.FIXED_TIME)
    if held:
        bench.rmq.send("timed", FixedTimeMessage("later", bench.inspector.now_ms() + 3_600_000))
    seen: list[str] = []
    async with bench.running(Listener("timed", lambda delivery: seen.append(delivery.text))):
        await rounds(looks, 3)
        keys = bench.rmq.keyspace.slot("timed", 0)
        with bench.raw.pipeline() as both:  # a send whose notification got lost
            both.hincrby(keys.stats, "sent", 1).zadd(keys.store, {"unheard": bench.inspector.now_ms()}).execute()
        looked = len(looks)
        await wait_until_async(lambda: seen == ["unheard"], what="the message")
        assert sum(looks[looked - 1 :]) == 1  # that look woke the one runner


@pytest.mark.parametrize("how", ["a deleted group", "a spoiled key"])
async def test_a_slot_that_cannot_be_read_keeps_nobody_from_the_others(
    bench: WorkerBench, looks: list[int], how: str
) -> None:
    bench.topic("timed", TopicKind.FIXED_TIME)
    bench.topic("events", TopicKind.STREAM)
    group = bench.rmq.define_group("events", "g")
    stats = bench.rmq.keyspace.slot(group.name, 0).stats
    seen: list[str] = []
    by_name = Listener("events", print, group="g")
    async with bench.running(by_name, Listener("timed", lambda delivery: seen.append(delivery.text))):
        await rounds(looks, 3)
        if how == "a deleted group":
            bench.control.delete_topic(group, force=True)
        else:
            bench.raw.set(stats, "no counters")
        await rounds(looks, 3)
        keys = bench.rmq.keyspace.slot("timed", 0)
        with bench.raw.pipeline() as both:  # a send whose notification got lost
            both.hincrby(keys.stats, "sent", 1).zadd(keys.store, {"unheard": bench.inspector.now_ms()}).execute()
        await wait_until_async(lambda: seen == ["unheard"], what="the message")
    if how == "a spoiled key":
        bench.raw.delete(stats)


async def test_a_clock_that_jumps_ahead_makes_due_what_was_not(bench: WorkerBench, looks: list[int]) -> None:
    """The worker counts the time until a message is due by its own clock; the server's decides."""
    bench.topic("timed", TopicKind.FIXED_TIME)
    bench.rmq.send("timed", FixedTimeMessage("later", bench.inspector.now_ms() + 3_600_000))
    seen: list[str] = []
    async with bench.running(Listener("timed", lambda delivery: seen.append(delivery.text))) as worker:
        await wait_until_async(
            lambda: any((runner.sleep.until_ms or -1) > 0 for runner in _runners(worker)), what="the slot to sleep"
        )
        await rounds(looks, 2)
        # As if the server's clock had jumped by an hour: everything in the queue is an hour nearer.
        keys = bench.rmq.keyspace.slot("timed", 0)
        bench.raw.zincrby(keys.store, -3_600_000, "later")
        (runner,) = _runners(worker)
        assert runner.sleep.until_ms
        runner.sleep.until_ms -= 3_600_000
        await wait_until_async(lambda: seen == ["later"], what="the message")


def _runners(worker: object) -> list[SlotRunner]:
    topics = worker._topics.values()  # type: ignore[attr-defined]
    return [runner for topic in topics for runner, _ in topic._runners.values()]


async def test_a_paused_topic_with_a_backlog_is_left_alone(bench: WorkerBench, looks: list[int]) -> None:
    bench.topic(slots=4, paused=True)
    bench.send(*(f"m{i}" for i in range(50)))
    seen: list[str] = []
    async with bench.running(Listener("work", lambda delivery: seen.append(delivery.text))):
        await wait_until_async(lambda: sum(looks) == 4, what="each slot to be seen to hold something")
        await rounds(looks, 3)
        assert sum(looks) == 4
        bench.control.resume("work")
        await wait_until_async(lambda: len(seen) == 50, what="all of them")


async def test_after_a_new_subscription_everything_is_looked_at(bench: WorkerBench, looks: list[int]) -> None:
    bench.topic()
    async with bench.running(Listener("work", print)) as worker:
        await rounds(looks, 2)
        idle_slots.FALLBACK_S, before = 3_600.0, idle_slots.FALLBACK_S
        try:
            await rounds(looks, 1)  # the last of the old kind
            looked = len(looks)
            worker._idle_slots.soon()
            await wait_until_async(lambda: len(looks) == looked + 1, what="a look out of turn")
        finally:
            idle_slots.FALLBACK_S = before


async def test_threads_are_made_when_needed_used_again_and_end_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_S", 0.05)
    pool, used, loop = Threads(), set(), asyncio.get_running_loop()

    def listener_threads() -> int:
        return sum(thread.name.startswith("rmq-listener-") for thread in threading.enumerate())

    before = listener_threads()
    await asyncio.gather(*(pool.run(lambda: used.add(threading.get_ident()), loop) for _ in range(2)))
    for _ in range(20):
        await pool.run(lambda: used.add(threading.get_ident()), loop)
    assert len(used) <= 2
    barrier = threading.Barrier(5)
    await asyncio.gather(*(pool.run(barrier.wait, loop) for _ in range(5)))  # type: ignore[arg-type]
    await wait_until_async(lambda: listener_threads() == before, what="idle threads to end")
    await pool.run(lambda: used.add(0), loop)
    pool.close()
    await wait_until_async(lambda: listener_threads() == before, what="the last to end")
