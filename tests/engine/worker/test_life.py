"""A worker's life: long calls, hanging ones, stopping, definitions edited meanwhile, the heartbeat."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest

from rmq_core import Delivery, FixedTimeMessage, Listener, TopicKind, errors
from rmq_core.queries import fleet
from rmq_core.transport import notifications
from rmq_core.worker import idle_slots, topic_work
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import PATIENCE_S, wait_until_async

SHORT_MS = 500
"""Soon over, and long enough for a machine that stands still for a moment."""
QUICK = 1 + 2 + 4 + 8 + 16
"""So many quick messages and a worker takes what follows in one batch."""


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds listeners in threads until the test, or its end, lets them go."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def whole_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment in which the machine stands still makes no worker take fewer at once."""
    monkeypatch.setattr(topic_work, "BATCH_BUDGET_S", 3_600.0)


async def test_a_long_call_is_extended_and_runs_once(bench: WorkerBench, gate: threading.Event) -> None:
    bench.topic(visibility_timeout_ms=SHORT_MS)
    started: list[int] = []

    def act(delivery: Delivery) -> None:
        started.append(delivery.receipt)
        gate.wait(30)

    bench.send("long")
    async with bench.running(Listener("work", act)) as _, bench.running(Listener("work", act)) as _:
        # Every third of the timeout: time enough to have timed out twice over.
        await wait_until_async(lambda: bench.total("extended") >= 7, what="several extensions")
        gate.set()
        await wait_until_async(lambda: bench.total("acked") == 1, what="the end of the call")
    assert len(started) == 1
    assert bench.total("expired") == 0


async def test_what_waits_behind_a_long_call_is_extended_too(bench: WorkerBench, gate: threading.Event) -> None:
    bench.topic(visibility_timeout_ms=SHORT_MS)
    order: list[str] = []

    def act(delivery: Delivery) -> None:
        order.append(delivery.text)
        if delivery.text == "slow":
            gate.wait(30)

    bench.send(*(f"quick {i}" for i in range(20)), priority=90)
    bench.send("slow", priority=80)
    bench.send("after 1", "after 2", priority=70)
    async with bench.running(Listener("work", act)):
        await wait_until_async(lambda: "slow" in order, what="the slow call to begin")
        extended = bench.total("extended")
        await wait_until_async(lambda: bench.total("extended") >= extended + 10, what="several extensions")
        gate.set()
        await wait_until_async(lambda: bench.total("acked") == 23, what="all of them")
    assert len(order) == 23


async def test_a_hanging_call_is_given_up_and_its_message_goes_elsewhere(
    bench: WorkerBench, gate: threading.Event
) -> None:
    bench.topic(visibility_timeout_ms=SHORT_MS, max_retries=3)
    ran: list[str] = []

    def hang(delivery: Delivery) -> None:
        gate.wait(60)

    def finish(delivery: Delivery) -> None:
        ran.append(f"{delivery.text} {delivery.attempt}")

    bench.send("a")
    async with bench.running(Listener("work", hang, max_runtime_ms=100)) as stuck:
        await wait_until_async(lambda: bench.ledger().queues["prepare"], what="the call to begin")
        async with bench.running(Listener("work", finish)):
            await wait_until_async(lambda: ran, what="another worker to get the message")
            await wait_until_async(lambda: bench.total("acked") == 1, what="its ack")
            await wait_until_async(lambda: _stuck(bench, stuck.name) == 1, what="the heartbeat to say so")
        gate.set()  # the late end of the call changes nothing any more
        await wait_until_async(lambda: not _stuck(bench, stuck.name), what="the call to end")
    assert ran == ["a 2"]
    assert bench.total("acked") == 1


def _stuck(bench: WorkerBench, name: str) -> int:
    return next(worker.stuck for worker in bench.inspector.workers() if worker.name == name)


async def test_a_hanging_coroutine_is_cancelled(bench: WorkerBench) -> None:
    bench.topic(max_retries=0)

    async def hang(delivery: Delivery) -> None:
        if delivery.text == "hang":
            await asyncio.Event().wait()

    bench.send("hang", priority=99)
    bench.send("after")
    async with bench.running(Listener("work", hang, max_runtime_ms=100)):
        await wait_until_async(lambda: bench.total("acked") == 1, what="the next message")
    (view,) = bench.inspector.find("work", "hang")
    assert view.states == ("dead",)
    assert view.failure.message == "cancelled after max_runtime_ms=100"


