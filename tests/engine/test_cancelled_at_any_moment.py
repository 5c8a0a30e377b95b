"""What is cancelled ends at once, and what is closed says so, at whatever moment of a round trip that comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rmq_core import AsyncRMQ
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConnectionLost
from tests.support.proxy import TcpProxy

MOMENTS = 60
"""So many turns of the loop are more than a round trip takes that begins with a connection."""
ROUNDS = 10
ASKED = [("TIME",), ("PING",)]
"""These go through redis-py, which swallows a cancellation here and there."""


@pytest.fixture
async def rmq(proxy: TcpProxy, redis_server: EmbeddedRedis, namespace: str) -> AsyncIterator[AsyncRMQ]:
    async with AsyncRMQ(proxy.url(redis_server.url), namespace, retry_for_ms=300) as rmq:
        yield rmq


async def after(turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


@pytest.mark.parametrize("connected", [True, False])
async def test_a_task_that_is_cancelled_while_the_server_goes_away_tries_no_more(
    rmq: AsyncRMQ, proxy: TcpProxy, connected: bool
) -> None:
    ended: dict[int, Any] = {}
    for moment in range(MOMENTS):
        if connected:
            await rmq.connection.run([("PING",)])
        else:
            await rmq.connection.close()
        task = asyncio.create_task(rmq.connection.run(ASKED))
        await after(moment)
        proxy.refuse()
        if task.cancel():
            await asyncio.wait([task])
            ended[moment] = "cancelled" if task.cancelled() else task.exception() or task.result()
        proxy.accept()
    assert set(ended.values()) == {"cancelled"}, ended


async def test_whoever_awaits_is_told_that_the_client_was_closed(rmq: AsyncRMQ) -> None:
    told: set[type] = set()
    for moment in [*range(MOMENTS)] * ROUNDS:
        tasks = [asyncio.create_task(rmq.connection.run(ASKED)) for _ in range(3)]
        await after(moment)
        await rmq.connection.close()
        told |= {type(each) for each in await asyncio.gather(*tasks, return_exceptions=True)}
    assert {each for each in told if issubclass(each, BaseException)} == {ConnectionLost}
