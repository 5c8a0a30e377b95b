"""The keeper and the pages' sockets find the new master after the old one was killed, and stay with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console.engine import async_engine
from console.keeper.keeper import Keeper
from console.layer import layer
from console.live.routing import live_sockets
from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_sentinel import EmbeddedSentinel
from rmq_core.embedded.replication import replication
from tests.console.websocket import WebSocket
from tests.support.console_options import set_options
from tests.support.waiting import at_most_s, wait_until_async

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]

NAMESPACE = "watched"


@pytest.fixture
def cookie(person: Callable[..., User]) -> bytes:
    browser = Client()
    browser.force_login(person("Viewer"))
    return "; ".join(f"{name}={each.value}" for name, each in browser.cookies.items()).encode()


@asynccontextmanager
async def keeping() -> AsyncIterator[None]:
    stop = asyncio.Event()
    running = asyncio.create_task(Keeper().run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


async def shows(socket: WebSocket, backlog: int) -> None:
    """Returns when a frame has that many messages."""
    while True:
        event = await socket.receive_output(timeout=120)
        assert event["type"] == "websocket.send", event
        frame = json.loads(event["text"])
        if [topic["backlog"] for topic in frame.get("topics", ())] == [backlog]:
            return


def send(server: EmbeddedRedis, *contents: str) -> None:
    with RMQ(server.url, NAMESPACE) as rmq:
        rmq.send_many("orders", [PriorityMessage(content, 20) for content in contents])


async def test_live_pages_go_on(redis_sentinel: EmbeddedSentinel, settings: Any, cookie: bytes) -> None:
    service = redis_sentinel
    url = service.url
    set_options(settings, REDIS_URL=url, CONSOLE_REDIS_URL=url, NAMESPACE=NAMESPACE, SAMPLE_INTERVAL_MS=200)
    with RMQ(url, NAMESPACE) as rmq:
        rmq.define(Topic("orders", TopicKind.PRIORITY, slots=2))
    async with keeping():
        socket = WebSocket(live_sockets(), "/live/overview/", [(b"origin", b"http://testserver"), (b"cookie", cookie)])
        assert await socket.connect()
        await shows(socket, 0)
        old = service.kill_master()
        new = await asyncio.to_thread(service.wait_for_new_master, old)
        async with asyncio.timeout(at_most_s(3.0)):
            await asyncio.to_thread(send, new, "a")
            await shows(socket, 1)
        old.start()
        await wait_until_async(
            lambda: replication(old)["role"] == "slave" and replication(old)["master_link_status"] == "up",
            timeout_s=60,
            what="the old master to be a replica",
        )
        async with asyncio.timeout(at_most_s(3.0)):
            await asyncio.to_thread(send, new, "b", "c")
            await shows(socket, 3)
        await socket.disconnect()
        sentinels = layer()._get_layer()._shards[0]._redis.connection_pool.sentinel_manager
    await sentinels.aclose()  # Channels never does
    await async_engine().client.close()
