"""What becomes of a message, by how its listener ends."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest

from rmq_core import Delivery, Listener, Reject, Release, Retry, errors
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

FLAVOURS = ["sync", "async"]


def listening(flavour: str, act: Any, **options: Any) -> Listener:
    """The same listener as a plain function or a coroutine."""
    if flavour == "sync":
        return Listener("work", lambda delivery: act(delivery), **options)

    async def coroutine(delivery: Delivery) -> None:
        act(delivery)

    return Listener("work", coroutine, **options)


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_returning_acks(bench: WorkerBench, flavour: str) -> None:
    bench.topic(slots=4)
    seen: list[str] = []
    bench.send(*(f"{i}" for i in range(50)))
    async with bench.running(listening(flavour, lambda d: seen.append(d.text))):
        await wait_until_async(lambda: bench.held() == 0, what="everything to be done")
        bench.send("later")
        await wait_until_async(lambda: bench.total("acked") == 51, what="the later one")
    assert sorted(seen) == sorted([*(f"{i}" for i in range(50)), "later"])


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_raising_retries_and_ends_as_a_dead_letter_with_its_traceback(bench: WorkerBench, flavour: str) -> None:
    bench.topic(max_retries=2)
    attempts: list[int] = []

    def fail(delivery: Delivery) -> None:
        attempts.append(delivery.attempt)
        raise ValueError(f"no. {delivery.attempt}")

    bench.send("bad")
    async with bench.running(listening(flavour, fail)) as worker:
        await wait_until_async(lambda: bench.ledger().queues["dead"], what="the dead letter")
    assert attempts == [1, 2, 3]
    (view,) = bench.inspector.find("work", "bad")
    assert (view.failure.error, view.failure.message, view.failure.failures) == ("ValueError", "no. 3", 3)
    assert view.failure.worker == worker.name
    assert "in fail" in view.failure.traceback


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    ("raised", "queue", "failures"),
    [
        (Retry("soon", delay_ms=3_600_000), "retry", 1),
        (Retry("as the topic says"), "store", 1),
        (Reject("never"), "dead", 1),
        (Release("not now", delay_ms=3_600_000), "retry", 0),
    ],
    ids=["retry", "retry with the topic's back-off", "reject", "release"],
)
async def test_raising_an_outcome_does_as_it_says(
    bench: WorkerBench, flavour: str, raised: Exception, queue: str, failures: int
) -> None:
    bench.topic(max_retries=5)
    seen: list[str] = []

    def act(delivery: Delivery) -> None:
        seen.append(delivery.text)
        if len(seen) == 1:
            raise raised

    bench.send("a")
    async with bench.running(listening(flavour, act)):
        settled = "released" if isinstance(raised, Release) else "died" if isinstance(raised, Reject) else "retried"
        await wait_until_async(lambda: bench.ledger().stats.get(settled), what=f"the message to be {settled}")
        if queue == "store":
            await wait_until_async(lambda: bench.held() == 0, what="the second try")
    if queue != "store":
        assert bench.ledger().queues[queue].keys() == {b"a"}
        (view,) = bench.inspector.find("work", "a")
        assert view.row.failures == failures


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_a_batch_listener_gets_several_and_answers_for_all(bench: WorkerBench, flavour: str) -> None:
    bench.topic(max_retries=0)
    sizes: list[int] = []

    def act(deliveries: list[Delivery]) -> None:
        sizes.append(len(deliveries))
        if any(d.text == "7" for d in deliveries):
            raise ValueError("one of them is bad")

    for i in range(25):
        bench.send(f"{i}", priority=100 - i)
    async with bench.running(listening(flavour, act, batch=10)):
        await wait_until_async(lambda: bench.total("acked") + bench.total("died") == 25, what="all of them")
    assert sizes == [10, 10, 5]
    assert bench.ledger().queues["dead"].keys() == {b"%d" % i for i in range(10)}


class Unprintable(Exception):
    """An application's exception whose own text fails."""

    def __str__(self) -> str:
        raise RuntimeError("not even this")


HOSTILE: dict[str, Any] = {
    "an exception that cannot be printed": lambda: Unprintable(),
    "lone surrogates": lambda: ValueError("\ud800"),
    "a large text": lambda: ValueError("x" * 10_000_000),
    "the end of the process": lambda: SystemExit(3),
    "an interrupt": lambda: KeyboardInterrupt(),
    "a cancellation": lambda: asyncio.CancelledError(),
    "the end of a generator": lambda: GeneratorExit(),
    "the end of an iteration": lambda: StopIteration(),
    "the end of an async iteration": lambda: StopAsyncIteration(),
    "an exception outside the usual tree": lambda: type("Odd", (BaseException,), {})(),
    "one whose text ends the process": lambda: EndsWhenShown(),
    "one with itself as its cause": lambda: in_a_circle(),
    "a group": lambda: ExceptionGroup("several", [ValueError("one"), Unprintable()]),
    "one with odd notes": lambda: noted(),
}


class EndsWhenShown(Exception):
    """Whose text does not fail but ends."""

    def __str__(self) -> str:
        raise SystemExit(4)


def in_a_circle() -> Exception:
    error = ValueError("a circle")
    error.__cause__ = KeyError("b")
    error.__cause__.__cause__ = error
    return error


