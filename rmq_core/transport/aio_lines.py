"""The lines to servers of an asyncio connection, and how to part from those of an event loop that is not ours now."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

import redis
from hiredis import PushNotification
from redis._parsers.hiredis import NOT_ENOUGH_DATA
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.exceptions import BusyLoadingError, ResponseError

from rmq_core.transport.exchange import Answers, Plan
from rmq_core.transport.lines import ASK_AGAIN_S, DEMOTED, IDLE_S, LATE_S, Asking
from rmq_core.transport.nodes import Line
from rmq_core.transport.retry import Failed, Packed, refused, transient

Write: TypeAlias = Callable[[Packed], Awaitable[None]]
Answered: TypeAlias = Callable[[list[Any], Write], Awaitable[None]]
"""Is told the replies to what was written first, and may write more behind what is still under way. It empties the list
as it takes them; if not, it is told them together with those that follow."""

_abandoned: list[Any] = []
"""Streams that must not be closed, nor be collected, which would close them: see `abandon`."""


class AsyncLines:
    """Exchanges with servers; ``lender`` gives, for a line, the redis-py pool or node that lends connections."""

    def __init__(self) -> None:
        self._used_at = time.monotonic()
        self._asking = Asking()

    async def exchange(self, plan: Plan, lender: Callable[[Line], Any]) -> Answers:
        """Writes everything and reads everything. Raises `ConfigurationError`."""
        packed = [(line, Packed.of(commands)) for line, commands in plan.items()]
        if len(packed) == 1:
            ((line, some),) = packed
            return {line: await self.one(lender, line, some)}
        answers = await asyncio.gather(*(self.one(lender, line, some) for line, some in packed))
        return dict(zip(plan, answers, strict=True))

    async def one(
        self, lender: Callable[[Line], Any], line: Line, packed: Packed, answered: Answered | None = None
    ) -> list[Any] | Failed:
        """An exchange with one server; the replies that ``answered`` did not take. Raises `ConfigurationError`."""
        sent = False
        began = time.monotonic()  # also to connect to a server that hangs takes long
        replies: list[Any] = []
        pool: Any = None
        try:
            pool = lender(line)
            if line is None:
                await self._look_at(pool)
                connection = await pool.get_connection()
            else:
                connection = pool.acquire_connection()
            try:
                if not connection.is_connected:
                    await connection.connect()
                sent = True
                await _converse(pool, connection, packed, began, replies, answered)
            except BaseException:
                await connection.disconnect(nowait=True)
                raise
            finally:
                if line is None:
                    await pool.release(connection)
                else:
                    pool.release(connection)
        except Exception as error:
            if not transient(error):
                raise (refused(error) if isinstance(error, redis.RedisError) else error) from error
            late = time.monotonic() - began > LATE_S and _may_be_succeeded(pool)
            return Failed(error, sent and (bool(replies) or DEMOTED not in str(error)), () if late else replies)
        return replies

    async def _look_at(self, pool: Any) -> None:
        """Whether the Sentinels name another master by now."""
        began = time.monotonic()
        idle, self._used_at = began - self._used_at > IDLE_S, began
        if hasattr(pool, "get_master_address") and (idle or self._asking.due(began)):
            with contextlib.suppress(redis.RedisError, OSError):
                await pool.get_master_address()  # which hangs up on the former one
            self._asking.done(began)


async def _converse(
    pool: Any, connection: Any, packed: Packed, began: float, replies: list[Any], answered: Answered | None
) -> None:
    """Leaves in ``replies`` those that ``answered`` did not take; ``began``: when the first commands set out."""
    under_way: deque[tuple[int, float]] = deque()
    task = asyncio.current_task()

    async def write(packed: Packed, since: float | None = None) -> None:
        if under_way and not connection.is_connected:
            raise redis.ConnectionError("the connection was closed")  # a new one would know of nothing under way
        under_way.append((packed.commands, time.monotonic() if since is None else since))
        await connection.send_packed_command([packed.data], check_health=len(under_way) == 1)
        if task is not None and task.cancelling():  # redis-py swallows one that meets the end of a write
            raise asyncio.CancelledError

    await write(packed, began)
    while under_way:
        commands, since = under_way[0]
        await _read(pool, connection, len(replies) + commands, replies)
        if time.monotonic() - since > LATE_S or getattr(pool, "succeeded", False):
            await _still_master(pool, connection)
        under_way.popleft()
        if answered is not None:
            await answered(replies, write)


async def _read(pool: Any, connection: Any, count: int, replies: list[Any]) -> None:
    """Reads until there are so many replies; a refusal is one of them. What came along with one that was awaited is
    taken at once: awaiting each by itself costs as much as all the rest of a send.
    """
    while len(replies) < count:
        try:
            replies.append(await _reply(pool, connection))
        except (ResponseError, BusyLoadingError) as error:
            replies.append(error)
        parser: Any = connection._parser
        reader = getattr(parser, "_reader", None)
        while reader is not None and len(replies) < count and (reply := reader.gets()) is not NOT_ENOUGH_DATA:
            if isinstance(reply, PushNotification):
                await parser.handle_push_response(reply)
            elif isinstance(reply, redis.ConnectionError) and not isinstance(reply, BusyLoadingError):
                raise reply
            else:
                replies.append(reply)


async def _reply(pool: Any, connection: Any) -> Any:
    """The next one. While a node of a Cluster is silent, others are asked whether it has a successor."""
    if not hasattr(pool, "has_successor"):
        return await connection.read_response(disconnect_on_error=False)
    until = time.monotonic() + (connection.socket_timeout or math.inf)
    while True:
        try:
            async with asyncio.timeout(ASK_AGAIN_S):
                return await connection.read_response(disconnect_on_error=False)
        except TimeoutError:
            if time.monotonic() > until:
                raise redis.TimeoutError("a node of the Cluster did not answer") from None
            await _still_master(pool, connection)


async def _still_master(pool: Any, connection: Any) -> None:
    """Refuses an answer that came late from a server that was master, and will forget what it has just accepted."""
    if not _may_be_succeeded(pool):
        return
    try:
        if hasattr(pool, "has_successor"):
            succeeded = pool.succeeded = await pool.has_successor()
        else:
            succeeded = await pool.get_master_address() != (connection.host, connection.port)
    except (redis.RedisError, OSError):
        return  # no Sentinel knows better
    if succeeded:
        raise redis.ConnectionError("another server became master before this one answered")


def _may_be_succeeded(pool: Any) -> bool:
    return hasattr(pool, "get_master_address") or hasattr(pool, "has_successor")


def abandon(client: Any, *nodes: ClusterNode) -> None:
    """Parts from the connections of a client whose event loop has ended, or is that of a parent process.

    Closing them as usual would ask that loop. In a forked child it would do worse: parent and child share what tells
    the loop of incoming data, and the parent would never hear of its own connection again. So the sockets are closed
    below everything that knows of them.
    """
    if isinstance(client, RedisCluster):
        client._initialize = True  # else it would say, in the next loop, that nobody has closed it
    for connection in _connections_of(client, *nodes):
        writer, connection._reader, connection._writer = connection._writer, None, None
        if writer is None:
            continue
        _abandoned.append(writer)
        with contextlib.suppress(AttributeError, OSError):  # uvloop's sockets are its own
            os.close(writer.get_extra_info("socket")._sock.detach())


def _connections_of(client: Any, *nodes: ClusterNode) -> Iterator[Any]:
    if isinstance(client, RedisCluster):
        manager = client.nodes_manager
        for node in {*manager.nodes_cache.values(), *manager.startup_nodes.values()}:
            yield from node._connections
    else:
        pool = client.connection_pool
        yield from [*pool._available_connections, *pool._in_use_connections]
        for sentinel in getattr(getattr(pool, "sentinel_manager", None), "sentinels", ()):
            yield from [*sentinel.connection_pool._available_connections, *sentinel.connection_pool._in_use_connections]
    for node in nodes:
        yield from node._connections
