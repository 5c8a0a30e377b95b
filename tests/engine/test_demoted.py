"""A server that is a replica for a moment, as an old master is in a failover: what it refuses is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from rmq_core import RMQ, AsyncControl, AsyncRMQ, Control, Inspector, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from tests.support.servers import SERVER_KINDS, server_of
from tests.support.waiting import wait_until, wait_until_async


@pytest.fixture(params=SERVER_KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[EmbeddedRedis]:
    """Not the one that tests share: it is a replica at times."""
    with EmbeddedRedis(executable=server_of(request.param)) as server:
        yield server


def demoted(server: EmbeddedRedis) -> tuple[Callable[[], object], Callable[[], bool]]:
    """Makes it one; how to make it a master again, and whether it has refused something."""
    client = server.client()
    client.config_resetstat()
    client.replicaof("127.0.0.1", 1)
    return (
        lambda: client.replicaof("NO", "ONE"),
        lambda: client.info("stats")["total_error_replies"] > 0,
    )


def test_what_a_replica_refuses_is_sent_again(server: EmbeddedRedis) -> None:
    with RMQ(server.url, "t") as rmq, ThreadPoolExecutor() as threads:
        rmq.define(Topic("here", TopicKind.PRIORITY, slots=1))
        promote, refused = demoted(server)
        sending = threads.submit(rmq.send, "here", PriorityMessage("1", 20))
        wait_until(refused, what="a refusal")
        promote()
        assert sending.result().id == "1"
        assert Inspector(rmq).sample(["here"])[0].backlog == 1
        Control(rmq).delete_topic("here", force=True)


async def test_what_a_replica_refuses_of_many_tasks_is_sent_again(server: EmbeddedRedis) -> None:
    async with AsyncRMQ(server.url, "t") as rmq:
        await rmq.define(Topic("here", TopicKind.PRIORITY, slots=1))
        promote, refused = demoted(server)
        sends = [asyncio.create_task(rmq.send("here", PriorityMessage(f"{number}", 20))) for number in range(40)]
        await wait_until_async(refused, what="a refusal")
        promote()
        assert [sent.id for sent in await asyncio.gather(*sends)] == [f"{number}" for number in range(40)]
        await AsyncControl(rmq).delete_topic("here", force=True)
