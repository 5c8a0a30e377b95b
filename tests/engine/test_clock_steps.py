"""The server's clock steps back by ten minutes, and forward: what holds for a while holds no longer than that."""

from __future__ import annotations

import time

import pytest

from rmq_core import RMQ, Control, FixedTimeMessage, Inspector, PriorityMessage, StreamMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.journal import reader
from rmq_core.model.topic import Journal
from rmq_core.ops.reaper import reap_overdue
from rmq_core.protocol.scripts import Call, script
from rmq_core.protocol.slot_calls import reap
from tests.engine.clock import ClockedRedis

BACK_MS = 600_000
TIMEOUT_MS, BACKOFF_MS = 5_000, 2_000


@pytest.fixture
def rmq(clocked: RMQ) -> RMQ:
    return clocked


def define(rmq: RMQ, kind: TopicKind = TopicKind.PRIORITY, **options: int) -> Topic:
    settings = {"backoff_ms": BACKOFF_MS, "backoff_max_ms": BACKOFF_MS, "visibility_timeout_ms": TIMEOUT_MS} | options
    return rmq.define(Topic("work", kind, slots=1, **settings))


def look(rmq: RMQ, topic: Topic) -> None:
    """What any consumer or keeper does on the way."""
    rmq.connection.run([reap(rmq.keyspace, topic, 0)])


def look_of_keeper(rmq: RMQ) -> None:
    """The same, by one that knows no more than its samples say."""
    rmq.run(reap_overdue(rmq.keyspace, Inspector(rmq).sample()))


def test_a_limited_topic_goes_on(rmq: RMQ, clock: ClockedRedis) -> None:
    define(rmq, rate_limit=100)
    rmq.send_many("work", [PriorityMessage(f"{n}", 20) for n in range(50)])
    assert rmq.take("work", 50)
    clock.move(-BACK_MS)
    taken = rmq.take("work", 50)
    clock.move(50)
    assert taken or rmq.take("work", 50)


def test_a_delivery_times_out_one_timeout_after_the_step(rmq: RMQ, clock: ClockedRedis) -> None:
    topic = define(rmq)
    rmq.send("work", PriorityMessage("a", 20))
    (held,) = rmq.take("work")
    clock.move(-BACK_MS)
    look(rmq, topic)
    clock.move(TIMEOUT_MS - 1)
    look(rmq, topic)
    assert rmq.take("work") == []
    clock.move(1)
    look(rmq, topic)
    (again,) = rmq.take("work")
    assert (again.text, again.attempt) == ("a", 2)
    assert rmq.ack(held) == ["stale"]


def test_what_is_extended_for_long_is_left_in_peace(rmq: RMQ, clock: ClockedRedis) -> None:
    topic = define(rmq)
    rmq.send("work", PriorityMessage("a", 20))
    (held,) = rmq.take("work")
    assert rmq.extend(held, for_ms=3_600_000) == ["done"]
    for _ in range(3):
        clock.move(TIMEOUT_MS + 1)
        look(rmq, topic)
    assert rmq.ack(held) == ["done"]


def test_what_is_extended_for_long_keeps_no_other_from_its_timeout(rmq: RMQ, clock: ClockedRedis) -> None:
    topic = define(rmq)
    rmq.send_many("work", [PriorityMessage(name, 20) for name in ("long", "other")])
    long, _ = rmq.take("work", 2)
    assert rmq.extend(long, for_ms=60_000) == ["done"]
    clock.move(-BACK_MS)
    look(rmq, topic)
    clock.move(TIMEOUT_MS)
    look(rmq, topic)
    (again,) = rmq.take("work", 2)
    assert again.text == "other"
    rmq.ack(again)
    clock.move(60_000 - TIMEOUT_MS - 1)
    look(rmq, topic)
    assert rmq.take("work") == []
    clock.move(2)
    look(rmq, topic)
    (again,) = rmq.take("work")
    assert again.text == "long"


def test_very_many_extensions_are_left_in_peace(rmq: RMQ, clock: ClockedRedis) -> None:
    topic = define(rmq)
    rmq.send_many("work", [PriorityMessage(f"{n}", 20) for n in range(50)])
    held = rmq.take("work", 50)
    for n, each in enumerate(held):
        assert rmq.extend(each, for_ms=3_600_000 - n * 50_000) == ["done"]
    for _ in range(3):
        clock.move(TIMEOUT_MS + 1)
        look(rmq, topic)
    assert set(rmq.ack(held)) == {"done"}


