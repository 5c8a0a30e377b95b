"""What listeners tell of their messages, and what they return."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from rmq_core import Delivery, Listener, Topic
from rmq_core.errors import InvalidMessage
from rmq_core.model.report import NESTED_MAX, Note, Report, progress_bytes, result_bytes
from rmq_core.protocol.keys import Keyspace
from rmq_core.testing import TestQueue
from rmq_core.worker.reports import Reports, together
from tests.engine.test_testing import MAIL
from tests.engine.worker import isolated_listeners as isolated
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async


def report(bench: WorkerBench, ident: str) -> Report:
    found = bench.rmq.report("work", ident)
    assert found is not None
    return found


async def test_it_is_read_while_the_listener_runs(bench: WorkerBench) -> None:
    bench.topic(result_for_ms=60_000)
    go_on = threading.Event()

    def act(delivery: Delivery) -> str:
        delivery.progress({"done": 1, "of": 2})
        for n in range(150):
            delivery.log(f"line {n}")
        go_on.wait(60)
        delivery.progress({"done": 2, "of": 2})
        return "all of it"

    bench.send("a")
    async with bench.running(Listener("work", act)):
        await wait_until_async(lambda: len(report(bench, "a").lines) == 100, what="the lines")
        assert (report(bench, "a").progress, report(bench, "a").state) == ({"done": 1, "of": 2}, "in_flight")
        assert report(bench, "a").lines[-1].text == "line 149"
        go_on.set()
        assert await asyncio.to_thread(bench.rmq.result, "work", "a", timeout_ms=20_000) == "all of it"
    assert report(bench, "a").progress == {"done": 2, "of": 2}


async def test_coroutines_and_processes_tell_as_threads_do(bench: WorkerBench) -> None:
    bench.topic(result_for_ms=60_000)

    async def act(delivery: Delivery) -> dict[str, str]:
        delivery.log("in a loop")
        return {"by": "a coroutine"}

    for listener, told, result in (
        (Listener("work", act), "in a loop", {"by": "a coroutine"}),
        (Listener("work", isolated.tell, isolation="process"), "in a process", {"by": "a process"}),
    ):
        bench.send(told)
        async with bench.running(listener):
            assert await asyncio.to_thread(bench.rmq.result, "work", told, timeout_ms=30_000) == result
        assert [line.text for line in report(bench, told).lines] == [told]


async def test_nothing_is_kept_of_what_nobody_asked_for(bench: WorkerBench) -> None:
    bench.topic()
    bench.send("a")
    bench.rmq.send("work", "b", priority=20, result_for_ms=60_000)
    async with bench.running(Listener("work", lambda delivery: None)):
        await wait_until_async(lambda: bench.total("acked") == 2, what="both to be done")
    assert bench.rmq.report("work", "a") is None
    assert bench.rmq.result("work", "b") is None and report(bench, "b").done


async def test_a_result_that_cannot_be_kept_fails_nothing(bench: WorkerBench) -> None:
    bench.topic(result_for_ms=60_000)
    bench.send("a")
    async with bench.running(Listener("work", lambda delivery: {1, 2})):
        await wait_until_async(lambda: bench.total("acked") == 1, what="it to be done")
    (line,) = report(bench, "a").lines
    assert line.text.startswith("what the listener returned is not kept") and "a set" in line.text


def test_the_test_queue_keeps_them_too() -> None:
    def act(delivery: Delivery) -> int:
        delivery.progress(0.5)
        return 42

    with TestQueue() as queue:
        queue.define(MAIL)
        queue.send("mail", "a", priority=20, result_for_ms=60_000)
        queue.drain(Listener("mail", act))
        assert queue.rmq.result("mail", "a") == 42
        assert (found := queue.rmq.report("mail", "a")) is not None and found.progress == 0.5


async def test_a_result_that_is_on_its_way_is_waited_for_and_told_again_where_its_delivery_was_extended() -> None:
    """Else its message may be acknowledged first, and nobody may tell of it then."""
    delivery = Delivery("work", 0, b"a", 1_000, 20.0, None, False, 3)
    told: list[tuple[int, bytes]] = []
    begun, go_on = asyncio.Event(), asyncio.Event()

    class Server:
        keyspace = Keyspace("n")

        async def run(self, operation: Any) -> list[bool]:
            (call,) = operation.send(None)
            told.append((delivery.receipt, call.args[8]))
            begun.set()
            await go_on.wait()
            return [len(told) > 1]  # the first comes too late: its delivery has another receipt by then

    place = SimpleNamespace(client=Server(), definition=Topic("work", "priority"), loop=asyncio.get_running_loop())
    reports = Reports(place)  # type: ignore[arg-type]
    reports.note(Note(delivery, result=b"1", result_for_ms=9))
    await begun.wait()
    settling = asyncio.create_task(reports.told(0))
    await asyncio.sleep(0)
    delivery.receipt = 2_000
    assert not settling.done()
    go_on.set()
    await settling
    assert told == [(1_000, b"1"), (2_000, b"1")]
    await reports.close()


def test_what_is_nested_deeper_than_anybody_may_be_able_to_read_is_refused() -> None:
    value: Any = 1
    for n in range(NESTED_MAX):
        value = {"a": value} if n % 2 else [value]
    assert json.loads(progress_bytes(value)) == value
    value = [value]
    for kept in (progress_bytes, result_bytes):
        with pytest.raises(InvalidMessage, match="100 deep"):
            kept(value)


def test_of_another_delivery_nothing_is_carried_over() -> None:
    with TestQueue() as queue:
        queue.define(MAIL)
        queue.send("mail", "a", priority=20)
        (one,) = queue.rmq.take("mail")
        queue.rmq.release(one)
        (two,) = queue.rmq.take("mail")
        before, after = Note(one, progress=b"1"), Note(two, lines=(b'"x"',))
        assert together(before, after) == after
        assert together(before, Note(one, lines=(b'"x"',))) == Note(one, progress=b"1", lines=(b'"x"',))
