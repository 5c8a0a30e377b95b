"""A topic's rate limit over a fleet: several worker processes and a client that takes by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rmq_core import Delivery, listener
from tests.engine.worker.bench import WorkerBench
from tests.engine.worker.rate_program import main
from tests.support.programs import Program
from tests.support.waiting import wait_until, wait_until_async

BURST_S = 0.025


@contextmanager
def fleet(bench: WorkerBench, *names: str) -> Iterator[list[Program]]:
    options = [{"url": bench.url, "namespace": bench.namespace, "name": name} for name in names]
    started = [Program(main, about) for about in options]
    try:
        workers = f"{bench.namespace}:workers"
        wait_until(lambda: bench.raw.hlen(workers) == len(names), timeout_s=30, what="the workers to start")
        yield started
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(60)


class Watch:
    """What was taken by when, on the server's clock: however the look is delayed, it counts no more than was taken."""

    def __init__(self, bench: WorkerBench) -> None:
        self.bench = bench
        self.began_ms = bench.inspector.now_ms()
        self.before = bench.total("taken")

    def taken(self) -> int:
        return self.bench.total("taken") - self.before

    def may_have(self, limit: int) -> float:
        return (
            (self.bench.inspector.now_ms() - self.began_ms) * limit / 1000 + max(1, limit * BURST_S) + limit * BURST_S
        )


@pytest.mark.parametrize("limit", [40, 1_000])
def test_several_processes_together_take_the_limit_and_no_more(bench: WorkerBench, limit: int) -> None:
    topic = bench.topic(slots=8, rate_limit=limit, paused=True)
    with fleet(bench, "one", "two", "three"):
        bench.send(*(f"m{i}" for i in range(limit * 3)))
        watch = Watch(bench)
        bench.control.resume(topic.name)

        def drained() -> bool:
            taken = watch.taken()
            assert taken <= watch.may_have(limit)
            return taken == limit * 3

        wait_until(drained, timeout_s=60, what="the backlog to be taken at its rate")


def test_another_limit_is_followed_while_running(bench: WorkerBench) -> None:
    bench.topic(slots=4, rate_limit=1)
    with fleet(bench, "one", "two"):
        bench.send(*(f"m{i}" for i in range(500)))
        wait_until(lambda: bench.total("taken") > 0, what="the first to be taken")
        bench.edit(bench.rmq.run(_read(bench)), rate_limit=0)
        # At one per second this would take eight minutes.
        wait_until(lambda: bench.total("acked") == 500, timeout_s=30, what="all to be taken")


def _read(bench: WorkerBench) -> object:
    from rmq_core.queries import definitions

    return definitions.read(bench.rmq.keyspace, "work")


def test_a_worker_that_dies_with_a_grant_costs_no_more(bench: WorkerBench) -> None:
    limit = 100
    topic = bench.topic(slots=4, rate_limit=limit, visibility_timeout_ms=500, paused=True)
    with fleet(bench, "one", "two") as (one, _):
        bench.send(*(f"m{i}" for i in range(200)))
        watch = Watch(bench)
        bench.control.resume(topic.name)
        wait_until(lambda: watch.taken() > 10, what="some to be taken")
        one.kill()
        one.wait()

        def drained() -> bool:
            assert watch.taken() <= watch.may_have(limit)
            return bench.total("acked") == 200

        wait_until(drained, timeout_s=30, what="the other worker to go on at the rate")


def test_taking_by_hand_keeps_to_it_too(bench: WorkerBench) -> None:
    bench.topic(slots=4, rate_limit=20)
    bench.send(*(f"m{i}" for i in range(30)))
    watch = Watch(bench)
    taken = 0
    while taken < 30:
        some = bench.rmq.take("work", 100, timeout_ms=5_000)
        assert some
        taken += len(some)
        assert watch.taken() == taken <= watch.may_have(20)
        bench.rmq.ack(some)


def test_a_take_that_finds_nothing_uses_up_nothing(bench: WorkerBench) -> None:
    bench.topic(slots=4, rate_limit=1)
    for _ in range(20):
        assert bench.rmq.take("work", 10) == []
    bench.send("a")
    assert [delivery.text for delivery in bench.rmq.take("work", 10)] == ["a"]


async def test_a_slow_topic_does_not_hold_up_its_neighbour(bench: WorkerBench) -> None:
    bench.topic("slow", slots=8, rate_limit=1)
    bench.topic("quick", slots=8)
    seen: list[str] = []

    @listener("slow")
    def slow(delivery: Delivery) -> None:
        seen.append(delivery.topic)

    @listener("quick")
    def quick(delivery: Delivery) -> None:
        seen.append(delivery.topic)

    async with bench.running(slow, quick, threads=2):
        bench.send(*(f"m{i}" for i in range(50)), topic="slow")
        await wait_until_async(lambda: "slow" in seen, what="the first of the slow")
        bench.send(*(f"m{i}" for i in range(200)), topic="quick")
        await wait_until_async(lambda: seen.count("quick") == 200, timeout_s=30, what="all of the quick")
    assert seen.count("slow") < 50
