"""The keeper puts back what nobody looks after, and leaves alone what somebody does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from rmq_core import AsyncControl, AsyncInspector, AsyncRMQ, PriorityMessage, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.scripts import claim, cycle, epoch_text
from rmq_core.snapshots import TopicSample
from rmq_core.upkeep import Upkeep, overdue_ms
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until_async

TOPIC = Topic("work", "priority", slots=4, visibility_timeout_ms=100, backoff_ms=0)


@pytest.fixture
async def client(redis_server: EmbeddedRedis, namespace: str) -> AsyncIterator[AsyncRMQ]:
    async with AsyncRMQ(redis_server.url, namespace, retry_for_s=0.2) as client:
        await client.define(TOPIC)
        yield client
        await AsyncControl(client).delete_topic("work", force=True)


async def sample(client: AsyncRMQ) -> TopicSample:
    return (await AsyncInspector(client).sample(["work"]))[0]


async def test_timeouts_of_a_slot_whose_owner_is_gone_are_rolled_back(client: AsyncRMQ) -> None:
    await client.send_many("work", [PriorityMessage(f"m{i}", 20) for i in range(40)])
    for slot in range(4):
        await client.connection.run([claim(client.keyspace, TOPIC, slot, 7)])
        await client.connection.run([cycle(client.keyspace, TOPIC, slot, 100, epoch=epoch_text(7))])
    upkeep, moved = Upkeep(client, neglected_ms=200), 0

    async def put_back() -> bool:
        nonlocal moved
        moved += sum((await upkeep.once()).values())
        return moved == 40

    await wait_until_async(put_back, what="every delivery to be put back")
    state = await sample(client)
    assert (state.backlog, state.prepare, state.counters.expired, state.ledger_gap) == (40, 0, 40, 0)
    assert await upkeep.once() == {}


async def test_due_retries_of_a_slot_without_workers_are_promoted(client: AsyncRMQ) -> None:
    await client.send("work", PriorityMessage("m", 20))
    await client.nack(await client.take("work"), delay_ms=1)
    assert (await sample(client)).waiting == 1
    upkeep = Upkeep(client, neglected_ms=0)

    async def promoted() -> bool:
        return await upkeep.once() == {"work": 1}

    await wait_until_async(promoted, what="the retry to be promoted")
    assert (await sample(client)).ready == 1


async def test_what_is_not_overdue_for_long_is_left_to_its_worker(client: AsyncRMQ) -> None:
    await client.send("work", PriorityMessage("m", 20))
    await client.take("work")
    patient = Upkeep(client, neglected_ms=3_600_000)

    async def timed_out() -> bool:
        state = await sample(client)
        return any(overdue_ms(TOPIC, slot, state.at_ms) > 0 for slot in state.slots)

    await wait_until_async(timed_out, what="the delivery to be overdue")
    assert await patient.once() == {}
    assert (await sample(client)).prepare == 1


async def test_overdue_counts_from_what_is_due_first(client: AsyncRMQ) -> None:
    slot = (await sample(client)).slots[0]
    assert overdue_ms(TOPIC, slot, slot.at_ms) == 0
    held = replace(slot, oldest_taken_ms=1_000, next_retry_ms=None)
    assert overdue_ms(TOPIC, held, 1_100) == 0
    assert overdue_ms(TOPIC, held, 1_150) == 50
    assert overdue_ms(TOPIC, replace(held, next_retry_ms=1_050), 1_150) == 100
    assert overdue_ms(TOPIC, replace(held, next_retry_ms=9_000), 1_150) == 50


async def test_the_loop_outlives_an_outage(
    redis_server: EmbeddedRedis, client: AsyncRMQ, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    await client.send("work", PriorityMessage("m", 20))
    await client.take("work")
    with TcpProxy(redis_server.port) as proxy:
        async with AsyncRMQ(proxy.url(redis_server.url), namespace, retry_for_s=0.2) as far:
            await far.topic("work")
            proxy.refuse()
            loop = asyncio.create_task(Upkeep(far, neglected_ms=0).run())
            await wait_until_async(lambda: "upkeep: " in caplog.text, what="the outage to be noticed")
            proxy.accept()

            async def put_back() -> bool:
                return (await sample(client)).ready == 1

            await wait_until_async(put_back, what="the delivery to be put back")
            loop.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await loop
