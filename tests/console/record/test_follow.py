"""The record follows real journals: nothing twice, nothing lost, and the journals are trimmed behind it."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from console.engine import AsyncEngine, new_async_engine
from console.models import MessageRecord, MessageTransition, PipelineSchedule, RecordPosition
from console.options import options
from console.record import follow, intake
from console.record.follow import READER, Follower
from console.record.life import key_of
from rmq_core import Delivery, FixedTimeMessage, Listener, PriorityMessage, TopicKind, Worker
from rmq_core.embedded.zookeeper import EmbeddedZooKeeper
from rmq_core.journal import reader, trimmer
from rmq_core.journal.archives import reader_of
from rmq_core.model.topic import Journal, Topic
from tests.console.conftest import Queue, roles_come_back
from tests.support.console_options import set_options
from tests.support.waiting import wait_until_async

__all__ = ["roles_come_back"]
pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]


@pytest.fixture
async def engine(queue: Queue) -> AsyncIterator[AsyncEngine]:
    found = new_async_engine()
    yield found
    await found.client.close()
    # The tests' own thread keeps a connection, over which PostgreSQL would not drop the test's database.
    await sync_to_async(connections.close_all)()


@pytest.fixture(autouse=True)
def small_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of a few entries, so that there are many of them."""
    monkeypatch.setattr(follow, "STEPS_AT_ONCE", 64)
    monkeypatch.setattr(follow, "TRIM_EVERY_S", 0.0)


