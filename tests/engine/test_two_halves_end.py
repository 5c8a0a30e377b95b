"""Many tasks that share an asyncio client go on by halves: nobody is forgotten when that comes to an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis
import redis.asyncio as redis_async

from rmq_core import AsyncControl, AsyncRMQ, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConnectionLost
from rmq_core.transport import aio_scripts
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until_async

MANY = 100
EACH = 20
HANGS_S = 30


@pytest.fixture
async def rmq(proxy: TcpProxy, redis_server: EmbeddedRedis, namespace: str) -> AsyncIterator[AsyncRMQ]:
    async with AsyncRMQ(proxy.url(redis_server.url), namespace) as rmq:
        await rmq.define(Topic("here", TopicKind.PRIORITY, slots=4))
        yield rmq
        proxy.flow()
        await AsyncControl(rmq).delete_topic("here", force=True)


async def told(tasks: list[asyncio.Task[Any]]) -> set[type]:
    """What became of them; none of them hangs."""
    async with asyncio.timeout(HANGS_S):
        return {type(each) for each in await asyncio.gather(*tasks, return_exceptions=True)}


async def sender(rmq: AsyncRMQ, number: int) -> None:
    for i in range(EACH):
        await rmq.send("here", PriorityMessage(f"{number}-{i}", 20))


async def for_ever(rmq: AsyncRMQ, number: int) -> None:
    while True:
        await sender(rmq, number)


async def test_a_line_that_is_cut_between_the_halves_forgets_none(
    rmq: AsyncRMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second half had its replies already when what the first half asked for could not be written."""
    answered = aio_scripts.AsyncScripts._answered
    cut: list[Any] = []

    async def cuts(self: aio_scripts.AsyncScripts, replies: list[Any], write: Any) -> None:
        async def cutting(packed: Any) -> None:
            if len(self._under_way) == 1 and packed.commands == MANY // 2 and len(cut) < 3:
                cut.append(packed)
                raise redis.ConnectionError("cut")
            await write(packed)

        await answered(self, replies, cutting)

    monkeypatch.setattr(aio_scripts.AsyncScripts, "_answered", cuts)
    assert await told([asyncio.create_task(sender(rmq, number)) for number in range(MANY)]) == {type(None)}
    assert len(cut) == 3


async def test_who_asks_again_while_the_client_is_closed_has_replies_of_its_own(rmq: AsyncRMQ) -> None:
    """What was asked for anew was mixed with what was being ended."""
    ended = asyncio.Event()
    rounds = 0

    async def twice(number: int) -> None:
        nonlocal rounds
        while not ended.is_set():
            rounds += 1
            name = f"{number}-{rounds}"
            for impossible in (True, False):  # of a new message, and of the same once more
                try:
                    sent = await rmq.send("here", PriorityMessage(name, 20))
                except ConnectionLost:
                    break  # perhaps it was accepted
                assert sent.merged is not impossible

    tasks = [asyncio.create_task(twice(number)) for number in range(MANY)]
    late: list[asyncio.Task[None]] = []
    for _ in range(20):
        await wait_until_async(lambda: len(rmq.connection._scripts._under_way) == 2, what="both halves to be under way")
        await rmq.connection.close()
        late += [asyncio.create_task(twice(-number)) for number in range(10)]
    ended.set()
    assert await told(tasks + late) == {type(None)}


async def test_closing_tells_those_whose_line_has_not_begun(rmq: AsyncRMQ) -> None:
    tasks = [asyncio.create_task(rmq.send("here", PriorityMessage(f"{number}", 20))) for number in range(MANY)]
    await asyncio.sleep(0)
    assert len(rmq.connection._scripts._pending) == MANY
    await rmq.connection.close()
    assert await told(tasks) == {ConnectionLost}


async def test_closing_tells_those_who_read(rmq: AsyncRMQ, proxy: TcpProxy) -> None:
    """Plain commands go through redis-py: they were tried again, by a client that nobody closed."""
    proxy.stall()
    tasks = [asyncio.create_task(rmq.connection.run([("ECHO", "here")])) for _ in range(MANY)]
    await wait_until_async(lambda: proxy.connections_seen > 10, what="many to read")
    await rmq.connection.close()
    proxy.flow()
    assert await told(tasks) == {ConnectionLost}
    assert rmq.connection._servers.opened is None


async def test_closing_tells_those_whose_script_is_being_taught(
    rmq: AsyncRMQ, proxy: TcpProxy, redis_server: EmbeddedRedis
) -> None:
    """Also those who were written behind others: the first ones had their answers."""

    tasks = [asyncio.create_task(for_ever(rmq, number)) for number in range(MANY)]
    await wait_until_async(lambda: len(rmq.connection._scripts._under_way) == 2, what="both halves to be under way")
    proxy.stall_at(b"EVAL\r\n")
    with redis_server.client() as client:
        client.script_flush()
    await wait_until_async(proxy.stalled.is_set, what="a script to be taught")
    await rmq.connection.close()
    assert await told(tasks) == {ConnectionLost}
    proxy.flow()


def test_what_an_ended_loop_leaves_behind_harms_nobody_in_the_next(
    redis_server: EmbeddedRedis, proxy: TcpProxy, namespace: str
) -> None:
    """Its task is collected at some time, which ends it; what waits then is of the next loop."""
    rmq = AsyncRMQ(proxy.url(redis_server.url), namespace)

    async def left() -> list[asyncio.Task[Any]]:
        await rmq.define(Topic("here", TopicKind.PRIORITY, slots=4))
        tasks = [asyncio.create_task(for_ever(rmq, number)) for number in range(MANY)]
        await wait_until_async(lambda: len(rmq.connection._scripts._under_way) == 2, what="both halves to be under way")
        proxy.stall()
        await wait_until_async(lambda: len(rmq.connection._scripts._under_way) == 2, what="both halves to wait")
        for _ in range(20):  # they have been written by then
            await asyncio.sleep(0)
        return tasks

    async def next_loop() -> None:
        seen = asyncio.Event()

        async def until_seen(number: int) -> None:
            while not seen.is_set():
                await sender(rmq, number)

        tasks = [asyncio.create_task(until_seen(number)) for number in range(MANY)]
        await asyncio.sleep(0)  # it is the next loop's from here on
        await wait_until_async(lambda: len(rmq.connection._scripts._under_way) == 2, what="both halves to be under way")
        flusher.get_coro().close()
        seen.set()
        assert await told(tasks) == {type(None)}
        await AsyncControl(rmq).delete_topic("here", force=True)
        await rmq.close()

    former = asyncio.new_event_loop()
    tasks = former.run_until_complete(left())
    flusher: Any = rmq.connection._scripts._flusher
    former.close()
    proxy.flow()
    asyncio.run(next_loop())
    for task in (*tasks, flusher):
        task._log_destroy_pending = False  # as it is meant here


async def test_cancelled_tasks_end_with_a_client_handed_in_too(redis_server: EmbeddedRedis, namespace: str) -> None:
    """redis-py swallows a cancellation that meets the end of a write."""
    async with redis_async.Redis.from_url(redis_server.url + "?socket_timeout=30") as client:
        rmq = AsyncRMQ(redis_server.url, namespace, client=client)
        await rmq.define(Topic("here", TopicKind.PRIORITY, slots=4))
        for _ in range(10):
            tasks = [asyncio.create_task(sender(rmq, number)) for number in range(10)]
            await asyncio.sleep(0)
            for task in tasks:
                await rmq.send("here", PriorityMessage("another", 20))
                task.cancel()
            assert await told(tasks) == {asyncio.CancelledError}
        await AsyncControl(rmq).delete_topic("here", force=True)