def test_a_back_off_lasts_no_longer_than_from_now(rmq: RMQ, clock: ClockedRedis) -> None:
    topic = define(rmq)
    rmq.send("work", PriorityMessage("a", 20))
    rmq.nack(rmq.take("work"))
    clock.move(-BACK_MS)
    look(rmq, topic)
    clock.move(BACKOFF_MS - 1)
    assert rmq.take("work") == []
    clock.move(1)
    (again,) = rmq.take("work")
    assert again.attempt == 2


@pytest.mark.parametrize("kind", [TopicKind.PRIORITY, TopicKind.RANGE_MERGE])
def test_what_was_released_waits_no_longer_than_from_now(rmq: RMQ, clock: ClockedRedis, kind: TopicKind) -> None:
    topic = define(rmq, kind)
    rmq.send("work", "a", **({"priority": 20} if kind is TopicKind.PRIORITY else {"range_ms": 1}))  # type: ignore[arg-type]
    clock.move(1)
    rmq.release(rmq.take("work"), delay_ms=1_000)
    clock.move(-BACK_MS)
    look(rmq, topic)
    clock.move(999)
    assert rmq.take("work") == []
    clock.move(1)
    (again,) = rmq.take("work")
    assert again.attempt == 1


@pytest.mark.parametrize("new", [False, True], ids=["alone", "beside new ones"])
def test_all_back_offs_are_shortened_whatever_stands_before_them(rmq: RMQ, clock: ClockedRedis, new: bool) -> None:
    topic = define(rmq)
    rmq.send("work", PriorityMessage("released", 20))
    rmq.release(rmq.take("work"), delay_ms=1_000)
    rmq.send_many("work", [PriorityMessage(f"{n}", 20) for n in range(250)])
    rmq.nack(rmq.take("work", 250))
    clock.move(-BACK_MS)
    if new:
        rmq.send("work", PriorityMessage("new", 20))
        rmq.nack(rmq.take("work"), delay_ms=60_000)
        rmq.send("work", PriorityMessage("newer", 20))
        rmq.nack(rmq.take("work"), delay_ms=1)
    for _ in range(4):
        look(rmq, topic)
    clock.move(BACKOFF_MS)
    for _ in range(4):
        look(rmq, topic)
    taken = rmq.take("work", 1_000)
    assert len(taken) == 251 + new
    rmq.ack(taken)
    clock.move(60_000 - BACKOFF_MS)
    assert [delivery.text for delivery in rmq.take("work")] == (["new"] if new else [])


@pytest.mark.parametrize("step_ms", [BACK_MS, 365 * 86_400_000])
def test_an_id_is_accepted_once_a_period_after_the_step(rmq: RMQ, clock: ClockedRedis, step_ms: int) -> None:
    period_ms = 60_000
    define(rmq, unique_for_ms=period_ms)

    def duplicate(name: str) -> bool:
        return rmq.send("work", PriorityMessage(name, 20)).duplicate

    assert not duplicate("before")
    clock.move(step_ms)
    assert not duplicate("ahead")
    clock.move(1_000)
    assert not duplicate("later")
    clock.move(-step_ms)
    assert duplicate("ahead") and duplicate("later")
    clock.move(period_ms)
    assert not duplicate("after")
    clock.move(period_ms - 1)
    assert [duplicate(name) for name in ("before", "ahead", "later", "after")] == [False, False, False, True]
    clock.move(1)
    assert not duplicate("after")


def test_a_lease_ends_though_its_time_seems_far(rmq: RMQ, redis_server: EmbeddedRedis, namespace: str) -> None:
    keys = rmq.keyspace.election("keeper")
    with redis_server.client() as raw:
        raw.set(keys[0], "7 somebody", px=BACK_MS)
    assert rmq.connection.run([Call(script("lead"), list(keys), ["me", 5_000])]) == [[0, 5_000]]
    with redis_server.client() as raw:
        assert raw.pttl(keys[0]) <= 5_000