async def test_stopping_lets_the_running_finish_and_gives_back_the_rest_uncounted(
    bench: WorkerBench, gate: threading.Event, whole_batches: None
) -> None:
    bench.topic(max_retries=0)
    seen: list[str] = []

    def act(delivery: Delivery) -> None:
        seen.append(delivery.text)
        if delivery.text == "slow":
            gate.wait(30)

    bench.send(*(f"quick {i}" for i in range(QUICK)), priority=90)
    bench.send("slow", priority=80)
    after = [f"after {i * 7 % 10}" for i in range(10)]
    bench.send(*after, priority=70)
    worker = bench.worker(Listener("work", act))
    serving = asyncio.create_task(worker.serve())
    await wait_until_async(
        lambda: "slow" in seen and len(bench.ledger().queues["prepare"]) == 11, what="one batch of slow and after"
    )
    bench.send("a newer one", priority=70)
    worker.stop()
    await wait_until_async(lambda: _state(bench) == "stopping", what="the heartbeat to say so")
    assert not serving.done()
    gate.set()
    await serving
    assert bench.total("acked") == QUICK + 1
    (sample,) = bench.inspector.sample()
    assert (sample.ready, sample.prepare, sample.dead) == (11, 0, 0)
    assert {row.failures for row in bench.inspector.messages("work", "ready").rows} == {0}
    assert bench.inspector.workers() == []
    # Each is back at its old place.
    assert [delivery.text for delivery in bench.rmq.take("work", 20)] == [*after, "a newer one"]


def _state(bench: WorkerBench) -> str:
    return next((worker.state for worker in bench.inspector.workers()), "gone")


@pytest.mark.parametrize("how", ["the grace ends", "a second signal hurries"])
async def test_a_call_that_outlives_the_stop_keeps_only_its_own_message(
    bench: WorkerBench, gate: threading.Event, whole_batches: None, how: str
) -> None:
    """What was taken with it and not begun is given back at once, uncounted."""
    bench.topic(max_retries=0, visibility_timeout_ms=600_000)
    seen: list[str] = []

    def act(delivery: Delivery) -> None:
        seen.append(delivery.text)
        if delivery.text == "hang":
            gate.wait(60)

    bench.send(*(f"quick {i}" for i in range(QUICK)), priority=90)
    bench.send("hang", priority=80)
    bench.send(*(f"after {i}" for i in range(10)), priority=70)
    worker = bench.worker(Listener("work", act), grace_ms=50 if how == "the grace ends" else 600_000)
    serving = asyncio.create_task(worker.serve())
    await wait_until_async(
        lambda: "hang" in seen and len(bench.ledger().queues["prepare"]) == 11, what="one batch of hang and after"
    )
    worker.stop()
    if how == "a second signal hurries":
        await wait_until_async(lambda: _state(bench) == "stopping", what="the stop to begin")
        worker.stop()
    await serving
    assert bench.ledger().queues["prepare"].keys() == {b"hang"}
    assert {row.failures for row in bench.inspector.messages("work", "ready").rows} == {0}


async def test_a_definition_is_followed_within_a_moment(bench: WorkerBench) -> None:
    topic = bench.topic(max_retries=5)
    failures: list[int] = []

    def fail(delivery: Delivery) -> None:
        failures.append(delivery.attempt)
        raise ValueError

    async with bench.running(Listener("work", fail)):
        paused = bench.control.pause("work")
        await wait_until_async(lambda: paused, what="the pause")
        edited = bench.edit(paused, max_retries=0, paused=False)
        assert edited.version == topic.version + 2
        await wait_until_async(lambda: _versions(bench) == {"work": edited.version}, what="the heartbeat to say so")
        # Sent only once the worker has read it: the number of its reads is not ours to know, its effect is.
        await wait_until_async(lambda: _dies_at_once(bench, failures), what="the worker to follow the edit")


def _versions(bench: WorkerBench) -> dict[str, int]:
    return next(dict(worker.versions) for worker in bench.inspector.workers())


async def _dies_at_once(bench: WorkerBench, failures: list[int]) -> bool:
    failures.clear()
    name = f"probe {bench.total('sent')}"
    bench.send(name)
    await wait_until_async(lambda: name.encode() in bench.ledger().queues["dead"], what="the probe to die")
    return failures == [1]


async def test_pausing_stops_a_running_worker_and_resuming_starts_it(bench: WorkerBench) -> None:
    bench.topic()
    seen: list[str] = []
    async with bench.running(Listener("work", lambda delivery: seen.append(delivery.text))):
        bench.control.pause("work")

        async def holds() -> bool:
            """A message sent now is left alone: the worker knows of the pause."""
            name = f"probe {bench.total('sent')}"
            bench.send(name)
            with_time = asyncio.get_running_loop().time() + 0.2
            await wait_until_async(
                lambda: name in seen or asyncio.get_running_loop().time() > with_time, what="the probe"
            )
            return name not in seen

        await wait_until_async(holds, what="the worker to pause")
        held = bench.held()
        assert held >= 1
        bench.control.resume("work")
        await wait_until_async(lambda: bench.held() == 0, what="the worker to go on")


