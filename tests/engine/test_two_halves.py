"""Many tasks that share an asyncio client: while the server works for one half of them, the other half goes on. One
batch is written behind the other then, and what befalls the first must not befall the second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from rmq_core import AsyncControl, AsyncInspector, AsyncRMQ, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConnectionLost, DueInThePast
from rmq_core.transport import aio_scripts
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until_async

MANY = 100
EACH = 20
FAR_MS = 4_000_000_000_000


@pytest.fixture
async def rmq(proxy: TcpProxy, redis_server: EmbeddedRedis, namespace: str) -> AsyncIterator[AsyncRMQ]:
    """With two topics; a connection that is idle for a second is asked whether it lives, as soon as it is used."""
    async with AsyncRMQ(proxy.url(redis_server.url) + "?health_check_interval=1", namespace) as rmq:
        await rmq.define(Topic("here", TopicKind.PRIORITY, slots=4))
        await rmq.define(Topic("timed", TopicKind.FIXED_TIME, slots=4))
        yield rmq
        for name in ("here", "timed"):
            await AsyncControl(rmq).delete_topic(name, force=True)


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many calls stood in what was written while something else was under way."""
    seen: list[int] = []
    answered = aio_scripts.AsyncScripts._answered

    async def watched(self: aio_scripts.AsyncScripts, replies: list[Any], write: Any) -> None:
        async def noted(packed: Any) -> None:
            if len(self._under_way) > 1:
                seen.append(packed.commands)
            await write(packed)

        await answered(self, replies, noted)

    monkeypatch.setattr(aio_scripts.AsyncScripts, "_answered", watched)
    return seen


async def sender(rmq: AsyncRMQ, number: int) -> None:
    for i in range(EACH):
        sent = await rmq.send("here", PriorityMessage(f"{number}-{i}", 20))
        assert sent.id == f"{number}-{i}"


async def for_ever(rmq: AsyncRMQ, number: int) -> None:
    while True:
        await sender(rmq, number)


async def waiting(rmq: AsyncRMQ) -> int:
    (sample,) = await AsyncInspector(rmq).sample(["here"])
    return sample.backlog


