"""Two keepers at once: each tick is one message, and it comes when it is due."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError

from console.engine import new_async_engine
from console.keeper.recurring import Recurrences
from console.models import RecurringMessage, RecurringTick
from console.outbox import clients, clock
from console.outbox.relay import relay
from console.snapshots.store import LiveKeys
from console.usecases import recurring, recurring_ticks
from console.usecases.recurring_ticks import DATABASE
from rmq_core import TopicKind
from tests.console.conftest import Queue
from tests.support.console_options import set_options

TICKS = 3


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_tick_that_was_looked_for_too_early_is_looked_for_again(
    queue: Queue, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock's milliseconds are rounded: sleeping until one may end in the one before."""
    settings.RMQ_OUTBOX = {"FAST_PATH": False}
    now_ms = [1_800_000_000_000]
    monkeypatch.setattr(clock, "now_ms", lambda _: now_ms[0])
    for name, every_ms in (("first", 60_000), ("later", 90_000)):
        recurring._save(
            RecurringMessage(name=name, topic="mail", content="x", when="priority", value=900, every_ms=every_ms)
        )
    send, calls = recurring_ticks.send_due, []

    def once_too_early() -> int:
        calls.append(1)
        early = len(calls) == 1
        now_ms[0] -= early
        try:
            return send()
        finally:
            now_ms[0] += early

    monkeypatch.setattr(recurring_ticks, "send_due", once_too_early)
    monkeypatch.setattr(recurring, "from_code", list)
    now_ms[0] += 60_000
    task = Recurrences(new_async_engine(), LiveKeys(queue.client.keyspace.namespace))
    assert task._look() == 0
    task._look()
    assert [tick.recurring.name for tick in RecurringTick.objects.all()] == ["first"]


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_code_that_cannot_be_read_is_said_and_tried_again(
    queue: Queue, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What has been declared goes on meanwhile."""
    settings.RMQ_OUTBOX = {"FAST_PATH": False}
    monkeypatch.setattr("console.keeper.recurring.CODE_EVERY_S", 0.0)
    set_options(settings, RECURRING=["tests.console.recurring.broken:DECLARED"])
    recurring._save(
        RecurringMessage(
            name="old", topic="mail", content="x", when="priority", value=900, every_ms=60_000, origin="code"
        )
    )
    RecurringMessage.objects.update(next_ms=clock.now_ms(recurring_ticks.DATABASE))
    task = Recurrences(new_async_engine(), LiveKeys(queue.client.keyspace.namespace))
    task._look()
    task._look()
    assert task.failing == 1
    assert caplog.text.count("cannot be imported") == 1
    assert RecurringTick.objects.exists()
    set_options(settings, RECURRING=[])
    monkeypatch.setattr("console.keeper.recurring.COUNT_EVERY_S", -1.0)
    task._look()
    assert task.failing == 0
    assert not RecurringMessage.objects.exists()


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_what_a_wrong_clock_has_put_far_ahead_comes_back_once_it_is_steady(
    queue: Queue, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RMQ_OUTBOX = {"FAST_PATH": False}
    monkeypatch.setattr(recurring, "from_code", list)
    recurring._save(RecurringMessage(name="n", topic="mail", content="x", when="priority", value=900, every_ms=60_000))
    far_ms = clock.now_ms(recurring_ticks.DATABASE) + 365 * 86_400_000
    RecurringMessage.objects.update(next_tick_ms=far_ms, next_ms=far_ms)
    for steady, planned in ((False, False), (True, True)):
        task = Recurrences(new_async_engine(), LiveKeys(queue.client.keyspace.namespace))
        monkeypatch.setattr(task._clock, "is_steady", lambda now_ms, steady=steady: steady)
        task._look()
        assert (RecurringMessage.objects.get().next_ms != far_ms) is planned


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_ticks_of_two_keepers(queue: Queue, settings: Any) -> None:
    settings.RMQ_OUTBOX = {}
    queue.topic("mail", TopicKind.PRIORITY, slots=1)
    row = RecurringMessage(name="n", topic="mail", content="x", when="priority", value=900, every_ms=1_000)
    recurring._save(row)
    taken: list[str] = []
    again: list[int] = []

    async def keep(done: asyncio.Event) -> None:
        engine = new_async_engine()
        task = Recurrences(engine, LiveKeys(queue.client.keyspace.namespace))
        try:
            while not done.is_set():
                with suppress(DatabaseError):  # as its loop does: the other one is writing
                    await task.round()
                await asyncio.sleep(min(0.05, task.every_s))
        finally:
            await task.close()
            await engine.client.close()

    async def take(done: asyncio.Event) -> None:
        while len({*taken}) < TICKS:
            for delivery in await asyncio.to_thread(queue.client.take, "mail", 10, 200):
                queue.client.ack(delivery)
                taken.append(delivery.id)
        done.set()

    async def send(done: asyncio.Event) -> None:
        """What a keeper has not marked as sent, for the other one was writing, holds up those behind it."""
        while not done.is_set():
            with suppress(DatabaseError):
                again.append((await sync_to_async(lambda: relay(DATABASE, clients.quick()).round(0.1))()).sent)
            await asyncio.sleep(0.5)

    async def both() -> None:
        done = asyncio.Event()
        async with asyncio.timeout(240):
            await asyncio.gather(keep(done), keep(done), send(done), take(done))

    asyncio.run(both())
    for client in (clients.quick, clients.patient):
        client().close()
    ticks = list(RecurringTick.objects.order_by("tick_ms"))
    found = list(dict.fromkeys(taken))
    assert len(taken) - len(found) <= sum(again)
    assert found == [tick.message for tick in ticks][: len(found)]
    assert {tick.how for tick in ticks} == {"on_time"}
