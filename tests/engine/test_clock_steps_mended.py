"""Whoever meets a clock that has stepped back mends what is ahead of it: also who only pulls, on a full server, in
groups, and where it steps again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from rmq_core import RMQ, Control, Delivery, FixedTimeMessage, Inspector, MessageRef, PriorityMessage, Topic, TopicKind
from rmq_core.ops import hints
from rmq_core.ops.reaper import reap_overdue
from rmq_core.protocol.slot_calls import reap
from tests.engine.clock import ClockedRedis

BACK_MS, FAR_MS = 600_000, 3_600_000
TIMEOUT_MS, BACKOFF_MS = 5_000, 2_000
TIMES: dict[str, Any] = {"backoff_ms": BACKOFF_MS, "backoff_max_ms": BACKOFF_MS, "visibility_timeout_ms": TIMEOUT_MS}
WHAT = ["priority", "fixed-time", "range-merge", "group"]


@pytest.fixture(autouse=True)
def each_take_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does that comes a second later."""
    monkeypatch.setattr(hints, "LOOK_EVERY_S", 0.0)


class Queue:
    """A topic or a group, with messages that are ready."""

    def __init__(self, rmq: RMQ, clock: ClockedRedis, what: str = "priority", slots: int = 1) -> None:
        self.rmq, self.clock, self.what, self._sent = rmq, clock, what, 0
        kind = TopicKind.STREAM if what == "group" else TopicKind(what)
        topic = Topic("work", kind, slots=slots, **({} if what == "group" else TIMES))
        self.topic = rmq.define(topic)
        if what == "group":
            self.topic = rmq.define_group("work", "g", **TIMES)

    @property
    def waits_for_its_time(self) -> bool:
        """What is back at its place is due when it was, however often it was handed out."""
        return self.what in {"fixed-time", "range-merge"}

    def send(self, n: int) -> None:
        for _ in range(n):
            self._sent += 1
            content, key = f"{self._sent}", f"k{self._sent}"
            if self.what == "priority":
                self.rmq.send("work", PriorityMessage(content, 20, key=key))
            elif self.what == "fixed-time":
                self.rmq.send("work", FixedTimeMessage(content, self.clock.now_ms, key=key))
            elif self.what == "range-merge":
                self.rmq.send("work", content, key=key, range_ms=1)
            else:
                self.rmq.send("work", content, slot_basis=key)
        self.clock.move(1)

    def take(self, n: int = 1) -> list[Delivery]:
        return self.rmq.take(self.topic.name, n)

    def taken(self, n: int) -> list[Delivery]:
        """So many that are sent now."""
        self.send(n)
        found: list[Delivery] = []
        while len(found) < n:
            found += (some := self.take(n - len(found)))
            assert some
        return found

    def drained(self) -> set[str]:
        """Whatever comes, also alone and after another look; done."""
        came: list[Delivery] = []
        empty = 0
        while empty < 3:
            some = self.take(1_000)
            empty = 0 if some else empty + 1
            came += some
            self.rmq.ack(some) if some else None
        return {each.text for each in came}

    def has(self, field: str) -> bool:
        return bool(self.rmq.connection.client.hexists(self.rmq.keyspace.slot(self.topic.name, 0).stats, field))


Look: TypeAlias = Callable[[Queue], None]


def by_take(queue: Queue) -> None:
    assert queue.take(5) == []


def by_keeper(queue: Queue) -> None:
    queue.rmq.run(reap_overdue(queue.rmq.keyspace, Inspector(queue.rmq).sample([queue.topic.name])))


def by_cycle(queue: Queue) -> None:
    queue.rmq.connection.run([reap(queue.rmq.keyspace, queue.topic, 0)])


LOOKS = pytest.mark.parametrize("look", [by_take, by_keeper])


@LOOKS
@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("slots", [1, 4])
def test_what_waits_comes_in_its_time(clocked: RMQ, clock: ClockedRedis, what: str, slots: int, look: Look) -> None:
    queue = Queue(clocked, clock, what, slots)
    failed, released = queue.taken(6), queue.taken(6)
    clocked.nack(failed)
    clocked.release(released, delay_ms=1_000)
    clock.move(-BACK_MS)
    look(queue)
    clock.move(999)
    assert queue.drained() == set()
    clock.move(1)
    assert queue.drained() == {each.text for each in released}
    clock.move(BACKOFF_MS - 1_001)
    assert queue.drained() == set()
    clock.move(1)
    assert queue.drained() == {each.text for each in failed}