@pytest.mark.parametrize("step_ms", [-BACK_MS, BACK_MS])
def test_nothing_is_early_nor_lost(rmq: RMQ, clock: ClockedRedis, namespace: str, step_ms: int) -> None:
    topic = define(rmq, TopicKind.FIXED_TIME)
    due_ms = clock.now_ms + 60_000
    rmq.send_many("work", [FixedTimeMessage(f"{n}", due_ms) for n in range(5)])
    clock.move(step_ms)
    taken = rmq.take("work", 10)
    assert len(taken) == (5 if clock.now_ms >= due_ms else 0)
    clock.move(max(0, due_ms - clock.now_ms))
    taken = taken or rmq.take("work", 10)
    assert [delivery.text for delivery in taken] == ["0", "1", "2", "3", "4"]
    rmq.ack(taken)
    look(rmq, topic)
    (sample,) = Inspector(rmq).sample()
    assert (sample.ledger_gap, sample.backlog) == (0, 0)


@pytest.mark.parametrize("more", [{}, {"headers": {"a": "b"}}], ids=["inline", "pooled"])
def test_a_delay_sent_again_in_its_millisecond_keeps_its_place(
    rmq: RMQ, clock: ClockedRedis, more: dict[str, dict[str, str]]
) -> None:
    define(rmq, TopicKind.FIXED_TIME)
    for name in ("a", "b", "a"):
        rmq.send("work", name, in_ms=1_000, **more)  # type: ignore[arg-type]
    clock.move(999)
    assert rmq.take("work", 10) == []
    clock.move(1)
    assert [delivery.text for delivery in rmq.take("work", 10)] == ["a", "b"]


@pytest.mark.parametrize("is_group", [False, True], ids=["topic", "group"])
def test_a_later_life_is_journaled_behind_the_one_before_it(rmq: RMQ, clock: ClockedRedis, is_group: bool) -> None:
    """Whoever reads both, as an archive does, takes nothing of one for the other's. Redis gives ids by its own clock:
    here that of the scripts is behind it, as one that was set back."""
    name = "work@all" if is_group else "work"
    clock.move(int(time.time() * 1000) - BACK_MS - clock.now_ms)

    def live() -> tuple[int, int, int]:
        """When it was created, and the first and the last entry of its journal (ms)."""
        if is_group:
            rmq.define(Topic("work", TopicKind.STREAM, slots=1, journal=Journal.FULL))
            rmq.define_group("work", "all")
            rmq.send("work", StreamMessage("a"))
        else:
            define(rmq, journal=Journal.FULL)
            rmq.send("work", PriorityMessage("a", 20))
        rmq.ack(rmq.take(name))
        topic = rmq.topic(name)
        ids = [each.entry_id for each in rmq.run(reader.read(rmq.keyspace, topic)).transitions]
        first, *_, last = (int(each.partition("-")[0]) for each in ids)
        return topic.created_ms, first, last

    _, _, last_ms = live()
    assert last_ms > clock.now_ms
    for _ in range(2):
        Control(rmq).delete_topic(name, force=True)
        created_ms, first_ms, next_ms = live()
        assert last_ms < created_ms <= first_ms
        if not is_group:
            gone = int(rmq.connection.client.hget(rmq.keyspace.deleted, "work"))
            assert last_ms <= gone < created_ms
        last_ms = next_ms


@pytest.mark.parametrize("alone", [False, True], ids=["with its topic", "before its topic"])
def test_a_later_life_of_a_group_is_journaled_behind_the_one_before_it(
    rmq: RMQ, clock: ClockedRedis, alone: bool
) -> None:
    """Also where the journal of its topic is not so far: only the group went on until the clock was set back."""
    clock.move(int(time.time() * 1000) - clock.now_ms)

    def live() -> list[str]:
        """The entries of the group's journal."""
        rmq.define(Topic("work", TopicKind.STREAM, slots=1, journal=Journal.FULL))
        rmq.define_group("work", "all")
        rmq.send("work", StreamMessage("a"))
        rmq.ack(rmq.take("work@all"))
        return [each.entry_id for each in rmq.run(reader.read(rmq.keyspace, rmq.topic("work@all"))).transitions]

    journal = rmq.keyspace.slot("work@all", 0).journal
    last = live()[-1]
    rmq.connection.run([("XSETID", journal, f"{int(last.partition('-')[0]) + BACK_MS}-0")])
    if alone:
        Control(rmq).delete_topic("work@all", force=True)
    Control(rmq).delete_topic("work", force=True)
    first_ms = int(live()[0].partition("-")[0])
    assert first_ms > int(last.partition("-")[0]) + BACK_MS