async def test_the_halves_go_on_by_turns(rmq: AsyncRMQ, proxy: TcpProxy, behind: list[int]) -> None:
    await rmq.send("here", PriorityMessage("0-0", 20))
    connections = proxy.connections_seen
    await asyncio.gather(*(sender(rmq, number) for number in range(MANY)))
    assert behind.count(MANY // 2) >= EACH
    assert proxy.connections_seen == connections, "one connection is enough"
    assert await waiting(rmq) == MANY * EACH


async def test_lost_replies_lose_and_double_nothing(rmq: AsyncRMQ, proxy: TcpProxy, behind: list[int]) -> None:
    tasks = [asyncio.create_task(sender(rmq, number)) for number in range(MANY)]
    for dropped in range(1, 5):
        proxy.drop_next_reply(b"EVALSHA")
        await wait_until_async(partial(dropped_or_done, proxy, dropped, tasks), what="a lost reply")
    await asyncio.gather(*tasks)
    assert proxy.replies_dropped
    assert behind
    assert await waiting(rmq) == MANY * EACH


def dropped_or_done(proxy: TcpProxy, dropped: int, tasks: list[asyncio.Task[Any]]) -> bool:
    return proxy.replies_dropped >= dropped or all(map(done, tasks))


def done(task: asyncio.Task[Any]) -> bool:
    return task.done()


async def test_a_script_forgotten_meanwhile_is_taught_again(
    rmq: AsyncRMQ, redis_server: EmbeddedRedis, behind: list[int]
) -> None:
    async with AsyncRMQ(redis_server.url, rmq.keyspace.namespace) as other:
        tasks = [asyncio.create_task(sender(rmq, number)) for number in range(MANY)]
        while not all(map(done, tasks)):
            await other.connection.client.script_flush()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
    assert behind
    assert await waiting(rmq) == MANY * EACH


async def test_an_error_in_one_half_is_for_the_one_that_made_it(rmq: AsyncRMQ, behind: list[int]) -> None:
    async def wrong(number: int) -> int:
        refused = 0
        for i in range(EACH):
            try:
                await rmq.send("timed", FixedTimeMessage(f"{number}-{i}", FAR_MS if i % 4 else 1_000_000_000_000))
            except DueInThePast:
                refused += 1
        return refused

    refused, *_ = await asyncio.gather(
        asyncio.gather(*(wrong(number) for number in range(10))), *(sender(rmq, number) for number in range(MANY))
    )
    assert refused == [EACH // 4] * 10
    assert behind
    (sample,) = await AsyncInspector(rmq).sample(["timed"])
    assert sample.backlog == 10 * (EACH - EACH // 4)
    assert await waiting(rmq) == MANY * EACH


async def test_a_loop_that_stood_still_reads_no_answer_of_another(
    rmq: AsyncRMQ, behind: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection would be asked whether it lives, and somebody's reply taken for its answer."""
    monkeypatch.setattr(aio_scripts, "TOGETHER_S", 60.0)

    async def stands(number: int) -> None:
        for i in range(EACH):
            sent = await rmq.send("here", PriorityMessage(f"{number}-{i}", 20))
            assert sent.merged is False, "nothing was asked for again"
            if i == 5 and number == MANY:
                time.sleep(1.1)  # noqa: ASYNC251 - the loop stands still

    await asyncio.gather(*(stands(number) for number in range(MANY + 1)))
    assert behind
    assert await waiting(rmq) == (MANY + 1) * EACH


async def test_a_connection_that_was_closed_is_not_made_anew_in_between(
    rmq: AsyncRMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replies of the new one would be taken for those that were awaited on the old one."""
    answered, closed = aio_scripts.AsyncScripts._answered, []

    async def closes(self: aio_scripts.AsyncScripts, replies: list[Any], write: Any) -> None:
        async def closing(packed: Any) -> None:
            if len(self._under_way) > 1 and len(closed) < 3:
                closed.append(packed)
                await self._servers.client.connection_pool.disconnect()
            await write(packed)

        await answered(self, replies, closing)

    async def first(number: int) -> None:
        for i in range(EACH):
            assert (await rmq.send("here", PriorityMessage(f"{number}-{i}", 20))).merged is not True
            assert (await rmq.send("here", PriorityMessage(f"{number}-{i}", 20))).merged is not False

    monkeypatch.setattr(aio_scripts.AsyncScripts, "_answered", closes)
    await asyncio.gather(*(first(number) for number in range(MANY)))
    assert len(closed) == 3
    assert await waiting(rmq) == MANY * EACH


async def test_closing_tells_both_halves(proxy: TcpProxy, redis_server: EmbeddedRedis, namespace: str) -> None:
    async with AsyncRMQ(proxy.url(redis_server.url), namespace) as rmq:
        await rmq.define(Topic("here", TopicKind.PRIORITY, slots=4))
        tasks = [asyncio.create_task(for_ever(rmq, number)) for number in range(MANY)]
        await wait_until_async(lambda: len(rmq.connection._scripts._under_way) == 2, what="both halves to be under way")
        proxy.stall()
        await rmq.connection.close()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(each) for each in found} == {ConnectionLost}
        proxy.flow()
        await AsyncControl(rmq).delete_topic("here", force=True)


async def test_what_is_asked_first_is_done_first(rmq: AsyncRMQ, behind: list[int]) -> None:
    """Nobody awaits them before the next ones: one connection keeps their order."""
    await rmq.define(Topic("log", TopicKind.STREAM, slots=1))
    busy = [asyncio.create_task(sender(rmq, number)) for number in range(MANY)]
    adds = []
    for number in range(200):
        adds.append(asyncio.create_task(rmq.send("log", b"%d" % number)))
        if number % 3 == 0:
            await asyncio.sleep(0)
    await asyncio.gather(*adds, *busy)
    assert behind
    page = await rmq.read("log", limit=500)
    assert [int(entry.content) for entry in page.entries] == list(range(200))
    await AsyncControl(rmq).delete_topic("log", force=True)
