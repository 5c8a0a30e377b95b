"""Coroutine listeners that end oddly, block their loop or swallow cancellations; `Worker.run` in a thread."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from rmq_core import Delivery, Listener, Worker, errors
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.worker import watchdog
from tests.engine.worker import stubborn_program
from tests.engine.worker.bench import WorkerBench
from tests.ownership.conftest import quick, quick_zookeeper
from tests.support.waiting import wait_until, wait_until_async

__all__ = ["quick", "quick_zookeeper"]

SHORT_MS = 500


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds whoever blocks until the test, or its end, lets go."""
    event = threading.Event()
    yield event
    event.set()


@contextmanager
def in_a_thread(worker: Worker, bench: WorkerBench) -> Iterator[Future[None]]:
    """``worker.run()`` in a thread; stopped at the end, from here."""
    ended: Future[None] = Future()

    def run() -> None:
        try:
            worker.run()
        except BaseException as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=run, daemon=True).start()
    try:
        wait_until(lambda: ended.done() or bench.alive(worker), what="the worker to start")
        yield ended
    finally:
        worker.stop()
        ended.result(timeout=30)


def test_a_worker_runs_in_any_thread_and_is_stopped_from_any(bench: WorkerBench) -> None:
    bench.topic()
    bench.topic("other")
    threads: set[str] = set()

    async def coroutine(delivery: Delivery) -> None:
        threads.add(threading.current_thread().name)

    with in_a_thread(bench.worker(Listener("work", coroutine), Listener("other", lambda delivery: None)), bench):
        bench.send("a")
        bench.send("b", topic="other")
        wait_until(lambda: bench.total("acked") + bench.total("acked", "other") == 2, what="both to be done")
    assert bench.inspector.workers() == []
    assert threads == {"rmq-coroutines"}
    wait_until(
        lambda: not any(thread.name.startswith("rmq-") for thread in threading.enumerate()), what="threads to end"
    )


async def test_where_a_loop_runs_it_says_what_to_do_instead(bench: WorkerBench) -> None:
    with pytest.raises(errors.ConfigurationError, match=r"await worker\.serve"):
        bench.worker(Listener("work", print)).run()


def test_a_worker_runs_once(bench: WorkerBench) -> None:
    bench.topic()
    worker = bench.worker(Listener("work", print))
    with in_a_thread(worker, bench):
        pass
    with pytest.raises(errors.ConfigurationError, match="runs once"):
        worker.run()


def test_it_puts_the_signal_handlers_back(bench: WorkerBench) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with pytest.raises(errors.UnknownTopic):
        bench.worker(Listener("work", print)).run()
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


