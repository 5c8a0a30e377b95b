"""The server is called by its own name and version, whichever program it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rmq_core import RMQ, AsyncInspector, AsyncRMQ, Inspector, errors
from rmq_core.client.base import ClientCore
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_binary import redis_servers
from rmq_core.model.programs import program_of
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
