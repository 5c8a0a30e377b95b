"""Asks every master of a Cluster, where redis-py would ask one node: it speaks for nobody but itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
from redis.exceptions import ClusterDownError

from rmq_core.protocol.scripts import OfMasters, Request


def for_masters(requests: Sequence[Request]) -> bool:
    """Whether this is to be asked of each master."""
    return len(requests) == 1 and type(requests[0]) is OfMasters


def ask(client: Any, asked: Sequence[Any]) -> dict[str, Any]:
    """Address → reply. A master that is away is left out, for the others serve; raises where all are."""
    found: dict[str, Any] = {}
    trouble: Exception = ClusterDownError("no master of the Cluster is known")
    for node in client.get_primaries():
        try:
            found[node.name] = client.execute_command(*asked, target_nodes=[node])
        except (redis.RedisError, redis.RedisClusterException, OSError) as error:
            trouble = error
    if not found:
        raise trouble
    return found


async def ask_async(client: Any, asked: Sequence[Any]) -> dict[str, Any]:
    """The same in asyncio."""
    await client.initialize()
    found: dict[str, Any] = {}
    trouble: Exception = ClusterDownError("no master of the Cluster is known")
    for node in client.get_primaries():
        try:
            found[node.name] = await client.execute_command(*asked, target_nodes=[node])
        except (redis.RedisError, redis.RedisClusterException, OSError) as error:
            trouble = error
    if not found:
        raise trouble
    return found
