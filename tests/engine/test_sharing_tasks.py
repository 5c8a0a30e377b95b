"""One asyncio client, used by many tasks at once: they share its round trips, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rmq_core import AsyncControl, AsyncInspector, AsyncRMQ, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConnectionLost, RMQError
from rmq_core.ops.sent import Sent
from rmq_core.transport.aio_lines import AsyncLines
from tests.support.proxy import TcpProxy
from tests.support.waiting import wait_until_async

MANY = 100
FAR_MS = 4_000_000_000_000


@pytest.fixture(params=["redis", pytest.param("cluster", marks=pytest.mark.cluster)])
def url(request: pytest.FixtureRequest) -> str:
    fixture = {"redis": "redis_server", "cluster": "redis_cluster"}[request.param]
    return str(request.getfixturevalue(fixture).url)


@pytest.fixture
async def rmq(url: str, namespace: str) -> AsyncIterator[AsyncRMQ]:
    async with with_topics(url, namespace) as client:
        yield client


@pytest.fixture
async def through(proxy: TcpProxy, redis_server: EmbeddedRedis, namespace: str) -> AsyncIterator[AsyncRMQ]:
    """A client behind the proxy."""
    async with with_topics(proxy.url(redis_server.url), namespace) as client:
        yield client


@asynccontextmanager
async def with_topics(url: str, namespace: str) -> AsyncIterator[AsyncRMQ]:
    """A client with the topics ``here`` (priority) and ``timed``; both are gone afterwards."""
    async with AsyncRMQ(url, namespace) as client:
        for name, kind in (("here", TopicKind.PRIORITY), ("timed", TopicKind.FIXED_TIME)):
            await client.define(Topic(name, kind, slots=4, max_content_bytes=1_000))
        yield client
        for name in ("here", "timed"):
            await AsyncControl(client).delete_topic(name, force=True)


def sends(rmq: AsyncRMQ, prefix: str = "m") -> list[asyncio.Task[Sent]]:
    return [asyncio.create_task(rmq.send("here", PriorityMessage(f"{prefix}{n}", 20))) for n in range(MANY)]


async def waiting(rmq: AsyncRMQ) -> int:
    (sample,) = await AsyncInspector(rmq).sample(["here"])
    return sample.backlog


async def test_sends_of_one_turn_share_a_round_trip(rmq: AsyncRMQ, monkeypatch: pytest.MonkeyPatch) -> None:
    await rmq.send("here", PriorityMessage("before", 20))  # the script is known, and every node has its connection
    exchanges, exchange = 0, AsyncLines.one

    async def counted(*args: Any) -> Any:
        nonlocal exchanges
        exchanges += 1
        return await exchange(*args)

    monkeypatch.setattr(AsyncLines, "one", counted)
    found = await asyncio.gather(*sends(rmq))
    assert [sent.id for sent in found] == [f"m{n}" for n in range(MANY)]
    assert not any(sent.merged for sent in found)
    # On Cluster to three nodes, which may have to be taught the script, and once more for the topic's hints.
    assert exchanges <= 12


async def test_each_task_gets_its_own_replies_in_its_own_order(rmq: AsyncRMQ) -> None:
    async def one(number: int) -> None:
        for i in range(10):
            first = await rmq.send("here", PriorityMessage(f"{number}-{i}", 20))
            again = await rmq.send("here", PriorityMessage(f"{number}-{i}", 21))
            assert (first.id, first.merged, again.id, again.merged) == (f"{number}-{i}", False, f"{number}-{i}", True)

    await asyncio.gather(*(one(number) for number in range(20)))
    assert await waiting(rmq) == 200


async def test_an_error_is_for_the_one_that_made_it(rmq: AsyncRMQ) -> None:
    wrong: list[Any] = [
        rmq.send("timed", FixedTimeMessage("late", 1_000_000_000_000)),  # refused by the script
        rmq.send("nowhere", PriorityMessage("lost", 20)),
        rmq.send("here", PriorityMessage("x" * 2_000, 20)),
    ]
    right = [rmq.send("timed", FixedTimeMessage(f"t{n}", FAR_MS)) for n in range(MANY)]
    found = await asyncio.gather(*right[:50], *wrong, *right[50:], *sends(rmq), return_exceptions=True)
    assert [type(error).__name__ for error in found if isinstance(error, Exception)] == [
        "DueInThePast",
        "UnknownTopic",
        "ContentTooLarge",
    ]
    assert sum(isinstance(sent, Sent) for sent in found) == 2 * MANY


async def test_who_is_cancelled_takes_nobody_along(through: AsyncRMQ, proxy: TcpProxy) -> None:
    await through.send("here", PriorityMessage("before", 20))
    proxy.stall()
    tasks = sends(through)
    await asyncio.sleep(0)
    later = sends(through, "later")  # for the next round trip
    await asyncio.sleep(0)
    for cancelled in (tasks[0], tasks[50], later[7]):
        cancelled.cancel()
    await asyncio.wait([tasks[0], tasks[50], later[7]])
    proxy.flow()
    found = await asyncio.gather(*tasks, *later, return_exceptions=True)
    gone = [number for number, sent in enumerate(found) if isinstance(sent, asyncio.CancelledError)]
    assert gone == [0, 50, MANY + 7]
    assert [sent.id for sent in found if isinstance(sent, Sent)] == [
        f"{prefix}{n}" for prefix, without in (("m", (0, 50)), ("later", (7,))) for n in range(MANY) if n not in without
    ]
    assert 1 + 2 * MANY - 3 <= await waiting(through) <= 1 + 2 * MANY


async def test_lost_replies_are_those_of_one_round_trip(through: AsyncRMQ, proxy: TcpProxy) -> None:
    await through.send("here", PriorityMessage("known", 20))
    proxy.drop_next_reply(b"EVALSHA")
    found = await asyncio.gather(*sends(through), through.send("here", PriorityMessage("known", 20)))
    assert proxy.replies_dropped == 1
    # What had got there is a merge with itself now: nobody knows whether it was new.
    assert {sent.merged for sent in found} <= {None, False}
    assert found[-1].merged is None
    assert await waiting(through) == MANY + 1
    assert all(sent.merged is True for sent in await asyncio.gather(*sends(through)))


async def test_a_server_that_is_away_fails_them_all_in_words(
    proxy: TcpProxy, redis_server: EmbeddedRedis, namespace: str
) -> None:
    async with AsyncRMQ(proxy.url(redis_server.url), namespace, retry_for_ms=200) as rmq:
        await rmq.define(Topic("here", TopicKind.PRIORITY, slots=4))
        proxy.refuse()
        proxy.cut()
        found = await asyncio.gather(*sends(rmq), return_exceptions=True)
        assert {type(error) for error in found} == {ConnectionLost}
        proxy.accept()

        async def back() -> bool:
            try:
                return (await rmq.send("here", PriorityMessage("after", 20))).id == "after"
            except RMQError:
                return False

        await wait_until_async(back, what="the server to be back")
        await AsyncControl(rmq).delete_topic("here", force=True)