def work(queue: Queue, count: int, prefix: str = "m", topic: str = "orders") -> int:
    """Messages that are sent, merged, done, failed, dead, requeued and cancelled; returns how many were taken."""
    now = queue.inspector.now_ms()
    client, control = queue.client, queue.control
    client.send_many(topic, [FixedTimeMessage(f"{n}", now, key=f"{prefix}{n}") for n in range(count)], allow_past=True)
    client.send_many(topic, [FixedTimeMessage(f"{n}", now, key=f"{prefix}{n}") for n in range(5)], allow_past=True)
    taken = []
    while len(taken) < count:
        taken += client.take(topic, max=100, timeout_ms=2000)
    client.ack(taken[: count // 2])
    client.nack(taken[count // 2 :], error="KeyError", message="no tail")
    dead = [each.id for each in taken[count // 2 :]]
    control.requeue(topic, dead[:3])
    control.cancel(topic, dead[:1])
    return len(taken)


def state_of(queue: Queue, record: MessageRecord) -> str:
    """Where the queue says that a message is."""
    view = queue.find(bytes(record.ident).decode(), record.topic)
    return view.row.state if view else "gone"


def by_state() -> dict[str, int]:
    states: dict[str, int] = {}
    for state in MessageRecord.objects.values_list("state", flat=True):
        states[state] = states.get(state, 0) + 1
    return states


def events() -> dict[str, int]:
    found: dict[str, int] = {}
    for event in MessageTransition.objects.values_list("event", flat=True):
        found[event] = found.get(event, 0) + 1
    return found


async def until_quiet(follower: Follower) -> int:
    total = 0
    while written := sum((await follower.round()).values()):
        total += written
    return total


@pytest.mark.parametrize("owned", [False, True], ids=["shared", "owned"])
async def test_every_transition_of_a_worker_names_it_and_its_host(
    queue: Queue, engine: AsyncEngine, owned: bool, zookeeper: EmbeddedZooKeeper
) -> None:
    await sync_to_async(queue.client.define)(Topic("orders", TopicKind.PRIORITY, journal=Journal.EVENTS, backoff_ms=0))
    done: list[str] = []

    def handle(delivery: Delivery) -> None:
        done.append(delivery.text)
        if delivery.text == "bad" and delivery.attempt == 1:
            raise ValueError("not yet")

    worker = Worker(
        queue.client.target.url,
        [Listener("orders", handle)],
        name="packer-7",
        namespace=queue.client.keyspace.namespace,
        zookeeper=f"{zookeeper.hosts}" if owned else None,
    )
    serving = asyncio.create_task(worker.serve())
    names = ["bad", *map(str, range(40))]
    await sync_to_async(queue.client.send_many)("orders", [PriorityMessage(name, 20) for name in names])
    await wait_until_async(lambda: len(done) == len(names) + 1, what="all to be handled")
    worker.stop()
    await serving
    await Follower(engine).round()
    steps = MessageTransition.objects.exclude(event="sent")
    reported = await sync_to_async(lambda: set(steps.values_list("event", "worker", "host")))()
    assert {(event, "packer-7", platform.node()) for event in ("taken", "acked", "retried")} <= reported
    assert {worker for _, worker, _ in reported} == {"packer-7"}


@pytest.mark.parametrize("journal", [Journal.EVENTS, Journal.FULL])
async def test_the_record_knows_the_slot_basis(queue: Queue, engine: AsyncEngine, journal: Journal) -> None:
    await sync_to_async(queue.client.define)(Topic("orders", TopicKind.PRIORITY, journal=journal))
    messages = [
        PriorityMessage("a", 20, slot_basis=b"cust\x00omer"),
        PriorityMessage("b", 20),
        PriorityMessage("c", 20, key="k", slot_basis="k"),
    ]
    await sync_to_async(queue.client.send_many)("orders", messages)
    await Follower(engine).round()
    found = await sync_to_async(lambda: list(MessageRecord.objects.values_list("ident", "basis")))()
    assert {bytes(ident): basis and bytes(basis) for ident, basis in found} == {
        b"a": b"cust\x00omer",
        b"b": None,
        b"k": None,
    }


async def test_the_record_says_what_the_queue_says(queue: Queue, engine: AsyncEngine) -> None:
    queue.topic(journal="events")
    await sync_to_async(work)(queue, 60)
    written = await until_quiet(Follower(engine))

    def check() -> None:
        assert by_state() == {"done": 30, "dead": 27, "ready": 2, "cancelled": 1}
        for record in MessageRecord.objects.exclude(state__in=MessageRecord.ENDED):
            assert state_of(queue, record) == record.state, record.ident
        assert MessageTransition.objects.count() == written
        counted = events()
        assert (counted["sent"], counted["merged"], counted["taken"]) == (60, 5, 60)
        assert (counted["acked"], counted["died"], counted["requeued"], counted["cancelled"]) == (30, 30, 3, 1)
        assert not RecordPosition.objects.filter(gaps__gt=0).exists()

    await sync_to_async(check)()


async def test_a_keeper_that_is_killed_loses_and_doubles_nothing(
    queue: Queue, engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies before, in the middle of, and after every third write; another one goes on each time."""
    queue.topic(journal="full")
    await sync_to_async(work)(queue, 40)
    write, calls = intake.write, [0]

    class Killed(BaseException):
        pass

    def dies(batch: Any) -> int:
        calls[0] += 1
        if calls[0] % 3 == 0:
            raise Killed
        done = write(batch)
        if calls[0] % 3 == 1:
            raise Killed
        return done

    monkeypatch.setattr(intake, "write", dies)
    deaths = 0
    for _ in range(1_000):
        try:
            if not sum((await Follower(engine).round()).values()):
                break
        except Killed:
            deaths += 1
    monkeypatch.undo()
    assert deaths >= 3

    def check() -> None:
        counted = events()
        assert (counted["sent"], counted["merged"], counted["taken"], counted["acked"]) == (40, 5, 40, 20)
        assert set(MessageRecord.objects.values_list("sends", flat=True)) == {1, 2}
        assert sum(MessageRecord.objects.values_list("deliveries", flat=True)) == 40

    await sync_to_async(check)()


async def test_two_keepers_at_once_write_everything_once(queue: Queue, engine: AsyncEngine) -> None:
    queue.topic(journal="events")
    one, two = Follower(engine), Follower(engine)
    taken = 0
    for turn in range(4):
        taken += await sync_to_async(work)(queue, 12, f"{turn}-")
        await one.round()
        await two.round()
    while sum((await one.round() + await two.round()).values()):
        pass
    assert (await sync_to_async(events)())["taken"] == taken


async def test_journals_are_trimmed_behind_the_record_and_no_further(queue: Queue, engine: AsyncEngine) -> None:
    queue.topic(journal="events")
    topic, keyspace = queue.client.topic("orders"), queue.client.keyspace
    queue.client.run(reader.register(keyspace, topic, "archive"))
    await sync_to_async(work)(queue, 20)
    await until_quiet(Follower(engine))
    before = queue.client.run(trimmer.state(keyspace, topic))
    assert before.entries == before.written, "the archive has read nothing yet"
    queue.client.run(reader.forget(keyspace, topic, "archive"))
    await Follower(engine).round()
    state = queue.client.run(trimmer.state(keyspace, topic))
    assert state.entries == 0 < state.written
    assert [(each.name, each.behind) for each in state.readers] == [(READER, 0)]


async def test_only_what_is_asked_for_is_recorded(queue: Queue, engine: AsyncEngine, settings: Any) -> None:
    set_options(settings, RECORD_TOPICS=["ord*"])
    queue.topic(journal="events")
    queue.topic("jobs", TopicKind.PRIORITY, journal="events")
    queue.topic("plain")
    queue.delayed()
    queue.client.send("jobs", PriorityMessage("j", 30))
    queue.delayed(topic="plain")
    assert await until_quiet(Follower(engine)) == 1
    assert queue.client.run(reader.positions(queue.client.keyspace, queue.client.topic("jobs"))) == {}


async def test_a_journal_that_is_switched_off_is_read_to_its_end(queue: Queue, engine: AsyncEngine) -> None:
    queue.topic(journal="events")
    follower = Follower(engine)
    queue.delayed("a")
    await follower.round()
    queue.delayed("b")
    definition = queue.client.topic("orders")
    queue.control.put_topic(replace(definition, journal=Journal.OFF), definition.version)
    queue.delayed("c")
    engine.client.forget("orders")
    await follower.round()
    assert await sync_to_async(MessageRecord.objects.count)() == 2
    assert queue.client.run(reader.positions(queue.client.keyspace, queue.client.topic("orders"))) == {}


async def test_a_journal_trimmed_by_hand_is_a_gap_and_no_end(
    queue: Queue, engine: AsyncEngine, redis_server: Any
) -> None:
    queue.topic(journal="events", slots=1)
    queue.delayed("a")
    follower = Follower(engine)
    await follower.round()
    queue.delayed("b")
    with redis_server.client() as raw:
        raw.xtrim(queue.client.keyspace.slot("orders", 0).journal, maxlen=0, approximate=False)
    queue.delayed("c")
    await until_quiet(follower)

    def check() -> None:
        assert {bytes(each.ident) for each in MessageRecord.objects.all()} == {b"a", b"c"}
        assert RecordPosition.objects.get().gaps == 1

    await sync_to_async(check)()


async def test_nothing_is_trimmed_before_a_scheduled_archive_has_read_it(queue: Queue, engine: AsyncEngine) -> None:
    queue.topic(journal="events")
    await sync_to_async(PipelineSchedule.objects.create)(kind="archive", every_ms=3_600_000, username="x")
    await sync_to_async(work)(queue, 10)
    await until_quiet(Follower(engine))
    state = queue.client.run(trimmer.state(queue.client.keyspace, queue.client.topic("orders")))
    assert state.entries == state.written > 0
    assert {each.name for each in state.readers} == {"record", reader_of(options().pipeline_archive)}


@pytest.mark.parametrize("lost", ["everything", "the readers"])
async def test_nor_after_the_server_lost_what_the_archive_had_said(
    queue: Queue, engine: AsyncEngine, lost: str
) -> None:
    """The keeper goes on; who reads is known to the schedule alone."""
    await sync_to_async(PipelineSchedule.objects.create)(
        kind="archive", every_ms=3_600_000, username="x", topics=["orders", "events"]
    )
    queue.topic(journal="events")
    events = queue.topic("events", TopicKind.STREAM, slots=1, journal=Journal.FULL)
    queue.client.define_group(events, "mail")
    follower = Follower(engine)
    await sync_to_async(work)(queue, 10)
    await until_quiet(follower)
    raw, keyspace = queue.client.connection, queue.client.keyspace
    if lost == "everything":
        keys = [key for pattern in ("{}:*", "*{{{}:*") for key in scan(queue, pattern.format(keyspace.namespace))]
        raw.run([("DEL", key) for key in keys])
        queue.client.forget("orders")
        queue.topic(journal="events")
        await sync_to_async(work)(queue, 10)
    else:
        raw.run([("DEL", keyspace.journal_readers(name)) for name in ("orders", "events@mail")])
    events = queue.topic("events", TopicKind.STREAM, slots=1, journal=Journal.FULL)
    queue.client.define_group(events, "mail")
    queue.client.ack(queue.client.take("events@mail") if queue.client.send(events, "entry") else [])
    follower._trimmed = float("-inf")
    await until_quiet(follower)
    for name in ("orders", "events@mail"):
        state = queue.client.run(trimmer.state(keyspace, queue.client.topic(name)))
        assert state.entries == state.written > 0, name


def scan(queue: Queue, pattern: str) -> list[bytes]:
    found: list[bytes] = []
    cursor: object = 0
    while True:
        ((cursor, some),) = queue.client.connection.run([("SCAN", cursor, "MATCH", pattern, "COUNT", 1_000)])
        found += some
        if not int(cursor):
            return found


async def test_groups_of_a_stream_are_recorded_each_by_its_own_journal(queue: Queue, engine: AsyncEngine) -> None:
    events = queue.topic("events", TopicKind.STREAM, slots=1, journal=Journal.FULL)
    client = queue.client
    client.define_group(events, "mail")
    client.define_group(events, "sums")
    first, _ = [client.send(events, f"entry {n}") for n in range(2)]
    taken = client.take("events@mail", 2)
    client.ack(taken[1])
    client.nack(taken[0], error="NoAddress")
    queue.control.set_position("events@sums", "end")
    await Follower(engine).round()

    def events_of(topic: str) -> list[str]:
        key = key_of(topic, first.slot, first.id.encode())
        steps = MessageTransition.objects.filter(message=key).order_by("at_ms", "id")
        return [step.event for step in steps]

    assert await sync_to_async(events_of)("events") == []
    assert await sync_to_async(events_of)("events@mail") == ["sent", "taken", "died"]
    assert await sync_to_async(events_of)("events@sums") == []
    states = {each.state async for each in MessageRecord.objects.filter(topic="events@mail")}
    assert states == {"dead", "done"}
    assert (await engine.inspector.journal("events@mail")).readers[0].behind == 0
