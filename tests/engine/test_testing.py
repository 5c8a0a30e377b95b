"""`TestQueue`: what applications test their listeners with."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rmq_core import (
    Addressed,
    Delivery,
    FixedTimeMessage,
    Listener,
    PriorityMessage,
    Reject,
    Release,
    Retry,
    Topic,
    TopicKind,
    listener,
)
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConfigurationError
from rmq_core.ops import hints
from rmq_core.testing import Drained, TestQueue
from tests.support.keys import keys_of
from tests.support.waiting import wait_until

MAIL = Topic("mail", TopicKind.PRIORITY, slots=2, backoff_ms=0, backoff_max_ms=0, max_retries=1)


@pytest.fixture
def queue() -> Iterator[TestQueue]:
    with TestQueue() as queue:
        queue.define(MAIL)
        yield queue


def send(queue: TestQueue, *contents: str) -> None:
    queue.rmq.send_many("mail", [PriorityMessage(content, 20) for content in contents])


def states(queue: TestQueue) -> dict[str, int]:
    (sample,) = queue.inspector.sample(["mail"])
    return {"ready": sample.ready, "retrying": sample.retrying, "dead": sample.dead}


def test_nothing_is_logged(queue: TestQueue, caplog: pytest.LogCaptureFixture) -> None:
    send(queue, "a")
    assert queue.drain(Listener("mail", lambda delivery: None)) == Drained(done=1, failed=0)
    assert caplog.records == []


def test_what_runs_again_is_not_compiled_again(queue: TestQueue) -> None:
    """Or a test of a hundred messages would take a second."""
    send(queue, "a")
    (session,) = {each.get_socket() for each in queue.rmq.connection.client.connection_pool._available_connections}
    kept = session._server._lua_runtime._compiled.cache_info
    before = kept()
    send(queue, "b")
    assert (kept().misses, kept().hits > before.hits) == (before.misses, True)


def test_outcomes_count_as_in_a_worker(queue: TestQueue) -> None:
    outcomes = {"fine": None, "bad": ValueError("no"), "never": Reject("no"), "later": Retry(delay_ms=60_000)}
    released: list[str] = []

    def act(delivery: Delivery) -> None:
        if delivery.text == "busy" and not released:
            released.append("busy")
            raise Release
        if (error := outcomes.get(delivery.text)) is not None:
            raise error

    send(queue, *outcomes, "busy")
    # "bad" fails twice and is dead; "busy" comes back at once, uncounted.
    assert queue.drain(Listener("mail", act)) == Drained(done=2, failed=5)
    assert states(queue) == {"ready": 0, "retrying": 1, "dead": 2}


def test_what_cannot_follow_makes_it_a_failure_as_in_a_worker(queue: TestQueue) -> None:
    queue.define(Topic("full", "priority", max_backlog=1))
    queue.send("full", "there", priority=20)
    follow = Addressed("full", "next", priority=20)
    for content in ("one", "two"):
        queue.send("mail", content, priority=20, if_done=follow)
    send(queue, "three")
    calls: list[str] = []
    assert queue.drain(Listener("mail", lambda batch: calls.extend(each.text for each in batch), batch=3)).done == 1
    assert sorted(calls) == ["one", "one", "three", "two", "two"] and states(queue)["dead"] == 2
    assert all("BacklogFull: " in (row.error or "") for row in queue.inspector.messages("mail", "dead").rows)


def test_what_cannot_follow_what_was_done_before_is_said(queue: TestQueue, caplog: pytest.LogCaptureFixture) -> None:
    queue.send("mail", "one", priority=20, if_done=Addressed("nowhere", "next", priority=20))
    lost = Listener("mail", lambda delivery: None, acks="none")
    assert queue.drain(lost) == Drained(done=1, failed=0)
    assert "what follows 'one' of topic 'mail' is lost: topic 'nowhere'" in caplog.text


def test_it_stops_where_it_is_told_to_and_hands_out_batches(queue: TestQueue) -> None:
    send(queue, *(str(number) for number in range(20)))
    sizes: list[int] = []
    assert queue.drain(Listener("mail", lambda batch: sizes.append(len(batch)), batch=4), at_most=10).done == 10
    assert sum(sizes) == 10 and max(sizes) <= 4
    assert states(queue)["ready"] == 10


def test_a_rate_slows_it_and_does_not_end_it(queue: TestQueue) -> None:
    queue.control.put_topic(dataclasses.replace(MAIL, rate_limit=50), 1)
    send(queue, *(str(number) for number in range(20)))
    assert queue.drain(Listener("mail", lambda delivery: None)) == Drained(done=20, failed=0)


@pytest.mark.parametrize(
    "limits", [{"concurrency": 1}, {"key_concurrency": 1}, {"concurrency": 2, "key_concurrency": 1}]
)
def test_a_limit_of_what_is_in_flight_does_not_end_it(queue: TestQueue, limits: dict[str, int]) -> None:
    queue.define(Topic("calls", "priority", slots=4, **limits))  # type: ignore[arg-type]
    names = [f"{key}{n}" for key in "abc" for n in range(12)]
    queue.rmq.send_many("calls", [PriorityMessage(name, 20, key=name, slot_basis=name[0]) for name in names])
    done: list[str] = []
    assert queue.drain(Listener("calls", lambda delivery: done.append(delivery.text))).done == len(names)
    assert sorted(done) == sorted(names)


def test_what_has_expired_before_it_does_not_end_it(queue: TestQueue) -> None:
    queue.define(Topic("offers", "priority", slots=1))
    queue.rmq.send_many("offers", [PriorityMessage(f"late-{n}", 20, expires_ms=1) for n in range(450)])
    queue.rmq.send("offers", "good", priority=17)
    wait_until(lambda: queue.inspector.why("offers", "late-449").reasons[0].code == "expired", what="the time to pass")
    assert queue.drain(Listener("offers", lambda delivery: None)) == (1, 0)


def test_a_paused_topic_hands_out_nothing(queue: TestQueue) -> None:
    queue.control.put_topic(dataclasses.replace(MAIL, rate_limit=50, paused=True), 1)
    send(queue, "a")
    assert queue.drain(Listener("mail", print)) == Drained(done=0, failed=0)


OUTCOMES = {
    "fine": None,
    "bad": ValueError("no"),
    "never": Reject("no"),
    "exits": SystemExit(1),
    "cancelled": asyncio.CancelledError(),
    "later": Retry(delay_ms=60_000),
}


@listener(MAIL)
async def act_later(delivery: Delivery) -> None:
    await asyncio.sleep(0)
    if (error := OUTCOMES[delivery.text]) is not None:
        raise error


def test_a_coroutine_counts_as_in_a_worker(queue: TestQueue) -> None:
    send(queue, *OUTCOMES)
    assert queue.drain(act_later) == Drained(done=1, failed=8)
    assert states(queue) == {"ready": 0, "retrying": 1, "dead": 4}
    send(queue, "fine")
    assert queue.drain(act_later) == Drained(done=1, failed=0)


async def not_now(delivery: Delivery) -> None:
    raise Release


def not_yet(delivery: Delivery) -> None:
    raise Release(delay_ms=0)


@pytest.mark.parametrize("act", [not_now, not_yet])
def test_what_is_released_for_ever_ends_in_words(queue: TestQueue, act: Callable[[Delivery], Any]) -> None:
    send(queue, "fine")
    with pytest.warns(
        RuntimeWarning, match=f"after 7 deliveries .at_most=7.: .*{act.__name__} releases 'fine' of topic 'mail'"
    ):
        assert queue.drain(Listener("mail", act), at_most=7) == Drained(done=0, failed=7)
    assert states(queue)["ready"] == 1


def test_what_is_released_without_a_bound_ends_too(queue: TestQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rmq_core.testing.RELEASES_MAX", 20)
    send(queue, "fine", "other")
    with pytest.warns(RuntimeWarning, match="not_yet releases"):
        assert 20 <= queue.drain(Listener("mail", not_yet)).failed <= 40


def test_what_was_released_twice_and_then_done_is_not_worth_a_word(queue: TestQueue) -> None:
    send(queue, "fine", "other")
    calls: Counter[str] = Counter()

    def act(delivery: Delivery) -> None:
        calls[delivery.text] += 1
        if calls[delivery.text] < 4:
            raise Release

    assert queue.drain(Listener("mail", act), at_most=8) == Drained(done=2, failed=6)
    send(queue, "later")
    assert queue.drain(Listener("mail", not_yet), at_most=1) == Drained(done=0, failed=1)


async def test_a_test_that_is_a_coroutine_awaits_it(queue: TestQueue) -> None:
    send(queue, "fine")
    with pytest.raises(ConfigurationError, match="await queue"):
        queue.drain(act_later)
    loops: list[object] = []

    async def act(deliveries: list[Delivery]) -> None:
        loops.append(asyncio.get_running_loop())

    assert await queue.drain_async(Listener("mail", act, batch=10)) == Drained(done=1, failed=0)
    assert loops == [asyncio.get_running_loop()]
    send(queue, "fine")
    assert await queue.drain_async(Listener("mail", lambda delivery: None)) == Drained(done=1, failed=0)


async def test_a_test_that_is_cancelled_ends(queue: TestQueue) -> None:
    send(queue, "fine")

    begun = asyncio.Event()

    async def hang(delivery: Delivery) -> None:
        begun.set()
        await asyncio.Event().wait()

    drained = asyncio.create_task(queue.drain_async(Listener("mail", hang)))
    await begun.wait()
    drained.cancel()
    with pytest.raises(asyncio.CancelledError):
        await drained
    assert queue.inspector.sample(["mail"])[0].prepare == 1


class Failed(BaseException):
    """As test frameworks raise it."""


def test_what_fails_a_test_goes_through(queue: TestQueue) -> None:
    async def fail(delivery: Delivery) -> None:
        raise Failed

    send(queue, "fine")
    with pytest.raises(Failed):
        queue.drain(Listener("mail", fail))


def test_time_passes_as_told(queue: TestQueue) -> None:
    queue.define(Topic("reminder", TopicKind.FIXED_TIME, visibility_timeout_ms=60_000, rate_limit=100))
    done: list[str] = []
    remind = Listener("reminder", lambda delivery: done.append(delivery.text))
    due_ms = queue.inspector.now_ms() + 3_600_000
    queue.rmq.send_many("reminder", [FixedTimeMessage(name, due_ms + n) for n, name in enumerate(("a", "b"))])
    queue.advance(minutes=59)
    assert queue.drain(remind) == Drained(done=0, failed=0)
    queue.advance(minutes=1, milliseconds=1)
    assert queue.drain(remind, at_most=1) == Drained(done=1, failed=0)
    (held,) = queue.rmq.take("reminder", timeout_ms=1_000)
    queue.advance(seconds=61)  # nobody settles it
    queue.drain(remind)
    assert (done, queue.rmq.ack(held)) == (["a", "b"], ["stale"])
    assert queue.inspector.now_ms() - due_ms >= 61_000
    send(queue, "fine")
    queue.drain(Listener("mail", bad))
    assert states(queue)["dead"] == 1
    for wrong in (-1, -0.001):
        with pytest.raises(ConfigurationError, match="forward"):
            queue.advance(seconds=wrong)
    for wrong in (float("nan"), float("inf"), "1"):
        with pytest.raises(ConfigurationError, match="cannot be moved by that"):
            queue.advance(seconds=wrong)
    with pytest.raises(ConfigurationError, match="2255"):
        queue.advance(days=365 * 300)


def order_of_a_drain() -> list[str]:
    done: list[str] = []
    with TestQueue() as queue:
        queue.define(Topic("many", TopicKind.PRIORITY, slots=64))
        queue.rmq.send_many("many", [PriorityMessage(f"m{n}", 20) for n in range(80)])
        queue.drain(Listener("many", lambda delivery: done.append(delivery.text)), at_most=76)
        done += [delivery.text for delivery in queue.rmq.take("many", 4)]
    return done


@pytest.mark.parametrize("look_every_s", [0.0, 3_600.0], ids=["slowly", "fast"])
def test_equals_of_several_slots_come_in_the_same_order_each_time(
    monkeypatch: pytest.MonkeyPatch, look_every_s: float
) -> None:
    first = order_of_a_drain()
    assert len(set(first)) == 80
    monkeypatch.setattr(hints, "LOOK_EVERY_S", look_every_s)
    assert all(order_of_a_drain() == first for _ in range(2))


def test_what_has_failed_comes_back_in_the_same_order_each_time() -> None:
    def order() -> list[str]:
        done: list[str] = []

        def odd(delivery: Delivery) -> None:
            done.append(delivery.text)
            if len(done) % 3 == 0 and delivery.attempt < 3:
                raise ValueError("no")

        with TestQueue() as queue:
            queue.define(Topic("many", TopicKind.PRIORITY, slots=8, backoff_ms=0))
            queue.rmq.send_many("many", [PriorityMessage(f"m{n}", 20) for n in range(60)])
            queue.drain(Listener("many", odd))
        return done

    first = order()
    assert len(first) > 70 and all(order() == first for _ in range(3))


def bad(delivery: Delivery) -> None:
    raise ValueError("no")


def test_two_queues_have_a_clock_each(queue: TestQueue) -> None:
    with TestQueue() as other:
        other.advance(days=1)
        assert other.inspector.now_ms() - queue.inspector.now_ms() > 86_000_000
        other.define(MAIL)
        send(other, "fine")
        assert queue.drain(Listener("mail", print)) == Drained(done=0, failed=0)


def test_on_a_server_nothing_is_left(redis_server: EmbeddedRedis) -> None:
    with TestQueue(redis_server.url) as queue:
        queue.define(MAIL)
        send(queue, "a", "b")
        assert queue.drain(Listener("mail", lambda delivery: None), at_most=1).done == 1
        namespace = queue.rmq.keyspace.namespace
        with pytest.raises(ConfigurationError, match="clock of a server"):
            queue.advance(hours=1)
    with redis_server.client() as raw:
        assert keys_of(raw, namespace) == []


def test_a_group_of_a_stream_is_drained_like_a_topic(queue: TestQueue) -> None:
    events = Topic("events", TopicKind.STREAM, max_retries=1, backoff_ms=60_000)
    seen: list[tuple[str, int]] = []

    @listener(events, group="statistics")
    def count(delivery: Delivery) -> None:
        seen.append((delivery.text, delivery.attempt))
        if delivery.text == "bad":
            raise ValueError("no")

    queue.define(events)
    queue.send(events, "good")
    queue.send(events, "bad", slot_basis="x")
    assert queue.drain(count) == (1, 1)
    queue.advance(minutes=2)
    assert queue.drain(count) == (0, 1)
    assert sorted(seen) == [("bad", 1), ("bad", 2), ("good", 1)]
    (dead,) = queue.inspector.messages("events@statistics", "dead").rows
    assert dead.preview == b"bad"