def test_a_listener_that_blocks_its_loop_is_named_and_harms_nobody_else(
    bench: WorkerBench, gate: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    bench.topic(visibility_timeout_ms=SHORT_MS)
    bench.topic("other")
    calls: list[str] = []

    async def blocks(delivery: Delivery) -> None:
        calls.append(delivery.text)
        gate.wait(60)

    with in_a_thread(bench.worker(Listener("work", blocks), Listener("other", lambda delivery: None)), bench):
        bench.send("a")
        wait_until(lambda: calls, what="the call to begin")
        wait_until(lambda: "has been blocking the event loop" in caplog.text, what="the log to say so")
        assert "test_a_listener_that_blocks_its_loop_is_named_and_harms_nobody_else.<locals>.blocks of topic work" in (
            caplog.text
        )
        assert "gate.wait(60)" in caplog.text  # the line it stands at
        bench.send("b", topic="other")
        wait_until(lambda: bench.total("acked", "other") == 1, what="another topic to go on")
        extended, (about,) = bench.total("extended"), bench.inspector.workers()
        wait_until(lambda: bench.total("extended") >= extended + 3, what="its message to be extended")
        wait_until(lambda: bench.inspector.workers()[0].seen_ms > about.seen_ms, what="the next heartbeat")
        gate.set()
        wait_until(lambda: bench.total("acked") == 1, what="the end of the call")
        wait_until(lambda: "has let go of the event loop" in caplog.text, what="the log to say that it is over")
    assert calls == ["a"]
    assert bench.total("expired") == 0


@pytest.mark.zookeeper
def test_a_listener_that_blocks_its_loop_costs_no_session_and_zookeeper_is_not_blamed(
    bench: WorkerBench, gate: threading.Event, caplog: pytest.LogCaptureFixture, quick: ZooKeeperConfig
) -> None:
    bench.topic()
    calls: list[str] = []

    async def blocks(delivery: Delivery) -> None:
        calls.append(delivery.text)
        gate.wait(60)

    with in_a_thread(bench.worker(Listener("work", blocks), zookeeper=quick, name="one"), bench):
        bench.send("a")
        wait_until(lambda: calls, timeout_s=30, what="the call to begin")
        owners = bench.inspector.assignment("work")
        assert [owner.worker for owner in owners] == ["one"]
        long_ms = bench.inspector.now_ms() + quick.session_timeout_ms * 3 // 2  # a session that is silent has expired
        wait_until(lambda: bench.inspector.workers()[0].seen_ms > long_ms, what="the heartbeats of a long time")
        assert bench.inspector.assignment("work") == owners
        gate.set()
        wait_until(lambda: bench.total("acked") == 1, what="the end of the call")
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert any("has been blocking the event loop" in line for line in said)
    # A machine without time may hold up the worker's own loop for a moment, which says so: by no fault of ZooKeeper.
    blamed = [line for line in said if "by no fault of ZooKeeper" not in line]
    assert [line for line in blamed if "ZooKeeper" in line or "giving up" in line] == []
    assert calls == ["a"]


def test_it_is_named_in_the_applications_own_loop_too(
    bench: WorkerBench, gate: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    bench.topic()
    helping: list[str] = []

    async def helper() -> None:
        helping.append("began")
        gate.wait(60)

    async def starts_a_task(delivery: Delivery) -> None:
        await asyncio.create_task(helper(), name="the helper")

    worker = bench.worker(Listener("work", starts_a_task))
    thread = threading.Thread(target=lambda: asyncio.run(worker.serve()))
    thread.start()
    bench.send("a")
    wait_until(lambda: "the task 'the helper' has been blocking" in caplog.text, what="the log to say so")
    gate.set()
    wait_until(lambda: bench.total("acked") == 1, what="the end of the call")
    worker.stop()
    thread.join(30)
    assert not thread.is_alive()


def test_one_that_waits_properly_is_not_named(
    bench: WorkerBench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "EVERY_S", 0.01)
    bench.topic()
    asked: list[int] = []

    async def waits(delivery: Delivery) -> None:
        while len(asked) < 50:
            await asyncio.sleep(0.01)
            asked.append(1)

    with in_a_thread(bench.worker(Listener("work", waits)), bench):
        bench.send("a")
        wait_until(lambda: bench.total("acked") == 1, what="the end of the call")
    assert "blocking" not in caplog.text


def test_a_task_that_a_listener_left_behind_cannot_end_the_worker(
    bench: WorkerBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.topic()
    left: list[asyncio.Task[None]] = []

    async def exits() -> None:
        sys.exit(3)

    async def leaves_a_task(delivery: Delivery) -> None:
        left.append(asyncio.create_task(exits()))

    with in_a_thread(bench.worker(Listener("work", leaves_a_task)), bench) as ended:
        bench.send("a")
        wait_until(lambda: "tried to end worker" in caplog.text, what="the log to say so")
        bench.send("b")
        wait_until(lambda: bench.total("acked") == 2, what="the worker to go on")
        assert not ended.done()
    for task in left:
        assert isinstance(task.exception(), SystemExit)


class Stubborn:
    """Swallows every cancellation until it is let go."""

    def __init__(self) -> None:
        self.begun = False
        self.cancelled = 0
        self.go = False

    async def __call__(self, delivery: Delivery) -> None:
        self.begun = True
        while not self.go and delivery.text == "stubborn":
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                self.cancelled += 1


async def test_one_that_swallows_its_cancellation_is_given_up(
    bench: WorkerBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.topic(visibility_timeout_ms=SHORT_MS)
    stubborn, ran = Stubborn(), []
    bench.send("stubborn")
    async with bench.running(Listener("work", stubborn, max_runtime_ms=100)) as worker:
        await wait_until_async(lambda: "does not let itself be cancelled" in caplog.text, what="it to be given up")
        await wait_until_async(lambda: _stuck(bench, worker.name) == 1, what="the heartbeat to say so")
        async with bench.running(Listener("work", lambda delivery: ran.append(delivery.attempt))):
            await wait_until_async(lambda: bench.total("acked") == 1, what="another worker to do it")
        stubborn.go = True
        await wait_until_async(lambda: not _stuck(bench, worker.name), what="the call to end")
        bench.send("after")
        await wait_until_async(lambda: bench.total("acked") == 2, what="the slot to go on")
    assert stubborn.cancelled >= 1
    assert len(ran) == 1


def _stuck(bench: WorkerBench, name: str) -> int:
    return next((worker.stuck for worker in bench.inspector.workers() if worker.name == name), 0)


@pytest.mark.parametrize("how", ["the grace ends", "a second stop", "its task is cancelled"])
async def test_one_that_swallows_its_cancellation_does_not_keep_a_worker_from_stopping(
    bench: WorkerBench, how: str
) -> None:
    bench.topic(visibility_timeout_ms=SHORT_MS)
    stubborn = Stubborn()
    bench.send("stubborn")
    worker = bench.worker(Listener("work", stubborn), grace_ms=50 if how == "the grace ends" else 600_000)
    serving = asyncio.create_task(worker.serve())
    await wait_until_async(lambda: stubborn.begun, what="the call to begin")
    if how == "its task is cancelled":
        serving.cancel()
    else:
        worker.stop()
        if how == "a second stop":
            worker.stop()
    _, left = await asyncio.wait({serving}, timeout=30)
    assert not left
    assert stubborn.cancelled >= 1
    assert bench.inspector.workers() == []
    async with bench.running(Listener("work", lambda delivery: None)):
        await wait_until_async(lambda: bench.total("acked") == 1, what="what it held to be done by another")
    stubborn.go = True


async def test_one_that_is_cancelled_by_a_stop_gives_its_message_back_uncounted(bench: WorkerBench) -> None:
    bench.topic(max_retries=0, visibility_timeout_ms=600_000)

    async def waits(delivery: Delivery) -> None:
        await asyncio.Event().wait()

    bench.send("a")
    async with bench.running(Listener("work", waits), grace_ms=10):
        await wait_until_async(lambda: bench.ledger().queues["prepare"], what="the call to begin")
    (row,) = bench.inspector.messages("work", "ready").rows
    assert row.failures == 0


@pytest.mark.parametrize("what", ["swallow", "block"])
def test_two_signals_end_a_process_whatever_its_listener_does(bench: WorkerBench, what: str) -> None:
    bench.topic(visibility_timeout_ms=SHORT_MS)
    bench.send("a")
    program = Path(stubborn_program.__file__)
    process = subprocess.Popen([sys.executable, str(program), bench.url, bench.namespace, what], cwd=program.parents[3])
    try:
        wait_until(lambda: bench.raw.exists(f"{bench.namespace}:began"), timeout_s=30, what="the call to begin")
        process.send_signal(signal.SIGINT)
        wait_until(lambda: _state(bench) == "stopping", what="the stop to begin")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        bench.raw.delete(f"{bench.namespace}:began")
    assert bench.rmq.take("work", timeout_ms=20_000)


def _state(bench: WorkerBench) -> str:
    return next((worker.state for worker in bench.inspector.workers()), "gone")


SAID: ContextVar[str] = ContextVar("SAID", default="nothing")


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_what_a_call_sets_in_its_context_is_gone_with_it(bench: WorkerBench, flavour: str) -> None:
    bench.topic()
    found: list[str] = []

    def act(delivery: Delivery) -> None:
        found.append(SAID.get())
        SAID.set(delivery.text)

    async def coroutine(delivery: Delivery) -> None:
        act(delivery)

    bench.send(*(f"m{i}" for i in range(20)))
    function: Any = act if flavour == "sync" else coroutine
    async with bench.running(Listener("work", function)):
        await wait_until_async(lambda: bench.total("acked") == 20, what="all of them")
    assert set(found) == {"nothing"}


async def test_every_call_of_a_coroutine_is_a_task_of_its_own(bench: WorkerBench) -> None:
    bench.topic()
    tasks: list[asyncio.Task[Any] | None] = []

    async def act(delivery: Delivery) -> None:
        tasks.append(asyncio.current_task())

    bench.send(*(f"m{i}" for i in range(20)))
    async with bench.running(Listener("work", act)):
        await wait_until_async(lambda: bench.total("acked") == 20, what="all of them")
    assert len({id(task) for task in tasks}) == 20
