"""Whoever shares a client with hundreds of others waits for a turn; nobody is told that there are too many."""

from __future__ import annotations

import asyncio
import threading

from rmq_core import RMQ, AsyncRMQ
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster

CALLERS = 150
"""redis-py lends a hundred connections by itself."""
SHARED = 50


def test_threads_that_all_wait_have_a_connection_each(redis_server: EmbeddedRedis, namespace: str) -> None:
    key = f"{namespace}:wakes"
    with RMQ(redis_server.url, namespace, retry_for_ms=0) as client, redis_server.client() as raw:
        found: list[object] = []

        def wait() -> None:
            try:
                found.append(client.connection.run([("BLPOP", key, 4)]))
            except Exception as error:
                found.append(error)

        threads = [threading.Thread(target=wait) for _ in range(CALLERS)]
        for thread in threads:
            thread.start()
        raw.rpush(key, *range(CALLERS))
        for thread in threads:
            thread.join()
        raw.delete(key)
        assert sorted(int(reply[0][1]) for reply in found) == list(range(CALLERS))  # type: ignore[index]


async def test_coroutines_share_some_connections(redis_server: EmbeddedRedis, namespace: str) -> None:
    key = f"{namespace}:wakes"
    async with AsyncRMQ(redis_server.url, namespace, retry_for_ms=0) as client:
        with redis_server.client() as raw:
            before = len(raw.client_list())
            asked = [client.connection.run([("BLPOP", key, 0.5)]) for _ in range(CALLERS)]
            assert await asyncio.gather(*asked) == [[None]] * CALLERS
            assert len(raw.client_list()) - before <= SHARED


async def test_whoever_is_cancelled_while_it_connects_ends(redis_cluster: EmbeddedCluster, namespace: str) -> None:
    """redis-py keeps such a cancellation to itself, and goes on."""
    for delay_ms in (*range(40), 40, 60, 90):
        async with AsyncRMQ(redis_cluster.url, namespace) as client:
            several = [asyncio.create_task(client.connection.run([("GET", f"k{n}")])) for n in range(CALLERS)]
            await asyncio.sleep(delay_ms / 1000)
            cancelled = [each for each in several if each.cancel()]
            found = await asyncio.gather(*cancelled, return_exceptions=True)
            assert {type(each) for each in found} <= {asyncio.CancelledError}
