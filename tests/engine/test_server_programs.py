"""The server is called by its own name and version, whichever program it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from rmq_core import RMQ, AsyncInspector, AsyncRMQ, Inspector, errors
from rmq_core.client.base import ClientCore
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_binary import redis_servers
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.model.programs import program_of
from rmq_core.model.views import ServerInfo
from rmq_core.protocol.keys import Keyspace
from rmq_core.queries import fleet
from tests.support.servers import SERVER_KINDS, server_of


@pytest.mark.parametrize("kind", SERVER_KINDS)
async def test_the_server_says_what_its_program_says(
    redis_of_kind: Callable[[str], EmbeddedRedis], namespace: str, kind: str
) -> None:
    running = redis_of_kind(kind)
    program = next(server for server in redis_servers() if server.path == server_of(kind))
    with RMQ(running.url, namespace) as rmq:
        found = Inspector(rmq).server()
    assert f"{found.program} {found.version}" == str(program)
    assert found.mode == "standalone"
    async with AsyncRMQ(running.url, namespace) as rmq:
        other = await AsyncInspector(rmq).server()
    assert (other.program, other.version) == (found.program, found.version)


@pytest.mark.cluster
def test_a_cluster_says_what_its_nodes_are(redis_cluster: Any, namespace: str) -> None:
    with RMQ(redis_cluster.url, namespace) as rmq:
        found = Inspector(rmq).server()
    assert found.mode == "cluster"
    assert f"{found.program} {found.version}" in {str(server) for server in redis_servers()}


@pytest.fixture(params=["sync", "async"])
def look(request: pytest.FixtureRequest, redis_cluster: EmbeddedCluster, namespace: str) -> Callable[[], ServerInfo]:
    """A new client's look at the Cluster."""

    async def asynchronous() -> ServerInfo:
        async with AsyncRMQ(redis_cluster.url, namespace) as rmq:
            return await AsyncInspector(rmq).server()

    def synchronous() -> ServerInfo:
        with RMQ(redis_cluster.url, namespace) as rmq:
            return Inspector(rmq).server()

    return synchronous if request.param == "sync" else lambda: asyncio.run(asynchronous())


@pytest.mark.cluster
def test_every_master_of_a_cluster_counts(look: Callable[[], ServerInfo], redis_cluster: EmbeddedCluster) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(node.client()) for node in redis_cluster.nodes]
        for number, client in enumerate(clients):
            client.config_set("maxmemory", f"{100 * (number + 1)}mb")
        used = [client.info("memory")["used_memory"] for client in clients]
        found = look()
        for client in clients:
            client.config_set("maxmemory", 0)
    assert found.maxmemory == 600 * 1024 * 1024
    assert found.used_memory > 2 * max(used), "a sum over three"
    assert found.fullest == pytest.approx(used[0] / (100 * 1024 * 1024), rel=0.5), "the one with least room"
    assert found.policy == "noeviction"
    assert look().fullest == 0.0


@pytest.mark.cluster
@pytest.mark.parametrize("number", range(3))
def test_a_single_master_that_evicts_is_found(
    look: Callable[[], ServerInfo], redis_cluster: EmbeddedCluster, namespace: str, number: int
) -> None:
    with redis_cluster.nodes[number].client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            with pytest.raises(errors.EvictionEnabled, match="allkeys-lru"):
                look()
            with RMQ(redis_cluster.url, namespace, allow_eviction=True) as rmq:
                assert Inspector(rmq).server().policy == "allkeys-lru, noeviction"
        finally:
            client.config_set("maxmemory-policy", "noeviction")


@pytest.mark.cluster
async def test_a_master_that_is_away_hides_no_other() -> None:
    with EmbeddedCluster() as cluster, RMQ(cluster.url) as rmq:
        async with AsyncRMQ(cluster.url) as other:
            before = Inspector(rmq).server(), await AsyncInspector(other).server()
            cluster.kill(0)
            after = Inspector(rmq).server(), await AsyncInspector(other).server()
    assert [found.version for found in after] == [found.version for found in before]
    assert all(0 < now.used_memory < then.used_memory for now, then in zip(after, before, strict=True))


def test_nodes_of_several_releases_are_all_named() -> None:
    looks = fleet.server(Keyspace())
    next(looks)
    with pytest.raises(StopIteration) as done:
        looks.send(
            [{"a": {"redis_version": "7.0.15"}, "b": {"redis_version": "7.4.1"}, "c": {"redis_version": "7.0.15"}}]
        )
    assert done.value.value.version == "7.0.15, 7.4.1"


def test_what_is_too_old_is_called_by_its_name() -> None:
    for info, named in (
        ({"redis_version": "5.0.14"}, "Redis 5.0.14"),
        ({"redis_version": "6.0.1", "server_name": "valkey", "valkey_version": "0.1"}, "Valkey 0.1"),
        ({}, "Redis ?"),
    ):
        check = ClientCore("redis://localhost", "rmq", False).check_server()
        next(check)
        check.send([info])
        with pytest.raises(errors.ServerTooOld, match=named.replace("?", r"\?")):
            check.send([{"maxmemory_policy": "noeviction"}])
        assert str(program_of(info)) == named
