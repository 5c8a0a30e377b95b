"""What opening a connection costs: nothing is looked up that the process knows already."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import redis.utils

from rmq_core import RMQ, AsyncRMQ, Inspector
from rmq_core.client.async_inspector import AsyncInspector

SERVERS = [
    "redis_server",
    *(pytest.param(name, marks=pytest.mark.cluster) for name in ("redis_cluster", "redis_sentinel")),
]


@pytest.mark.parametrize("name", SERVERS)
def test_no_file_is_read_to_say_who_we_are(
    request: pytest.FixtureRequest, namespace: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    server: Any = request.getfixturevalue(name)

    def looked_up() -> str:
        raise AssertionError("redis-py reads its own metadata")

    async def other_way() -> Any:
        async with AsyncRMQ(server.url, namespace) as client:
            return await AsyncInspector(client).topics()

    with monkeypatch.context() as patch, RMQ(server.url, namespace) as client:
        patch.setattr(redis.utils, "get_lib_version", looked_up)
        assert Inspector(client).topics() == asyncio.run(other_way()) == []
