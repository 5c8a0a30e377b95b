"""Why something is late though a worker listens: the causes that lie in workers."""

from __future__ import annotations

import asyncio
import threading

from rmq_core import Delivery, Listener
from rmq_core.protocol.slot_calls import acquire
from rmq_core.why.answer import Reason, Why
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async


async def answer_of(bench: WorkerBench, code: str, ident: str | None = None) -> Reason:
    """The reason, as soon as it is the answer."""

    async def first() -> Why | None:
        found = await asyncio.to_thread(bench.inspector.why, "work", ident)
        return found if found.reasons[0].code == code else None

    found = await wait_until_async(first, what=f"the answer to be {code}")
    assert found is not None
    return found.reasons[0]


async def test_a_slot_behind_one_long_call(bench: WorkerBench) -> None:
    bench.topic()
    ended = threading.Event()

    def slow(delivery: Delivery) -> None:
        if delivery.id == "long":
            ended.wait(30)

    async with bench.running(Listener("work", slow), threads=4):
        bench.send("long")
        await wait_until_async(lambda: bench.total("taken") == 1, what="the long one to be taken")
        bench.send("next")
        busy = await answer_of(bench, "busy", "next")
        assert busy.values["id"] == "long" and busy.values["for_ms"] >= 1_000
        assert (await answer_of(bench, "busy")).values["slot"] == 0
        ended.set()
        await wait_until_async(lambda: bench.total("acked") == 2, what="both to be done")
        await answer_of(bench, "nothing_ready")


async def test_all_threads_are_busy(bench: WorkerBench) -> None:
    bench.topic(slots=8)
    ended = threading.Event()

    def slow(delivery: Delivery) -> None:
        ended.wait(30)

    async with bench.running_this(bench.one_lane(Listener("work", slow))):
        bench.send(*(f"m{n}" for n in range(40)))
        busy = await answer_of(bench, "threads_busy")
        assert busy.values["in_flight"] >= busy.values["threads"]
        ended.set()
        await wait_until_async(lambda: bench.total("acked") == 40, what="all to be done")


async def test_what_a_slot_has_ahead_keeps_no_thread_busy(bench: WorkerBench) -> None:
    bench.topic()
    ended = threading.Event()

    def slow(delivery: Delivery) -> None:
        if not delivery.text.startswith("quick"):
            ended.wait(30)

    async with bench.running(Listener("work", slow), threads=4):
        bench.send(*(f"quick{n}" for n in range(500)))  # so that it takes many at once
        await wait_until_async(lambda: bench.total("acked") == 500, what="the quick ones")
        bench.send(*(f"m{n}" for n in range(1_500)))
        await answer_of(bench, "busy")
        (worker,) = await asyncio.to_thread(bench.inspector.workers)
        assert worker.in_flight > worker.threads and worker.free, "one of four runs"
        ended.set()
        await wait_until_async(lambda: bench.total("acked") == 2_000, what="all to be done")


async def test_slots_of_owners_and_workers_without(bench: WorkerBench) -> None:
    topic = bench.topic()
    async with bench.running(Listener("work", lambda delivery: None)):
        bench.rmq.connection.run([acquire(bench.rmq.keyspace, topic, 0, 7)])
        bench.send("a")
        needs = await answer_of(bench, "needs_owner", "a")
        assert needs.values == {"ready": 1, "slots": 1}
        bench.control.unfence("work")
        await wait_until_async(lambda: bench.total("acked") == 1, what="it to be done")


async def test_the_only_worker_is_stopping(bench: WorkerBench) -> None:
    bench.topic()
    begun, ended = threading.Event(), threading.Event()

    def slow(delivery: Delivery) -> None:
        begun.set()
        ended.wait(30)

    async with bench.running(Listener("work", slow)) as worker:
        bench.send("a")
        await wait_until_async(begun.is_set, what="the call to begin: what has not begun goes back at once")
        worker.stop()
        bench.send("b")
        assert (await answer_of(bench, "stopping", "b")).values["worker"] == worker.name
        ended.set()
