"""Whoever waits when the master is killed, a worker or a take that sleeps, goes on with its successor."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from rmq_core import RMQ, AsyncRMQ, Control, Delivery, Listener, PriorityMessage, Topic, TopicKind, Worker
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_sentinel import EmbeddedSentinel
from rmq_core.embedded.replication import replication
from tests.support.waiting import at_most_s, wait_until_async

pytestmark = pytest.mark.cluster

NAMESPACE = "waits"
TOPICS = ("worker", "sync", "async")


@pytest.fixture
def service(redis_sentinel: EmbeddedSentinel) -> Iterator[EmbeddedSentinel]:
    yield redis_sentinel
    with RMQ(redis_sentinel.start().url, NAMESPACE) as rmq:
        for name in TOPICS:
            Control(rmq).delete_topic(name, force=True)


def send(server: EmbeddedRedis, content: str) -> None:
    """By somebody who knows where the master is."""
    with RMQ(server.url, NAMESPACE) as rmq:
        for name in TOPICS:
            rmq.send(name, PriorityMessage(content, 20))


async def test_they_go_on(service: EmbeddedSentinel) -> None:
    seen: list[str] = []
    async with AsyncExitStack() as stack:
        rmq = stack.enter_context(RMQ(service.url, NAMESPACE))
        aio = await stack.enter_async_context(AsyncRMQ(service.url, NAMESPACE))
        for name in TOPICS:
            rmq.define(Topic(name, TopicKind.PRIORITY, slots=2))
        worker = Worker(
            service.url, [Listener("worker", lambda delivery: seen.append(delivery.text))], namespace=NAMESPACE
        )
        serving = asyncio.create_task(worker.serve())
        takes: list[Callable[[], Awaitable[list[Delivery]]]] = [
            lambda: asyncio.to_thread(rmq.take, "sync", timeout_ms=120_000),
            lambda: aio.take("async", timeout_ms=120_000),
        ]

        async def asleep(server: EmbeddedRedis) -> list[asyncio.Task[list[Delivery]]]:
            """Takes of both kinds, once they and the worker listen."""
            sleepers = [asyncio.create_task(take()) for take in takes]  # type: ignore[arg-type]
            channels = {f"{NAMESPACE}:wake:{name}".encode() for name in TOPICS}
            with server.client() as client:
                await wait_until_async(lambda: channels <= set(client.pubsub_channels()), what="all to listen")
            return sleepers

        async def go_on(server: EmbeddedRedis, content: str, sleepers: list[asyncio.Task[Any]]) -> None:
            began = time.monotonic()
            await asyncio.to_thread(send, server, content)
            await wait_until_async(
                lambda: content in seen and all(sleeper.done() for sleeper in sleepers), what="all to go on"
            )
            assert time.monotonic() - began < at_most_s(3.0)
            assert [[each.text for each in sleeper.result()] for sleeper in sleepers] == [[content]] * 2
            assert rmq.ack(sleepers[0].result()) == await aio.ack(sleepers[1].result()) == ["done"]

        sleepers = await asleep(service.master())
        old = service.kill_master()
        new = await asyncio.to_thread(service.wait_for_new_master, old)
        await go_on(new, "under the new one", sleepers)
        sleepers = await asleep(new)
        old.start()
        await wait_until_async(
            lambda: replication(old)["role"] == "slave" and replication(old)["master_link_status"] == "up",
            timeout_s=60,
            what="the old master to be a replica",
        )
        await go_on(new, "with the old one back", sleepers)
        worker.stop()
        await serving
    assert seen == ["under the new one", "with the old one back"]
