"""Workers without ZooKeeper on a topic that limits what is in flight of a key."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from rmq_core import Delivery, Listener, PriorityMessage, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConfigurationError
from tests.engine.worker.bench import WorkerBench
from tests.engine.worker.key_limit_program import VISIBILITY_MS, main
from tests.engine.worker.program_fleet import three_programs
from tests.engine.worker.runs import Runs
from tests.support.programs import Program
from tests.support.waiting import wait_until, wait_until_async


def send(bench: WorkerBench, keys: str, each: int) -> list[str]:
    names = [f"{key}{n}" for n in range(each) for key in keys]
    bench.rmq.send_many("work", [PriorityMessage(name, 20, key=name, slot_basis=name[0]) for name in names])
    return names


@pytest.mark.parametrize(("flavour", "limit"), [("plain", 1), ("plain", 2), ("batch", 1), ("coroutine", 1)])
async def test_never_more_of_a_key_than_may_be_in_a_whole_fleet(bench: WorkerBench, flavour: str, limit: int) -> None:
    bench.topic(slots=2, key_concurrency=limit)
    names, runs = send(bench, "abcd", 15), Runs()
    async with AsyncExitStack() as stack:
        for _ in range(3):
            listener = Listener("work", getattr(runs, flavour), batch=5 if flavour == "batch" else 1)
            await stack.enter_async_context(bench.running(listener, threads=8))
        await wait_until_async(lambda: bench.held() == 0, what="all to be done")
    assert sorted(runs.done) == sorted(names)
    assert 0 < max(runs.peak.values()) <= limit
    if limit == 1:
        for key in "abcd":
            assert [name for name in runs.done if name[0] == key] == [f"{key}{n}" for n in range(15)]


async def test_one_key_does_not_stop_the_others(bench: WorkerBench) -> None:
    """Nor does a call of it that takes its time: others of the slot are handed out to another worker."""
    bench.topic(key_concurrency=1)
    released, seen = threading.Event(), list[str]()

    def work(delivery: Delivery) -> None:
        seen.append(delivery.text)
        if delivery.text == "a0":
            assert released.wait(10)

    send(bench, "a", 300)
    async with bench.running(Listener("work", work)), bench.running(Listener("work", work)):
        await wait_until_async(lambda: seen == ["a0"], what="the first to run")
        send(bench, "b", 1)
        await wait_until_async(lambda: "b0" in seen, what="another key to go on")
        assert seen == ["a0", "b0"]
        released.set()
        await wait_until_async(lambda: bench.held() == 0, what="all to be done")
    assert [name for name in seen if name[0] == "a"] == [f"a{n}" for n in range(300)]


async def test_settled_before_the_call_nothing_would_be_bounded(bench: WorkerBench) -> None:
    topic = Topic("work", "priority", key_concurrency=1)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="key_concurrency"):
        Listener("work", print, topic, acks="none")


@pytest.fixture
def programs(redis_server: EmbeddedRedis, bench: WorkerBench) -> Iterator[list[Program]]:
    with three_programs(
        main, redis_server.url, bench, ["done", "beside", *(f"runs:{name}" for name in "abc")]
    ) as started:
        yield started


def test_what_a_killed_worker_had_comes_back_and_its_key_goes_on(bench: WorkerBench, programs: list[Program]) -> None:
    bench.topic(slots=2, key_concurrency=1, visibility_timeout_ms=VISIBILITY_MS)
    names = set(send(bench, "abc", 60))
    done = f"{bench.namespace}:done"
    for number, program in enumerate(programs[:2], 1):
        wait_until(lambda number=number: bench.raw.llen(done) >= 20 * number, what="some to be done")  # type: ignore[misc]
        program.kill()
    wait_until(lambda: bench.held() == 0, what="all to be done", timeout_s=30)
    assert {each.decode() for each in bench.raw.lrange(done, 0, -1)} == names
    assert bench.raw.lrange(f"{bench.namespace}:beside", 0, -1) == []
