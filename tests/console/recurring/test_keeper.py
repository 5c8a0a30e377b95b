"""Two keepers at once: each tick is one message, and it comes when it is due."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from django.db import DatabaseError

from console.engine import new_async_engine
from console.keeper.recurring import Recurrences
from console.models import RecurringMessage, RecurringTick
from console.outbox import clients
from console.snapshots.store import LiveKeys
from console.usecases import recurring
from rmq_core import TopicKind
from tests.console.conftest import Queue

TICKS = 3


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_ticks_of_two_keepers(queue: Queue, settings: Any) -> None:
    settings.RMQ_OUTBOX = {}
    queue.topic("mail", TopicKind.PRIORITY, slots=1)
    row = RecurringMessage(name="n", topic="mail", content="x", when="priority", value=900, every_ms=1_000)
    recurring._save(row)
    found: list[str] = []

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
        while len(found) < TICKS:
            for delivery in await asyncio.to_thread(queue.client.take, "mail", 10, 200):
                queue.client.ack(delivery)
                found.append(delivery.id)
        done.set()

    async def both() -> None:
        done = asyncio.Event()
        async with asyncio.timeout(240):
            await asyncio.gather(keep(done), keep(done), take(done))

    asyncio.run(both())
    for client in (clients.quick, clients.patient):
        client().close()
    ticks = list(RecurringTick.objects.order_by("tick_ms"))
    assert len(found) == len({*found})
    assert found == [tick.message for tick in ticks][: len(found)]
    assert {tick.how for tick in ticks} == {"on_time"}