def noted() -> Exception:
    error = ValueError("with notes")
    error.__notes__ = [Unprintable(), 5, "\ud800"]  # type: ignore[list-item]
    return error


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("raised", HOSTILE.values(), ids=HOSTILE)
async def test_whatever_is_raised_the_slot_goes_on(bench: WorkerBench, raised: Any, flavour: str) -> None:
    bench.topic(max_retries=0)

    def act(delivery: Delivery) -> None:
        if delivery.text == "bad":
            raise raised()

    bench.send("bad", priority=99)
    bench.send("good")
    async with bench.running(listening(flavour, act)):
        await wait_until_async(lambda: bench.total("acked") == 1, what="the good message")
        await wait_until_async(lambda: bench.ledger().queues["dead"], what="the bad one to die")
    (view,) = bench.inspector.find("work", "bad")
    view.failure.message.encode()


async def test_a_coroutine_that_cancels_itself_or_awaits_what_was_cancelled_has_failed(bench: WorkerBench) -> None:
    bench.topic(max_retries=0, visibility_timeout_ms=600_000)

    async def act(delivery: Delivery) -> None:
        if delivery.text == "itself":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
        if delivery.text == "another":
            other = asyncio.create_task(asyncio.sleep(3_600))
            other.cancel()
            await other
        if delivery.text == "too slow":
            async with asyncio.timeout(0):
                await asyncio.sleep(3_600)

    bench.send("itself", "another", "too slow", "good")
    async with bench.running(Listener("work", act)):
        await wait_until_async(lambda: bench.total("acked") + bench.total("died") == 4, what="all of them")
    assert bench.ledger().queues["dead"].keys() == {b"itself", b"another", b"too slow"}
    assert bench.total("expired") == 0


@pytest.mark.parametrize("outcome", [Retry, Release])
@pytest.mark.parametrize("delay_ms", ["soon", -1, 1.5, True, 10**30, float("nan")])
async def test_an_impossible_delay_is_refused_and_the_slot_goes_on(
    bench: WorkerBench, outcome: type[Exception], delay_ms: Any
) -> None:
    with pytest.raises(errors.InvalidMessage, match="delay_ms="):
        outcome(delay_ms=delay_ms)
    bench.topic(max_retries=0)

    def act(delivery: Delivery) -> None:
        if delivery.text == "bad":
            raise outcome(delay_ms=delay_ms)

    bench.send("bad", priority=99)
    bench.send("good")
    async with bench.running(listening("sync", act)):
        await wait_until_async(lambda: bench.total("acked") == 1, what="the good message")
        await wait_until_async(lambda: bench.ledger().queues["dead"], what="the bad one to die")
    (view,) = bench.inspector.find("work", "bad")
    assert view.failure.error == "InvalidMessage"


async def test_coroutines_of_several_slots_run_at_the_same_time(bench: WorkerBench) -> None:
    bench.topic(slots=8)
    together = asyncio.Barrier(2)

    async def meet(delivery: Delivery) -> None:
        await together.wait()

    a, b = (next(str(i) for i in range(100) if bench.rmq.keyspace and _slot(str(i)) == slot) for slot in (0, 1))
    bench.send(a, b)
    async with bench.running(Listener("work", meet)):
        await wait_until_async(lambda: bench.total("acked") == 2, what="both to have met")


def _slot(content: str) -> int:
    from zlib import crc32

    return crc32(content.encode()) % 8


async def test_messages_of_one_slot_never_overlap_in_one_worker(bench: WorkerBench) -> None:
    bench.topic()
    running = most = 0

    async def act(delivery: Delivery) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    bench.send(*(f"{i}" for i in range(100)))
    async with bench.running(Listener("work", act)):
        await wait_until_async(lambda: bench.total("acked") == 100, what="all of them")
    assert most == 1


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("raises", [False, True])
async def test_a_batch_listener_may_empty_its_list(bench: WorkerBench, flavour: str, raises: bool) -> None:
    bench.topic(slots=1, max_retries=0)
    bench.send(*(f"{i}" for i in range(20)))

    def work_off(deliveries: list[Delivery]) -> None:
        while deliveries:
            deliveries.pop()
        if raises:
            raise ValueError("all of it")

    async with bench.running(listening(flavour, work_off, batch=10)):
        await wait_until_async(lambda: bench.held() == 0 or len(bench.ledger().queues["dead"]) == 20, what="the end")
    assert (bench.total("acked"), len(bench.ledger().queues["dead"])) == ((0, 20) if raises else (20, 0))


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_a_child_that_comes_back_from_its_listener_ends(bench: WorkerBench, flavour: str) -> None:
    """The worker, and the message, are its parent's."""
    bench.topic(slots=1)
    ends = {"returns": 0, "exits": 3, "exits without a code": 0, "raises": 1}
    codes: dict[str, int] = {}

    def fork(delivery: Delivery) -> None:
        if pid := os.fork():
            codes[delivery.text] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        elif delivery.text == "raises":
            raise ValueError("in the child")
        elif delivery.text == "exits":
            sys.exit(3)
        elif delivery.text == "exits without a code":
            sys.exit()

    bench.send(*ends)
    async with bench.running(listening(flavour, fork)):
        await wait_until_async(lambda: bench.total("acked") == 4, what="the parent's messages")
    assert codes == ends
    assert bench.total("taken") == 4