@LOOKS
@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("slots", [1, 4])
def test_what_was_taken_times_out_a_timeout_after_it_was_seen(
    clocked: RMQ, clock: ClockedRedis, what: str, slots: int, look: Look
) -> None:
    queue = Queue(clocked, clock, what, slots)
    held = queue.taken(6)
    clock.move(-BACK_MS)
    look(queue)
    clock.move(TIMEOUT_MS - 1)
    assert queue.drained() == set()
    clock.move(1)
    by_take(queue) if queue.waits_for_its_time else None
    clock.move(BACK_MS if queue.waits_for_its_time else 0)
    assert queue.drained() == {each.text for each in held}
    assert set(clocked.ack(held)) == {"stale"}
    assert not queue.has("stepped_back")


@LOOKS
def test_a_later_step_gives_a_whole_timeout_again(clocked: RMQ, clock: ClockedRedis, look: Look) -> None:
    queue = Queue(clocked, clock)
    first = queue.taken(1)
    clock.move(-BACK_MS)
    look(queue)
    clocked.ack(first)
    clock.move(BACK_MS // 2)
    held = queue.taken(1)
    clock.move(-BACK_MS // 4)
    for _ in range(2):
        look(queue)
    clock.move(TIMEOUT_MS - 1)
    look(queue)
    assert queue.drained() == set() and clocked.extend(held) == ["done"]
    clocked.ack(held)
    by_cycle(queue)
    assert not queue.has("stepped_back")


@pytest.mark.parametrize("extended", [False, True])
def test_a_step_amid_another_gives_a_whole_timeout_to_what_came_between(
    clocked: RMQ, clock: ClockedRedis, extended: bool
) -> None:
    queue = Queue(clocked, clock)
    queue.taken(1)
    clock.move(-BACK_MS)
    early = queue.taken(1)
    clock.move(TIMEOUT_MS - 100)
    if extended:
        assert clocked.extend(early) == ["done"]
    else:
        clocked.ack(early)
        early = queue.taken(1)
    clock.move(-3_000)
    by_take(queue)
    clock.move(3_200)
    by_take(queue)
    assert clocked.ack(early) == ["done"]
    clock.move(TIMEOUT_MS)
    assert queue.drained() == {"1"}


def test_what_times_out_hides_nothing_that_is_ahead(clocked: RMQ, clock: ClockedRedis) -> None:
    queue = Queue(clocked, clock)
    queue.taken(250)
    clock.move(BACK_MS)
    clocked.send("work", PriorityMessage("high", 500))
    (held,) = queue.take(1_000)
    clock.move(TIMEOUT_MS - BACK_MS)
    by_cycle(queue)
    clock.move(TIMEOUT_MS)
    by_cycle(queue)
    assert clocked.ack(held) == ["stale"]


@pytest.mark.parametrize("what", WHAT)
def test_what_is_due_keeps_nothing_from_its_right_time(clocked: RMQ, clock: ClockedRedis, what: str) -> None:
    queue = Queue(clocked, clock, what)
    failed, released = queue.taken(150), queue.taken(1)
    clocked.release(released, delay_ms=1_000)
    clock.move(BACK_MS)
    clocked.nack(failed)
    clock.move(1_000 - BACK_MS)
    by_cycle(queue)
    by_cycle(queue)
    clock.move(BACKOFF_MS)
    assert queue.drained() == {each.text for each in [*failed, *released]}


@pytest.mark.parametrize("how", ["at once", "and what failed between"])
def test_a_step_amid_the_walk_of_another_shortens_all_again(clocked: RMQ, clock: ClockedRedis, how: str) -> None:
    queue = Queue(clocked, clock)
    clocked.nack(queue.taken(250))
    clock.move(-BACK_MS)
    by_cycle(queue)
    if how != "at once":
        clock.move(BACK_MS // 2)
        clocked.nack(queue.taken(1))
    clock.move(-BACK_MS)
    for _ in range(4):
        by_cycle(queue)
    clock.move(BACKOFF_MS)
    assert len(queue.drained()) == 250 + (how != "at once")
    assert not queue.has("waits_at")


@pytest.mark.parametrize("what", ["group", "fixed-time"])
def test_a_time_that_was_given_is_kept(clocked: RMQ, clock: ClockedRedis, what: str) -> None:
    """Beside what failed, and was released with a delay: of that nobody has said so."""
    queue, control = Queue(clocked, clock, what), Control(clocked)
    clocked.nack(queue.taken(40), delay_ms=1)
    clock.move(1)
    failed = queue.take(40)
    assert len(failed) == 40
    clocked.release(failed[:2], delay_ms=1_000)
    clocked.release(failed[2:], delay_ms=FAR_MS // 2)
    due_ms = clock.now_ms + FAR_MS
    for n, each in enumerate(failed[2:]):
        ref = MessageRef(each.slot, each.id)
        assert [done.status for done in control.reschedule(queue.topic.name, [ref], due_ms=due_ms + n * 2)] == ["done"]
    clocked.release(queue.taken(1), delay_ms=1_000)
    clock.move(-BACK_MS)
    by_take(queue)
    clock.move(FAR_MS // 2)
    assert len(queue.drained()) == 3
    clock.move(due_ms - clock.now_ms - 1)
    assert queue.drained() == set()
    clock.move(40 * 2)
    assert len(queue.drained()) == 38


def test_many_extensions_hold_nothing_else(clocked: RMQ, clock: ClockedRedis) -> None:
    """Of a delivery that is extended again and again, before the step and after it."""
    queue = Queue(clocked, clock)
    _, long = queue.taken(2)
    for _ in range(33):
        clocked.extend(long, for_ms=60_000)
        clock.move(10)
    queue.taken(1)
    clock.move(-FAR_MS)
    assert queue.take() == []
    for _ in range(2):
        clocked.extend(long, for_ms=60_000)
    came: list[str] = []
    for _ in range(4):  # a take ends what has timed out, and brings it when its back-off is over
        clock.move(TIMEOUT_MS)
        clocked.ack(taken := queue.take(5))
        came += [each.text for each in taken]
    assert sorted(came) == ["1", "3"]


def test_many_given_times_hold_nothing_else(clocked: RMQ, clock: ClockedRedis) -> None:
    queue, control = Queue(clocked, clock, "group"), Control(clocked)
    all_of = queue.taken(36)
    clocked.release(all_of, delay_ms=1_000)

    def give(n: int, due_ms: int) -> None:
        control.reschedule(queue.topic.name, [MessageRef(all_of[n].slot, all_of[n].id)], due_ms=due_ms)

    for n in range(33):
        give(n, clock.now_ms + FAR_MS + n * 10)
    clock.move(-FAR_MS)
    for n in range(2):
        give(n, clock.now_ms + 10_000 + n)
    came: list[str] = []
    for _ in range(4):
        clock.move(1_000)
        clocked.ack(taken := queue.take(10))
        came += [each.text for each in taken]
    assert sorted(came) == [all_of[n].text for n in (33, 34, 35)]


def test_a_full_server_goes_on(clocked: RMQ, clock: ClockedRedis) -> None:
    queue = Queue(clocked, clock)
    client = clocked.connection.client
    clocked.nack(queue.taken(3))
    held = queue.taken(3)
    queue.send(3)
    client.config_set("maxmemory", 1)
    try:
        clock_moves(clock, -BACK_MS)
        assert len(queue.take(2)) == 2
        assert len(queue.take(2)) == 1
        clock_moves(clock, BACKOFF_MS)
        assert len(queue.drained()) == 3
        clock_moves(clock, TIMEOUT_MS - BACKOFF_MS)
        assert {each.text for each in held} <= queue.drained()
    finally:
        client.config_set("maxmemory", 0)


def clock_moves(clock: ClockedRedis, by_ms: int) -> None:
    """The clock is a key of the server, which may be full."""
    client = clock
    client.config_set("maxmemory", 0)
    clock.move(by_ms)
    client.config_set("maxmemory", 1)
