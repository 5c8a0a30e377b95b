"""Listeners with ``acks="none"``: what is handed out is done before the call, and never comes again."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any

import pytest

from rmq_core import (
    Addressed,
    Delivery,
    FixedTimeMessage,
    Hook,
    Listener,
    RangeMergeMessage,
    Reject,
    Release,
    Retry,
    Topic,
    TopicKind,
)
from rmq_core.errors import ConfigurationError
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.testing import Drained, TestQueue
from rmq_core.worker.at_most_once import warnings
from rmq_core.worker.settling import Settling
from tests.engine.worker.at_most_once_program import main
from tests.engine.worker.bench import WorkerBench
from tests.engine.worker.isolated_listeners import act as isolated_act
from tests.ownership.conftest import quick, quick_zookeeper
from tests.support.programs import Program
from tests.support.waiting import wait_until, wait_until_async

__all__ = ["quick", "quick_zookeeper"]

FLAVOURS = ["sync", "async"]
N = 40


def at_most_once(flavour: str, act: Any, **options: Any) -> Listener:
    if flavour == "sync":
        return Listener("work", lambda given: act(given), acks="none", **options)

    async def coroutine(given: Any) -> None:
        act(given)

    return Listener("work", coroutine, acks="none", **options)


def names(count: int = N) -> list[str]:
    return [f"m{number}" for number in range(count)]


def is_done(bench: WorkerBench, count: int) -> bool:
    return bench.total("acked") == count and bench.held() == 0


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.RANGE_MERGE, TopicKind.FIXED_TIME])
async def test_it_is_done_when_the_listener_is_called(bench: WorkerBench, kind: TopicKind, flavour: str) -> None:
    bench.topic(kind=kind)
    held: list[int] = []
    listener = at_most_once(flavour, lambda each: held.append(len(bench.ledger().queues["prepare"])))
    if kind is TopicKind.PRIORITY:
        bench.send(*names())
    elif kind is TopicKind.RANGE_MERGE:
        bench.rmq.send_many("work", [RangeMergeMessage(name, range_ms=1) for name in names()])
    else:
        bench.rmq.send_many("work", [FixedTimeMessage(name, due_ms=1_000) for name in names()], allow_past=True)
    async with bench.running(listener):
        await wait_until_async(lambda: len(held) == N, what="all of them")
        assert is_done(bench, N)
    assert held == [0] * N


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (ValueError("no"), "failed, and is lost"),
        (SystemExit(1), "failed, and is lost"),
        (Retry("again", delay_ms=0), "raised Retry, which does nothing"),
        (Release("not now"), "raised Release, which does nothing"),
        (Reject("never"), "raised Reject, which does nothing"),
    ],
)
async def test_what_it_raises_is_said_and_nothing_comes_again(
    bench: WorkerBench, caplog: pytest.LogCaptureFixture, flavour: str, raised: BaseException, said: str
) -> None:
    bench.topic(max_retries=3)
    seen: list[str] = []
    died: list[str] = []

    class Mourning(Hook):
        def dying(self, delivery: Delivery, error: BaseException) -> None:
            died.append(delivery.text)

    def act(delivery: Delivery) -> None:
        seen.append(delivery.text)
        if delivery.text == "bad":
            raise raised

    bench.send("bad", priority=30)
    bench.send("good")
    with caplog.at_level(logging.WARNING):
        async with bench.running(at_most_once(flavour, act), hooks=[Mourning()]) as worker:
            await wait_until_async(lambda: len(seen) == 2, what="both")
            (told,) = bench.inspector.workers()
            assert told.at_most_once == ("work",), "whoever watches the fleet is told"
    assert (seen, died) == (["bad", "good"], [])
    assert is_done(bench, 2)
    assert "work[0]: 'bad' " + said in caplog.text
    assert "consumes work at most once" in caplog.text
    work = worker._topics["work"].work
    assert (work.done, work.failed, work.stale) == (1, 1, 0)


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_a_batch_is_settled_at_once_and_answers_for_all(bench: WorkerBench, flavour: str) -> None:
    bench.topic()
    seen: list[list[str]] = []

    def act(deliveries: list[Delivery]) -> None:
        assert bench.ledger().queues["prepare"] == {}
        seen.append([each.text for each in deliveries])
        raise ValueError("all of them")

    bench.send(*names(25))
    async with bench.running(at_most_once(flavour, act, batch=10)):
        await wait_until_async(lambda: sum(map(len, seen)) == 25, what="all of them")
    assert sorted(name for some in seen for name in some) == sorted(names(25))
    assert is_done(bench, 25)


@pytest.mark.parametrize("batch", [1, 5])
def test_a_worker_killed_in_a_call_has_lost_it(bench: WorkerBench, batch: int) -> None:
    bench.topic(visibility_timeout_ms=1_000)
    bench.send(*names(10))
    begun = f"{bench.namespace}:begun"
    program = Program(main, {"url": bench.url, "namespace": bench.namespace, "batch": batch})
    try:
        wait_until(lambda: bench.raw.llen(begun) == batch, what="the call")
    finally:
        program.kill()
        program.wait()
    lost = {text if isinstance(text, str) else text.decode() for text in bench.raw.lrange(begun, 0, -1)}
    bench.raw.delete(begun)
    assert bench.ledger().queues["prepare"] == {}  # nothing is left that could come back
    assert bench.total("acked") == batch
    seen: list[str] = []

    async def the_others() -> None:
        async with bench.running(at_most_once("sync", lambda each: seen.append(each.text))):
            await wait_until_async(lambda: bench.held() == 0 and len(seen) == 10 - batch, what="the others")

    asyncio.run(the_others())
    assert sorted(seen) == sorted(set(names(10)) - lost)
    assert bench.total("expired") == 0


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_stopping_begins_all_that_was_handed_out(bench: WorkerBench, flavour: str) -> None:
    bench.topic()
    seen: list[str] = []

    def act(delivery: Delivery) -> None:
        seen.append(delivery.text)
        time.sleep(0.005)

    bench.send(*names(200))
    async with bench.running(at_most_once(flavour, act)):
        await wait_until_async(lambda: len(seen) > 40, what="some to be handed out together")
    # Whatever was not handed out is still there.
    assert bench.total("acked") == len(seen) == len(set(seen))
    assert len(bench.ledger().held) == 200 - len(seen)
    assert bench.ledger().queues["prepare"] == {}


async def test_something_better_waits_for_what_was_handed_out(bench: WorkerBench) -> None:
    bench.topic()
    seen: list[str] = []
    told = threading.Event()

    def act(delivery: Delivery) -> None:
        seen.append(delivery.text)
        time.sleep(0.002)
        if len(seen) == 50 and not told.is_set():
            told.set()
            bench.send("better", priority=900)

    bench.send(*names(200))
    async with bench.running(at_most_once("sync", act)):
        await wait_until_async(lambda: len(seen) == 201, what="all of them")
    assert sorted(seen) == sorted([*names(200), "better"])
    assert seen[-1] != "better"


async def test_a_coroutine_that_runs_too_long_is_cancelled_and_the_rest_begins(bench: WorkerBench) -> None:
    bench.topic()
    seen: list[str] = []

    async def act(delivery: Delivery) -> None:
        seen.append(delivery.text)
        if delivery.text in ("m20", "m21"):
            await asyncio.sleep(600)

    for number in range(N):
        bench.send(f"m{number}", priority=900 - number)
    async with bench.running(Listener("work", act, acks="none", max_runtime_ms=100)) as worker:
        await wait_until_async(lambda: len(seen) == N, timeout_s=20, what="all of them")
    assert seen == names()
    assert is_done(bench, N)
    assert (worker._topics["work"].work.done, worker._topics["work"].work.failed) == (N - 2, 2)


async def test_what_is_not_ours_any_more_is_not_handed_out(
    bench: WorkerBench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench.topic(visibility_timeout_ms=1_000)
    settle_first = Settling.settle_first
    seen: list[str] = []

    async def too_late(self: Settling, deliveries: Any) -> list[Delivery]:
        monkeypatch.setattr(Settling, "settle_first", settle_first)
        await wait_until_async(
            lambda: bench.rmq.take("work") != [] or bench.total("expired") > 0, what="its time to be over"
        )
        return await settle_first(self, deliveries)

    monkeypatch.setattr(Settling, "settle_first", too_late)
    bench.send("a")
    async with bench.running(at_most_once("sync", lambda each: seen.append(each.text))) as worker:
        await wait_until_async(lambda: worker._topics["work"].work.stale == 1, what="it to be stale")
        assert "1 settled too late, and not handed out" in caplog.text
        assert seen == []
        await wait_until_async(lambda: seen == ["a"], what="it to come again")
    assert is_done(bench, 1)


async def test_a_process_of_its_own_that_dies_takes_its_message_along(bench: WorkerBench) -> None:
    bench.topic(max_retries=3)
    bench.send("exit", "fail", "fine")
    listener = Listener("work", isolated_act, isolation="process", acks="none")
    async with bench.running(listener) as worker:
        work = worker._topics["work"].work
        await wait_until_async(lambda: (work.done, work.failed) == (1, 2), what="all three", timeout_s=60)
    assert is_done(bench, 3)


@pytest.mark.zookeeper
async def test_of_owned_slots(bench: WorkerBench, quick: ZooKeeperConfig) -> None:
    bench.topic(slots=4)
    seen: list[str] = []

    def act(delivery: Delivery) -> None:
        assert delivery.epoch
        seen.append(delivery.text)
        raise ValueError

    bench.send(*names())
    async with bench.running(at_most_once("sync", act), zookeeper=quick, name="owner"):
        await wait_until_async(lambda: len(seen) == N, what="all of them", timeout_s=30)
    assert sorted(seen) == sorted(names())
    assert is_done(bench, N)


async def test_what_follows_comes_after_the_call_and_not_after_a_failure(bench: WorkerBench) -> None:
    bench.topic(max_retries=0)
    bench.topic(name="next")
    seen: list[str] = []
    waits = threading.Event()

    def act(delivery: Delivery) -> None:
        if delivery.text == "bad":
            raise ValueError
        waits.wait(30)
        seen.append("good")

    for name in ("good", "bad"):
        then = {f"if_{how}": Addressed("next", f"{name} {how}", priority=20) for how in ("done", "dead")}
        bench.rmq.send("work", name, priority=20, **then)  # type: ignore[arg-type]
    after = Listener("next", lambda each: seen.append(each.text))
    async with bench.running(at_most_once("sync", act), after):
        await wait_until_async(lambda: bench.total("acked", "work") > 0, what="it to be handed out")
        waits.set()
        await wait_until_async(lambda: len(seen) == 2, what="what follows")
    assert seen == ["good", "good done"]
    assert bench.total("sent", "next") == 1


async def test_what_follows_and_cannot_be_sent_is_said(bench: WorkerBench, caplog: pytest.LogCaptureFixture) -> None:
    bench.topic()
    bench.rmq.send("work", "a", priority=20, if_done=Addressed("nowhere", "b", priority=20))
    async with bench.running(at_most_once("sync", lambda each: None)):
        await wait_until_async(lambda: "what follows 'a' is lost" in caplog.text, what="it to be said")
    assert is_done(bench, 1)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must be one of: each, none"):
        Listener("work", print, acks="some")
    waits = Topic("work", "priority", on_failure="wait")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="with acks='none' nothing fails"):
        Listener("work", print, waits, acks="none")


def test_the_test_queue_does_alike() -> None:
    seen: list[str] = []

    def act(delivery: Delivery) -> None:
        (sample,) = queue.inspector.sample(["work"])
        assert sample.prepare == 0
        seen.append(delivery.text)
        if delivery.text != "good":
            raise {"bad": ValueError, "retry": Retry, "release": Release, "reject": Reject}[delivery.text]

    async def act_async(delivery: Delivery) -> None:
        act(delivery)

    with TestQueue() as queue:
        queue.define(Topic("work", TopicKind.PRIORITY, slots=1, max_retries=3))
        queue.define(Topic("next", TopicKind.PRIORITY, slots=1))
        for listener in (Listener("work", act, acks="none"), Listener("work", act_async, acks="none")):
            seen.clear()
            for content in ("good", "bad", "retry", "release", "reject"):
                then = Addressed("next", f"after {content}", priority=20)
                queue.send("work", content, priority=20, if_done=then)
            assert queue.drain(listener) == Drained(done=1, failed=4)
            assert sorted(seen) == ["bad", "good", "reject", "release", "retry"]
            (sample,) = queue.inspector.sample(["work"])
            assert (sample.backlog, sample.prepare, sample.dead, sample.ledger_gap) == (0, 0, 0, 0)
            (follows,) = queue.rmq.take("next", 10)
            assert follows.text == "after good"
            queue.rmq.ack(follows)


async def test_it_says_which_promises_of_its_topic_end(bench: WorkerBench, caplog: pytest.LogCaptureFixture) -> None:
    """Two workers that share the slot: the next version begins while the first is handled, and both said so before."""
    bench.topic(in_order=True, first_version=1)
    running, two = threading.Semaphore(0), threading.Event()

    def act(_: Delivery) -> None:
        running.release()
        two.wait(10)

    for version in (1, 2):
        bench.rmq.send("work", f"v{version}", priority=20, key="k", version=version)
    with caplog.at_level(logging.WARNING):
        async with bench.running(at_most_once("sync", act)), bench.running(at_most_once("sync", act)):
            for _ in range(2):
                assert await asyncio.to_thread(running.acquire, timeout=10), "both run"
            two.set()
    assert caplog.text.count("may begin the next version of a key meanwhile (in_order)") == 2
    assert is_done(bench, 2)


def test_what_no_longer_holds_is_said_of_those_it_concerns() -> None:
    def said(shared: bool = True, **options: Any) -> str:
        return "; ".join(warnings(Topic("work", TopicKind.PRIORITY, **options), shared))

    assert said() == said(shared=False, in_order=True) == "what fails, or is in hand when it dies, is lost"
    assert "nothing waits behind what failed" in said(on_failure="wait")
    assert "counts none of it" in said(fair=True, tenant_limits="acme=3 at once", shared=False)
    assert "counts none of it" not in said(fair=True, tenant_limits="acme=held")


def test_one_entry_of_a_group_is_done_as_several_are() -> None:
    calls = []
    with TestQueue() as queue:
        queue.define(Topic("events", TopicKind.STREAM))
        listening = Listener("events", lambda given: calls.append(given.text), group="mails", acks="none")
        queue.send("events", "e1")
        assert queue.drain(listening) == Drained(done=1, failed=0)
        (sample,) = queue.inspector.sample(["events@mails"])
        assert (sample.counters.acked, sample.prepare) == (1, 0)
        queue.advance(minutes=10)
        assert queue.drain(listening) == Drained(done=0, failed=0)
    assert calls == ["e1"]
