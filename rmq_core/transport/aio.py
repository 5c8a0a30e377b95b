"""Runs requests in asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import groupby
from typing import Any

import redis

from rmq_core.errors import ConfigurationError
from rmq_core.protocol.scripts import Call, Each, Request
from rmq_core.transport import forks
from rmq_core.transport.aio_plain import AsyncPlain
from rmq_core.transport.aio_scripts import AsyncScripts
from rmq_core.transport.aio_servers import AsyncServers
from rmq_core.transport.exchange import Group
from rmq_core.transport.redis_url import RedisURL
from rmq_core.transport.retry import RETRY_FOR_MS, first_error, lost, scripted


class AsyncConnection:
    """Runs requests in asyncio: script calls share lines (`AsyncScripts`), the others go by redis-py (`AsyncPlain`).

    It belongs to the event loop that uses it, and moves to the next one when that has ended.
    """

    def __init__(self, target: RedisURL, client: Any = None, retry_for_ms: int = RETRY_FOR_MS) -> None:
        self.target = target
        self._loop: asyncio.AbstractEventLoop | None = None
        self._servers = AsyncServers(target, client, retry_for_ms)
        self._start()
        forks.follow(self)

    def _start(self) -> None:
        self._scripts = AsyncScripts(self._servers)
        self._plain = AsyncPlain(self._servers)

    @property
    def retry_for_ms(self) -> int:
        """How long a server may stay away."""
        return self._servers.retry_for_ms

    @retry_for_ms.setter
    def retry_for_ms(self, value: int) -> None:
        self._servers.retry_for_ms = value

    def after_fork(self) -> None:
        """Leaves the parent's connections, and its event loop, to the parent."""
        self._leave()

    def _leave(self) -> None:
        self._servers.leave()
        self._scripts.leave()
        self._loop = None
        self._start()

    def _here(self) -> None:
        """Makes the running event loop the one this object belongs to. Raises `ConfigurationError`."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._loop is not None:
            if self._loop.is_running():
                raise ConfigurationError(
                    "this AsyncRMQ is in use in another event loop, which is still running:"
                    " make one client for each event loop"
                )
            self._leave()
        self._loop = loop

    @property
    def client(self) -> Any:
        """The redis-py client, opened on first use."""
        self._here()
        return self._servers.client

    async def run(self, requests: Sequence[Request]) -> list[Any]:
        """The replies in order; raises the first error among them, after transient ones were retried. See `Each`."""
        if not requests:
            return []
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._here()
        if self._servers.given:
            replies: list[Any] = await self._plain.run(requests)
        elif scripted(requests):
            replies = await self._scripts.ask(requests, loop)  # type: ignore[arg-type]
        elif self.target.is_cluster:
            replies = []
            for calls, part in groupby(requests, lambda request: type(request) is Call):
                several: Any = list(part)
                replies += await (self._scripts.ask(several, loop) if calls else self._plain.run(several))
        else:
            replies = await self._plain.run(requests)
        if not isinstance(requests, Each):
            first_error(replies)
        return replies

    async def stream(self, groups: Iterable[Sequence[Call]]) -> AsyncIterator[list[Any]]:
        """The replies of each group; the next group is built while the server works on the one before.

        Of the calls for one slot the second is sent when the first was answered: a replay never lands behind it.
        """
        waiting: asyncio.Task[list[Any]] | None = None
        before = Group(())
        try:
            for calls in groups:
                group = Group(calls)
                if waiting is not None:
                    arriving, waiting = waiting, None
                    before.keep(-1, await arriving)
                    yield before.replies
                for number in range(len(group.waves) - 1):
                    group.keep(number, await self.run(group.wave(number)))
                waiting, before = asyncio.create_task(self.run(group.wave(-1))), group
                await asyncio.sleep(0)
            if waiting is not None:
                arriving, waiting = waiting, None
                before.keep(-1, await arriving)
                yield before.replies
        finally:
            if waiting is not None:
                waiting.cancel()

    async def pubsub(self) -> Any:
        """A subscription of its own; the caller closes it. Raises `ConnectionLost` where a Cluster cannot be asked."""
        client = self.client
        if self.target.is_cluster:  # which node it asks is known after the first command only
            try:
                await client.initialize()
            except redis.RedisClusterException as error:
                raise lost(error) from error
        return client.pubsub(ignore_subscribe_messages=True)

    async def close(self) -> None:
        """Closes what this object opened; what is still under way fails. It opens anew for whoever asks after that."""
        if self._loop is not None and self._loop is not asyncio.get_running_loop() and not self._loop.is_running():
            self._leave()
        opened, scripts = self._servers.taken_out(), self._scripts
        try:
            if await scripts.end():  # else it would connect once more
                opened += self._servers.taken_out()
                scripts.give_up(asyncio.CancelledError())
        finally:
            for close in opened:
                await close()
