"""Workers without ZooKeeper on a topic that limits what is in flight of it in the whole fleet."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from rmq_core import Delivery, Listener, PriorityMessage, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConfigurationError
from tests.engine.worker.bench import WorkerBench
from tests.engine.worker.concurrency_program import VISIBILITY_MS, main
from tests.engine.worker.program_fleet import three_programs
from tests.engine.worker.runs import Runs
from tests.support.programs import Program
from tests.support.waiting import wait_until, wait_until_async


def send(bench: WorkerBench, count: int) -> list[str]:
    names = [f"m{n:03}" for n in range(count)]
    bench.rmq.send_many("work", [PriorityMessage(name, 20) for name in names])
    return names


@pytest.mark.parametrize(("flavour", "limit"), [("plain", 1), ("plain", 3), ("batch", 4), ("coroutine", 3)])
async def test_never_more_than_may_be_in_a_whole_fleet(bench: WorkerBench, flavour: str, limit: int) -> None:
    bench.topic(slots=8, concurrency=limit)
    names, runs = send(bench, 60), Runs(in_all=limit)
    async with AsyncExitStack() as stack:
        for _ in range(3):
            listener = Listener("work", getattr(runs, flavour), batch=2 if flavour == "batch" else 1)
            await stack.enter_async_context(bench.running(listener, threads=8))
        await wait_until_async(lambda: bench.held() == 0, what="all to be done")
    assert sorted(runs.done) == sorted(names)
    assert runs.most == limit if flavour == "plain" else 0 < runs.most <= limit


async def test_one_permit_goes_round_all_slots(bench: WorkerBench) -> None:
    """However much a slot has, others do not wait for its end."""
    bench.topic(slots=2, concurrency=1)
    send(bench, 300)
    done: list[int] = []

    def work(delivery: Delivery) -> None:
        done.append(delivery.slot)

    def both() -> bool:
        return len(set(done)) == 2

    async with bench.running(Listener("work", work)):
        await wait_until_async(both, what="both slots to have had a turn")
        seen = len(done)
        await wait_until_async(lambda: bench.held() == 0, what="all to be done", timeout_s=60)
    assert seen < 250, "it did not wait for the end of the other slot"


async def test_a_limit_that_is_lifted_while_calls_run(bench: WorkerBench) -> None:
    topic = bench.topic(slots=8, concurrency=1)
    released, running = threading.Event(), threading.Semaphore(0)
    seen: list[str] = []

    def work(delivery: Delivery) -> None:
        seen.append(delivery.text)
        assert released.wait(10)
        running.release()

    send(bench, 20)
    async with bench.running(Listener("work", work), threads=4):
        await wait_until_async(lambda: len(seen) == 1, what="one to run")
        topic = bench.edit(topic, concurrency=3)
        await wait_until_async(lambda: len(seen) == 3, what="three to run")
        bench.edit(topic, concurrency=0)
        await wait_until_async(lambda: len(seen) == 4, what="all threads to run")
        released.set()
        await wait_until_async(lambda: bench.held() == 0, what="all to be done")


async def test_settled_before_the_call_nothing_would_be_bounded(bench: WorkerBench) -> None:
    topic = Topic("work", "priority", concurrency=1)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"\(concurrency\)"):
        Listener("work", print, topic, acks="none")


@pytest.fixture
def programs(redis_server: EmbeddedRedis, bench: WorkerBench) -> Iterator[list[Program]]:
    with three_programs(main, redis_server.url, bench, ["done", "peaks", "runs"]) as started:
        yield started


def test_the_permits_of_a_killed_worker_come_back(bench: WorkerBench, programs: list[Program]) -> None:
    bench.topic(slots=4, concurrency=2, visibility_timeout_ms=VISIBILITY_MS)
    names, done = set(send(bench, 120)), f"{bench.namespace}:done"
    for number, program in enumerate(programs[:2], 1):
        wait_until(lambda number=number: bench.raw.llen(done) >= 30 * number, what="some to be done")  # type: ignore[misc]
        program.kill()
    wait_until(lambda: bench.held() == 0, what="all to be done", timeout_s=30)
    assert {each.decode() for each in bench.raw.lrange(done, 0, -1)} == names
    assert max(map(int, bench.raw.lrange(f"{bench.namespace}:peaks", 0, -1))) == 2
