"""Whether a node of a Cluster that was slow to answer has a successor by now; of a master with Sentinels they say it.

One that hung and wakes up takes itself for a master until it is told, and forgets what it has accepted until then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import redis
from redis.asyncio.cluster import ClusterNode

from rmq_core.transport.nodes import Address
from rmq_core.transport.redis_url import SENTINEL_TIMEOUT_S


class WatchedNode(ClusterNode):
    """One that is asked whether it has a successor."""

    __slots__ = ("has_successor", "succeeded")
    has_successor: Callable[[], Awaitable[bool]]
    succeeded: bool
    """What was said last: then a quick answer is checked, too."""


_BRIEFLY = {"socket_timeout": SENTINEL_TIMEOUT_S, "socket_connect_timeout": SENTINEL_TIMEOUT_S}
_QUESTION = "CLUSTER SLOTS"


def has_successor(manager: Any, node: Address) -> bool:
    """Whether another node, the first that answers, names it no more; False where none of them does."""
    for other in _others(manager, node):
        with (
            contextlib.suppress(redis.RedisError, OSError),
            contextlib.closing(manager.create_redis_node(*other, **(manager.connection_kwargs | _BRIEFLY))) as client,
        ):
            return node not in _masters(client.execute_command(_QUESTION), other)
    return False


async def has_successor_async(manager: Any, options: dict[str, Any], node: Address) -> bool:
    """The same in asyncio."""
    for other in _others(manager, node):
        asked = ClusterNode(*other, **(options | _BRIEFLY))
        try:
            return node not in _masters(await asked.execute_command(_QUESTION), other)
        except (redis.RedisError, OSError):
            continue
        finally:
            await asked.disconnect()
    return False


def _others(manager: Any, node: Address) -> list[Address]:
    known = [(each.host, each.port) for each in list(manager.nodes_cache.values())]
    return [each for each in known if each != node]


def _masters(slots: Iterable[Any], asked: Address) -> Iterator[Address]:
    for _first, _last, (host, port, *_), *_ in slots:
        yield (host.decode() if isinstance(host, bytes) else host) or asked[0], int(port)
