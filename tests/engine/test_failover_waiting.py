"""Whoever waits when a master is killed, a worker or a take that sleeps, goes on with its successor."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from rmq_core import RMQ, AsyncRMQ, Control, Delivery, Listener, PriorityMessage, Topic, TopicKind, Worker
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.embedded.redis_sentinel import EmbeddedSentinel
from rmq_core.embedded.replication import replication
from tests.support.servers import chosen_server
from tests.support.waiting import at_most_s, wait_until, wait_until_async

pytestmark = pytest.mark.cluster

NAMESPACE = "waits"
TOPICS = ("worker", "sync", "async")


class Servers(ABC):
    """A master, and who takes its place."""

    url: str
    nodes: Sequence[EmbeddedRedis]

    @abstractmethod
    def master(self) -> EmbeddedRedis:
        """Of what the synchronous take waits for."""

    def fail_over(self) -> EmbeddedRedis:
        """Kills the master; returns it when it has a successor."""
        old = self.master()
        old.kill()
        self.await_successor(old)
        return old

    @abstractmethod
    def await_successor(self, old: EmbeddedRedis) -> None:
        """Returns when there is one."""

    def heard(self) -> set[bytes]:
        """Channels that somebody listens to."""
        channels: set[bytes] = set()
        for node in self.nodes:
            if node.running:
                with node.client() as client:
                    channels.update(client.pubsub_channels())
        return channels


class Sentinels(Servers):
    def __init__(self, service: EmbeddedSentinel) -> None:
        self.service, self.url, self.nodes = service, service.url, service.servers

    def master(self) -> EmbeddedRedis:
        return self.service.master()

    def await_successor(self, old: EmbeddedRedis) -> None:
        self.service.wait_for_new_master(old)


class Cluster(Servers):
    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster, self.url, self.nodes = cluster, cluster.url, cluster.nodes

    def master(self) -> EmbeddedRedis:
        return self.cluster.master_of(f"{NAMESPACE}:sync_0")

    def await_successor(self, old: EmbeddedRedis) -> None:
        wait_until(lambda: self.master() is not old, timeout_s=90, what="a replica to take over")


@pytest.fixture(params=["sentinel", "cluster"])
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    if request.param == "sentinel":
        yield Sentinels(request.getfixturevalue("redis_sentinel"))
        return
    with EmbeddedCluster(replicas=1, node_timeout_ms=1_000, executable=chosen_server()) as cluster:
        yield Cluster(cluster)


async def test_they_go_on(servers: Servers) -> None:
    seen: list[str] = []
    async with AsyncExitStack() as stack:
        rmq = stack.enter_context(RMQ(servers.url, NAMESPACE))
        aio = await stack.enter_async_context(AsyncRMQ(servers.url, NAMESPACE))
        for name in TOPICS:
            rmq.define(Topic(name, TopicKind.PRIORITY, slots=2))
        listener = Listener("worker", lambda delivery: seen.append(delivery.text))
        worker = Worker(servers.url, [listener], namespace=NAMESPACE)
        serving = asyncio.create_task(worker.serve())

        async def asleep() -> list[asyncio.Task[list[Delivery]]]:
            """Takes of both kinds, once they and the worker listen."""
            sleepers = [
                asyncio.create_task(asyncio.to_thread(rmq.take, "sync", timeout_ms=120_000)),
                asyncio.create_task(aio.take("async", timeout_ms=120_000)),
            ]
            channels = {f"{NAMESPACE}:wake:{name}".encode() for name in TOPICS}
            await wait_until_async(lambda: channels <= servers.heard(), what="all to listen")
            return sleepers

        def send(content: str) -> None:
            """By somebody who has not lived through it."""
            with RMQ(servers.url, NAMESPACE) as fresh:
                for name in TOPICS:
                    fresh.send(name, PriorityMessage(content, 20))

        async def go_on(content: str, sleepers: list[asyncio.Task[Any]]) -> None:
            began = time.monotonic()
            await asyncio.to_thread(send, content)
            await wait_until_async(
                lambda: content in seen and all(sleeper.done() for sleeper in sleepers), what="all to go on"
            )
            assert time.monotonic() - began < at_most_s(3.0)
            assert [[each.text for each in sleeper.result()] for sleeper in sleepers] == [[content]] * 2
            assert rmq.ack(sleepers[0].result()) == await aio.ack(sleepers[1].result()) == ["done"]

        sleepers = await asleep()
        old = await asyncio.to_thread(servers.fail_over)
        await go_on("under the new one", sleepers)
        sleepers = await asleep()
        old.start()
        await wait_until_async(
            lambda: replication(old)["role"] == "slave" and replication(old)["master_link_status"] == "up",
            timeout_s=60,
            what="the old master to be a replica",
        )
        await go_on("with the old one back", sleepers)
        worker.stop()
        await serving
        for name in TOPICS:
            assert await asyncio.to_thread(Control(rmq).delete_topic, name) == 0
    assert seen == ["under the new one", "with the old one back"]
