"""Runs requests in asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

import redis
from hiredis import pack_command
from redis.exceptions import AuthenticationError, ResponseError

from rmq_core.errors import RMQError
from rmq_core.scripts import Call, Request
from rmq_core.target import Target, opened_with
from rmq_core.tasks import end
from rmq_core.wire import PASSING, RETRY_FOR_S, SCRIPTED, command, first_error, healthy, lost, mended, pauses, refused


class AsyncConnection:
    """Runs requests in asyncio. Whatever is asked for while a round trip is under way shares the next one."""

    def __init__(self, target: Target, client: Any = None, retry_for_s: float = RETRY_FOR_S) -> None:
        self.target = target
        self.retry_for_s = retry_for_s
        self._client = client
        self._given = client is not None
        self._direct = client is None and not target.is_cluster
        self._pending: list[tuple[Sequence[Request], asyncio.Future[list[Any]]]] = []
        self._flusher: asyncio.Task[None] | None = None

    @property
    def client(self) -> Any:
        """The redis-py client, opened on first use."""
        if self._client is None:
            self._client = self.target.open_async()
        return self._client

    async def run(self, requests: Sequence[Request]) -> list[Any]:
        """The replies in order; raises the first error among them, after passing ones were retried."""
        if not requests:
            return []
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._pending.append((requests, future))
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.create_task(self._flush())
        replies = await future
        first_error(replies)
        return replies

    async def stream(self, groups: Iterable[Sequence[Call]]) -> AsyncIterator[list[Any]]:
        """The replies of each group; the next group is built while the server works on the one before."""
        waiting: asyncio.Task[list[Any]] | None = None
        try:
            for group in groups:
                running = asyncio.create_task(self.run(group))
                await asyncio.sleep(0)
                if waiting is not None:
                    yield await waiting
                waiting = running
            if waiting is not None:
                done, waiting = waiting, None
                yield await done
        finally:
            if waiting is not None:
                waiting.cancel()

    async def _flush(self) -> None:
        while self._pending:
            waiting, self._pending = self._pending, []
            requests = [request for asked, _ in waiting for request in asked]
            try:
                replies = await self._retried(partial(self._once, requests))
            except BaseException as error:
                failure = error if isinstance(error, RMQError) else lost(error)
                for _, future in waiting:
                    if not future.done():
                        future.set_exception(failure)
                if not isinstance(error, RMQError):
                    raise
                continue
            at = 0
            for asked, future in waiting:
                if not future.done():
                    future.set_result(replies[at : at + len(asked)])
                at += len(asked)

    async def _retried(self, act: Callable[[], Awaitable[list[Any]]]) -> list[Any]:
        tries = pauses(self.retry_for_s)
        while True:
            try:
                return await act()
            except AuthenticationError as error:
                raise refused(error) from error
            except PASSING as error:
                pause = next(tries, None)
                if pause is None:
                    raise lost(error) from error
                await asyncio.sleep(pause)
            except redis.RedisError as error:
                raise refused(error) from error

    async def _once(self, requests: Sequence[Request]) -> list[Any]:
        replies = await self._execute([command(request) for request in requests])
        if healthy(replies):
            return replies
        mending = mended(requests, replies)
        answer = None
        while True:
            try:
                answer = await self._execute(mending.send(answer))  # type: ignore[arg-type]
            except StopIteration as done:
                return list(done.value)

    async def _execute(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if self._direct and all(each[0] in SCRIPTED for each in commands):
            return await self._exchange_bytes(b"".join(map(pack_command, commands)), len(commands))
        if len(commands) == 1:
            try:
                return [await self.client.execute_command(*commands[0])]
            except ResponseError as error:
                return [error]
        pipeline = self._pipeline()
        for each in commands:
            pipeline.execute_command(*each)
        return list(await pipeline.execute(raise_on_error=False))

    def _pipeline(self) -> Any:
        return self.client.pipeline() if self.target.is_cluster else self.client.pipeline(transaction=False)

    async def _exchange_bytes(self, packed: bytes, count: int) -> list[Any]:
        pool = self.client.connection_pool
        connection = await pool.get_connection()
        replies: list[Any] = []
        try:
            await connection.send_packed_command([packed])
            for _ in range(count):
                try:
                    replies.append(await connection.read_response())
                except ResponseError as error:
                    replies.append(error)
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        finally:
            await pool.release(connection)
        return replies

    async def pubsub(self) -> Any:
        """A subscription of its own; the caller closes it."""
        return self.client.pubsub(ignore_subscribe_messages=True)

    async def close(self) -> None:
        """Closes what this object opened; what is still under way fails."""
        if self._flusher is not None:  # else it would connect once more
            await end(self._flusher)
            self._flusher = None
        if self._client is not None and not self._given:
            for client in opened_with(self._client):
                await client.aclose()
            self._client = None