async def test_a_sleeping_worker_is_woken(bench: WorkerBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_slots, "FALLBACK_S", 3_600.0)
    bench.topic(slots=8)
    bench.topic("timed", TopicKind.FIXED_TIME)
    seen: list[str] = []
    listeners = [Listener(name, lambda delivery: seen.append(delivery.text)) for name in ("work", "timed")]
    async with bench.running(*listeners):
        for i in range(5):
            bench.send(f"message {i}")
            await wait_until_async(lambda i=i: f"message {i}" in seen, what="the worker to wake up")
        now = bench.inspector.now_ms()
        bench.rmq.send("timed", FixedTimeMessage("later", now + 3_600_000))
        bench.rmq.send("timed", FixedTimeMessage("sooner", now + 100), allow_past=True)
        await wait_until_async(lambda: "sooner" in seen, what="the earlier one")
    assert "later" not in seen


async def test_a_lost_wake_up_costs_one_look(bench: WorkerBench) -> None:
    bench.topic()
    seen: list[str] = []
    async with bench.running(Listener("work", lambda delivery: seen.append(delivery.text))):
        bench.send("first")
        await wait_until_async(lambda: seen, what="the worker to be at work")
        keys = bench.rmq.keyspace.slot("work", 0)
        with bench.raw.pipeline() as both:  # a send whose notification got lost
            both.hincrby(keys.stats, "sent", 1).zadd(keys.store, {"unheard": 20}).execute()
        await wait_until_async(lambda: "unheard" in seen, what="the fallback look")
    assert notifications.FALLBACK_S <= 1


async def test_the_heartbeat_says_what_the_worker_does(bench: WorkerBench, gate: threading.Event) -> None:
    bench.topic(slots=4)
    bench.topic("other", slots=2)
    bench.send("a")
    before = bench.inspector.now_ms()
    async with bench.running(
        Listener("work", lambda delivery: gate.wait(30)), Listener("other", print), name="w-1", threads=5
    ):
        await wait_until_async(lambda: bench.inspector.workers()[0].in_flight == 1, what="a heartbeat at work")
        (about,) = bench.inspector.workers()
        assert (about.name, about.topics, about.threads, about.state) == ("w-1", ("other", "work"), 5, "running")
        assert about.versions == {"other": 1, "work": 1}
        assert before - 1_000 <= about.started_ms <= about.seen_ms
        first = about.seen_ms
        await wait_until_async(lambda: bench.inspector.workers()[0].seen_ms > first, what="the next heartbeat")
        gate.set()
        await wait_until_async(lambda: bench.inspector.workers()[0].done == 1, what="the count of what is done")


async def test_a_topic_nobody_defined_keeps_a_worker_from_starting(bench: WorkerBench) -> None:
    with pytest.raises(errors.UnknownTopic, match="'work' is not defined"):
        await bench.worker(Listener("work", print)).serve()
    assert bench.inspector.workers() == []


async def test_a_silent_worker_is_called_lost(bench: WorkerBench) -> None:
    bench.topic()
    heartbeats = f"{bench.namespace}:workers"
    async with bench.running(Listener("work", print), name="w-1"):
        said = json.loads(bench.raw.hget(heartbeats, "w-1"))
        assert _state(bench) == "running"
    said["seen_ms"] -= fleet.LOST_AFTER_MS + 1  # as if it had been killed then instead
    bench.raw.hset(heartbeats, "w-1", json.dumps(said))
    del said["versions"]  # as those say it that were started before there was such a field
    bench.raw.hset(heartbeats, "w-1", json.dumps(said))
    assert (_state(bench), _versions(bench)) == ("lost", {})


@pytest.mark.parametrize("ticks", range(6))
async def test_a_stop_that_meets_news_of_a_definition_ends(bench: WorkerBench, ticks: int) -> None:
    """In Python 3.11 ``asyncio.wait_for`` loses a cancellation that meets the end of what it waits for."""
    bench.topic()
    async with bench.running(Listener("work", print)) as worker:
        following = asyncio.create_task(worker._follow_definitions())
        await asyncio.sleep(0)
        worker._changed.set()
        for _ in range(ticks):
            await asyncio.sleep(0)
        following.cancel()
        await asyncio.wait({following}, timeout=PATIENCE_S)
        assert following.cancelled()
