"""A topic that is deleted and defined anew with another shape, under a worker that listens to it."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from rmq_core import Delivery, FixedTimeMessage, Listener, Message, PriorityMessage, Topic, TopicKind
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

PRIORITY, TIMED = TopicKind.PRIORITY, TopicKind.FIXED_TIME


def messages(bench: WorkerBench, kind: TopicKind, count: int) -> list[Message]:
    if kind is PRIORITY:
        return [PriorityMessage(f"m{number}", 20) for number in range(count)]
    now_ms = bench.inspector.now_ms()
    return [FixedTimeMessage(f"m{number}", now_ms) for number in range(count)]


def define_anew(bench: WorkerBench, topic: Topic, kind: TopicKind, slots: int) -> None:
    bench.control.delete_topic(topic.name, force=True)
    bench.rmq.define(replace(topic, kind=kind, slots=slots, version=0, created_ms=0, updated_ms=0))


@pytest.mark.parametrize(("kind", "slots"), [(PRIORITY, 64), (PRIORITY, 1), (TIMED, 4), (TIMED, 16)], ids=str)
async def test_the_worker_takes_from_every_slot_there_is(bench: WorkerBench, kind: TopicKind, slots: int) -> None:
    topic = bench.topic(slots=4)
    seen: list[str] = []
    async with bench.running(Listener("work", lambda delivery: seen.append(delivery.text))) as worker:
        bench.send("before")
        await wait_until_async(lambda: seen == ["before"], what="the first")
        define_anew(bench, topic, kind, slots)
        bench.rmq.send_many("work", messages(bench, kind, 640), allow_past=True)
        await wait_until_async(lambda: bench.total("acked") == 640, what="all of the new one")
        assert worker._topics["work"].slots == tuple(range(slots))
    assert sorted(seen[1:]) == sorted(f"m{number}" for number in range(640))


async def test_what_runs_ends_first(bench: WorkerBench) -> None:
    topic = bench.topic(slots=2)
    goes_on, running, overlapped = threading.Event(), threading.Event(), threading.Event()

    def listen(delivery: Delivery) -> None:
        if delivery.text == "old":
            running.set()
            goes_on.wait(60)
        elif not goes_on.is_set():
            overlapped.set()

    async with bench.running(Listener("work", listen)):
        bench.send("old")
        await wait_until_async(running.is_set, what="the old one")
        define_anew(bench, topic, PRIORITY, 8)
        bench.send(*(f"m{number}" for number in range(40)))
        await wait_until_async(lambda: bench.held() == 40, what="all to be there")
        goes_on.set()
        await wait_until_async(lambda: bench.total("acked") == 40, what="the new ones")
    assert not overlapped.is_set()
