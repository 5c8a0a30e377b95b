"""Clients find the new master when the old one dies, hangs or comes back, whatever has become of the Sentinels."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import redis

from rmq_core import RMQ, AsyncControl, AsyncRMQ, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.ports import free_port
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.embedded.redis_sentinel import EmbeddedSentinel
from rmq_core.embedded.replication import replication
from rmq_core.errors import ConnectionLost
from rmq_core.transport.lines import LATE_S
from tests.engine.conformance.bench import Bench, open_bench
from tests.support.servers import chosen_server
from tests.support.waiting import wait_until_async

pytestmark = pytest.mark.cluster

STEP_S, MOMENTS = 0.1, 60
AT_MOST_S = 3.0
"""How long a client tries, from its first failure: this much later than the failover it must have found the master."""


@pytest.fixture(scope="module")
def service() -> Iterator[EmbeddedSentinel]:
    with EmbeddedSentinel(password="p@ss/word", sentinel_password="an:other?") as service:
        yield service


@pytest.fixture(params=["sync", "async"])
async def bench(request: pytest.FixtureRequest, service: EmbeddedSentinel) -> AsyncIterator[Bench]:
    service.start()
    raw = service.master().client()
    async with open_bench(request.param, service.url, "failed", raw) as opened:
        opened.q.connection.retry_for_ms = int(AT_MOST_S * 1000)
        await opened.topic(slots=4)
        yield opened
        await opened.control.delete_topic("work", force=True)
    raw.close()


def held(server: EmbeddedRedis) -> int:
    with server.client() as client:
        return sum(int(client.zcard(f"failed:work_{slot}")) for slot in range(4))


async def send(bench: Bench, *names: str) -> None:
    """At once, so that there are several connections."""
    await asyncio.gather(*(bench.q.send("work", PriorityMessage(name, 30)) for name in names))


async def replicated(bench: Bench, service: EmbeddedSentinel, count: int) -> None:
    replica = next(server for server in service.servers if server is not service.master())
    await bench.until(lambda: held(replica) == count, "the replica to have the messages")


async def new_master(service: EmbeddedSentinel, old: EmbeddedRedis) -> EmbeddedRedis:
    return await asyncio.to_thread(service.wait_for_new_master, old)


async def test_the_master_is_killed_and_comes_back_as_a_replica(bench: Bench, service: EmbeddedSentinel) -> None:
    await send(bench, *"abcdefgh")
    await replicated(bench, service, 8)
    bench.q.connection.retry_for_ms = 15_000
    old = service.kill_master()
    under_way = asyncio.create_task(send(bench, *"ij"))
    new = await new_master(service, old)
    bench.q.connection.retry_for_ms = int(AT_MOST_S * 1000)
    await send(bench, *"kl")
    await under_way
    assert held(new) == 12
    old.start()
    await send(bench, *"mnop")
    await wait_until_async(
        lambda: replication(old)["role"] == "slave" and replication(old)["master_link_status"] == "up",
        timeout_s=60,
        what="the old master to be a replica",
    )
    await send(bench, *"qrst")
    assert held(new) == 20
    assert len(await bench.drain()) == 20


@pytest.mark.parametrize("connected", [True, False], ids=["connected", "to be connected to"])
async def test_a_master_that_hangs_and_wakes_up_gets_nothing(
    bench: Bench, service: EmbeddedSentinel, connected: bool
) -> None:
    """When it wakes up it still takes itself for the master, and forgets what it was given once it is told."""
    await send(bench, *"abcdefgh")
    await replicated(bench, service, 8)
    old = service.master()
    if not connected:
        with old.client() as client:
            client.client_kill_filter(_type="normal", skipme=True)
    old.pause()
    try:
        sending = asyncio.create_task(send(bench, "under way"))
        new = await new_master(service, old)
        # What was begun less than that before its end is not taken for late.
        awake = time.monotonic() + 2 * LATE_S
        await wait_until_async(lambda: time.monotonic() > awake, what="what comes now to be late")
    finally:
        old.resume()
    await send(bench, *"ijkl")
    await sending
    assert held(new) == 13


async def test_who_connects_just_before_a_master_wakes_up_is_not_let_in(service: EmbeddedSentinel) -> None:
    """At whatever moment of its sleep: until its end the Sentinels may have named it."""
    service.start()
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(AsyncRMQ(service.url, "failed")) for _ in range(MOMENTS)]
        await clients[0].define(Topic("work", TopicKind.PRIORITY, slots=4))
        for client in clients:
            await client.send("work", PriorityMessage("there", 30))  # from now on it knows the topic
        old = service.master()
        await wait_until_async(lambda: all(held(server) for server in service.servers), what="it to be replicated")
        with old.client() as raw:
            raw.client_kill_filter(_type="normal", skipme=True)
        old.pause()
        sending: list[asyncio.Task[Any]] = []
        try:
            electing = asyncio.create_task(new_master(service, old))
            for number, client in enumerate(clients):
                if not electing.done():
                    sending.append(asyncio.create_task(client.send("work", PriorityMessage(f"at {number}", 30))))
                    await asyncio.wait([electing], timeout=STEP_S)
            new = await electing
            # What was begun less than that before its end is not taken for late.
            awake = time.monotonic() + 2 * LATE_S
            await wait_until_async(lambda: time.monotonic() > awake, what="what comes now to be late")
        finally:
            old.resume()
        await asyncio.gather(*sending)
        assert held(new) == 1 + len(sending)
        await AsyncControl(clients[0]).delete_topic("work", force=True)


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_a_master_that_goes_on_after_its_successor_was_named_is_left(flavour: str) -> None:
    """By lines that are never idle, too: after SENTINEL FAILOVER it accepts for a while, and forgets it."""
    with EmbeddedSentinel() as service:
        old = service.master()
        raw = old.client()
        async with open_bench(flavour, service.url, "failed", raw) as bench:
            await bench.topic(slots=4)
            await send(bench, "before")
            raw.execute_command("ACL SETUSER default -replicaof -slaveof")  # nobody tells it that it is a replica
            sentinel = service.sentinels[0].client()
            sentinel.execute_command("SENTINEL FAILOVER", service.service)
            sentinel.close()
            numbers = itertools.count()

            async def sent_until(condition: Callable[[], bool]) -> bool:
                await send(bench, f"after {next(numbers)}")
                return condition()

            electing = asyncio.create_task(new_master(service, old))
            await wait_until_async(lambda: sent_until(electing.done), what="another master to be named")
            new = await new_master(service, old)
            before = held(new)
            await wait_until_async(lambda: sent_until(lambda: held(new) > before), what="it to be sent to the new one")
        raw.close()


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_a_clusters_master_that_hangs_and_wakes_up_is_not_believed(flavour: str) -> None:
    """It answers what was under way before it hears of its successor."""
    with EmbeddedCluster(replicas=1, node_timeout_ms=1_000, executable=chosen_server()) as cluster:
        raw = cluster.client()
        async with open_bench(flavour, cluster.url, "failed", raw) as bench:
            await bench.topic()
            await send(bench, *"ab")
            old = cluster.master_of("failed:work_0")
            copies = [node for node in cluster.nodes if node is not old]
            await bench.until(lambda: max(map(copied, copies)) == 2, "a replica to have the messages")
            old.pause()
            try:
                sending = asyncio.create_task(send(bench, *"cdefghijklmnopqrst"))
                await wait_until_async(
                    lambda: any(served(node) for node in copies), timeout_s=90, what="a replica to take over"
                )
            finally:
                old.resume()
            await sending
            assert sorted(each.text for each in await bench.drain()) == list("abcdefghijklmnopqrst")
            await bench.control.delete_topic("work", force=True)
        raw.close()


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_a_clusters_master_that_hangs_for_good_is_left_for_its_successor(flavour: str) -> None:
    """However long its answer would be waited for; nor is it asked who the successor is."""
    with EmbeddedCluster(replicas=1, node_timeout_ms=1_000, executable=chosen_server()) as cluster:
        raw = cluster.client()
        patient = f"{cluster.url}?socket_timeout=600&socket_connect_timeout=600"
        async with open_bench(flavour, patient, "failed", raw) as bench:
            await bench.topic()
            await send(bench, "a")
            old = cluster.master_of("failed:work_0")
            copies = [node for node in cluster.nodes if node is not old]
            await bench.until(lambda: max(map(copied, copies)) == 1, "a replica to have the message")
            old.pause()
            try:
                sending = asyncio.create_task(send(bench, "b"))
                await wait_until_async(sending.done, what="the message to be sent to the successor")
                await sending
            finally:
                old.resume()
            assert sorted(each.text for each in await bench.drain()) == ["a", "b"]
            await bench.control.delete_topic("work", force=True)
        raw.close()


def copied(node: EmbeddedRedis) -> int:
    """Messages that a node has in its own memory."""
    with node.client() as client:
        client.readonly()
        try:
            return int(client.zcard("failed:work_0"))
        except redis.ResponseError:  # the slot is none of its own, nor of its master
            return 0


def served(node: EmbeddedRedis) -> bool:
    """Whether it is the master of the messages."""
    with node.client() as client:
        try:
            return bool(client.exists("failed:work_0"))
        except redis.ResponseError:
            return False


async def test_sentinels_that_are_dead_or_silent_are_passed_over(service: EmbeddedSentinel) -> None:
    service.start()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dead = f"127.0.0.1:{free_port()},127.0.0.1:{silent.getsockname()[1]},"
        url = service.url.replace("@127", f"@{dead}127")
        for flavour in ("sync", "async"):
            raw = service.master().client()
            async with open_bench(flavour, url, "failed", raw) as bench:
                bench.q.connection.retry_for_ms = int(AT_MOST_S * 1000)
                await bench.topic()
                await send(bench, "a")
                assert len(await bench.drain()) == 1
                await bench.control.delete_topic("work", force=True)
            raw.close()


def test_the_error_names_the_sentinels_password(service: EmbeddedSentinel) -> None:
    service.start()
    with (
        RMQ(service.url.partition("?")[0], "failed", retry_for_ms=200) as rmq,
        pytest.raises(ConnectionLost, match="sentinel_password"),
    ):
        rmq.topic("work")
