"""What is no script, in asyncio: it goes through redis-py, which knows what replies look like."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import redis
from redis.exceptions import NoScriptError

from rmq_core.errors import ConnectionLost
from rmq_core.protocol.scripts import Call, Request
from rmq_core.transport.aio_servers import ENDED, AsyncServers
from rmq_core.transport.masters import ask_async, for_masters
from rmq_core.transport.redis_url import opened_with
from rmq_core.transport.retry import Replies, command, pause, pauses, reply_or_error, transient

CONNECTIONS_AT_ONCE = 50
"""Each has one; of a thousand coroutines that wake up together the others wait."""


class AsyncPlain:
    """Runs them one call at a time, each with a connection of its own."""

    def __init__(self, servers: AsyncServers) -> None:
        self._servers = servers
        self._turns = asyncio.Semaphore(CONNECTIONS_AT_ONCE)

    async def run(self, requests: Sequence[Request]) -> Replies:
        """The replies in order, errors among them. Raises what `pause` does."""
        task = asyncio.current_task()
        asked_before = task.cancelling() if task else 0
        replies = Replies([None] * len(requests))
        left = list(range(len(requests)))
        tries = pauses(self._servers.retry_for_ms / 1000)
        closings, is_cluster = self._servers.closings, self._servers.target.is_cluster
        while True:
            trouble: Any = None
            try:
                async with self._turns, self._opened(closings) as client:
                    if is_cluster and for_masters(requests):
                        return Replies([await ask_async(client, command(requests[0]))])
                    found = await self._execute(client, [command(requests[position]) for position in left])
                    for number, position in enumerate(left):
                        request = requests[position]
                        if isinstance(found[number], NoScriptError) and isinstance(request, Call):
                            replies.reordered = True
                            (found[number],) = await self._execute(client, [request.by_text()])
            except (redis.RedisError, redis.RedisClusterException, OSError) as error:
                trouble, replies.replayed = error, True
                self._servers.routes.doubt()
            else:
                for position, reply in zip(left, found, strict=True):
                    replies[position] = reply_or_error(reply) if not transient(reply) else reply
                left = [position for position in left if transient(replies[position])]
                trouble = replies[left[0]] if left else None
            finally:
                # redis-py swallows a cancellation that meets a connection being made, or the end of a write.
                if task and task.cancelling() > asked_before:
                    raise asyncio.CancelledError
            if trouble is None:
                return replies
            replies.reordered = True
            await asyncio.sleep(pause(tries, trouble))

    @asynccontextmanager
    async def _opened(self, closings: int) -> AsyncIterator[Any]:
        """The client, unless it has been closed since. Raises `ConnectionLost` then."""
        servers = self._servers
        if servers.closings != closings:
            raise ConnectionLost(ENDED)
        client = servers.client
        try:
            await servers.prepare()
            yield client
        except Exception as error:
            if servers.closings != closings:  # redis-py stumbles over what has been taken from below it
                raise ConnectionLost(ENDED) from error
            raise
        finally:
            if servers.closings != closings:
                for each in opened_with(client):  # it may have connected after it was closed
                    await each.aclose()
        if servers.closings != closings:
            raise ConnectionLost(ENDED)

    async def _execute(self, client: Any, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if len(commands) == 1:
            try:
                return [await client.execute_command(*commands[0])]
            except redis.ResponseError as error:
                return [error]
        is_cluster = self._servers.target.is_cluster
        pipeline = client.pipeline() if is_cluster else client.pipeline(transaction=False)
        for each in commands:
            pipeline.execute_command(*each)
        return list(await pipeline.execute(raise_on_error=False))
