"""Whoever shares a client with hundreds of others waits for a turn; nobody is told that there are too many."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from types import FrameType

import pytest

from rmq_core import RMQ, AsyncRMQ, Control, PriorityMessage, Topic, TopicKind, errors
from rmq_core.client import base
from rmq_core.client.shared_check import AsyncSharedCheck, SharedCheck
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.protocol.scripts import Operation
from tests.support.waiting import wait_until

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


def test_one_reads_a_definition_anew_while_the_others_go_on(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But with none that is older than a second."""
    now = 100.0
    monkeypatch.setattr(base.time, "monotonic", lambda: now)
    with RMQ("redis://localhost:1", namespace) as client:
        topic = client.remember(Topic("work", TopicKind.PRIORITY))
        now += 0.89
        assert client.known_topic("work") is topic
        now += 0.05
        reading = client.checked_topic("work")
        next(reading)
        assert client.known_topic("work") is topic
        now += 0.06
        assert client.known_topic("work") is None
        now -= 0.06
        reading.close()
        assert client.known_topic("work") is None, "whoever read it has been cancelled"


def test_a_definition_is_as_old_as_the_question(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer may have been long on its way, and come behind that to a later question."""
    now, asked = (
        100.0,
        [(None, Topic("work", TopicKind.PRIORITY, weight=weight).to_json().encode()) for weight in (2, 3)],
    )
    monkeypatch.setattr(base.time, "monotonic", lambda: now)
    with RMQ("redis://localhost:1", namespace) as client:

        def answered(reading: Operation[Topic], answer: object) -> None:
            with pytest.raises(StopIteration):
                reading.send([answer])

        first, second = client.checked_topic("work"), client.checked_topic("work")
        next(first)
        now += 0.5
        next(second)
        now += 0.3
        answered(second, asked[1])
        answered(first, asked[0])
        assert (known := client.known_topic("work")) and known.weight == 3
        now += 0.7
        assert client.known_topic("work") is None


async def test_a_burst_of_first_calls_takes_one_connection(redis_server: EmbeddedRedis, namespace: str) -> None:
    """And asks once what kind of server it is."""
    topic = Topic("work", TopicKind.PRIORITY, slots=1)
    with RMQ(redis_server.url, namespace) as other, redis_server.client() as raw:
        other.define(topic)
        before, asked = len(raw.client_list()), raw.info("commandstats")["cmdstat_info"]["calls"]
        async with AsyncRMQ(redis_server.url, namespace) as client:
            await asyncio.gather(*(client.send("work", PriorityMessage(f"{n}", 20)) for n in range(CALLERS)))
            assert len(raw.client_list()) - before == 1
            assert raw.info("commandstats")["cmdstat_info"]["calls"] - asked == 1 + 2
        Control(other).delete_topic("work", force=True)


def test_threads_wait_for_a_server_that_is_away_no_longer_than_one(namespace: str) -> None:
    """Not each after the other."""
    threads, looks, told = 5, list[int](), list[BaseException]()
    check = SharedCheck()

    def waits(frame: FrameType) -> bool:
        return frame.f_code is SharedCheck.make.__code__ and frame.f_locals.get("others") is check._under_way

    def away() -> None:
        looks.append(1)
        wait_until(lambda: sum(map(waits, sys._current_frames().values())) == threads - 1, what="the others to wait")
        raise errors.ConnectionLost("away")

    def call() -> None:
        try:
            check.make(away)
        except errors.ConnectionLost as error:
            told.append(error)

    several = [threading.Thread(target=call) for _ in range(threads)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    assert (len(looks), len(told)) == (1, threads)
    assert len(set(map(id, told))) == threads, "one for all would get the traceback of each of them"
    check.make(lambda: looks.append(1))
    check.make(lambda: looks.append(1))
    assert len(looks) == 2, "later it is looked at again, until it has passed"


def test_what_a_check_calls_itself_does_not_wait_for_it() -> None:
    """A handler of logs that sends what it is given, as that the server does not answer INFO."""
    check, looks = SharedCheck(), list[str]()

    def look() -> None:
        looks.append("begun")
        check.make(lambda: looks.append("never"))
        looks.append("done")

    threading.Thread(target=check.make, args=(look,), daemon=True).start()
    wait_until(lambda: check.passed, what="the check")
    assert looks == ["begun", "done"]


async def test_coroutines_too(namespace: str) -> None:
    async with AsyncRMQ("redis://127.0.0.1:1", namespace, retry_for_ms=0) as client:
        looks = list[int]()
        real = client.check_server
        client.check_server = lambda: looks.append(1) or real()  # type: ignore[func-returns-value,method-assign]
        told = await asyncio.gather(*(client.topic("work") for _ in range(9)), return_exceptions=True)
        assert {type(each) for each in told} == {errors.ConnectionLost} and len(looks) == 1
        assert len(set(map(id, told))) == 9


async def test_whoever_was_cancelled_while_it_looked_tells_nobody_anything() -> None:
    check, looks = AsyncSharedCheck(), list[asyncio.Event]()

    async def look() -> None:
        looks.append(asyncio.Event())
        await looks[-1].wait()

    first = asyncio.create_task(check.make(look))
    others = [asyncio.create_task(check.make(look)) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await first
    async with asyncio.timeout(60):
        while len(looks) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
    looks[1].set()
    await asyncio.gather(*others)
    assert check.passed and len(looks) == 2
