"""Script calls in asyncio: one line to each server, as few writes as can be."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import redis

from rmq_core.errors import ConnectionLost, RMQError
from rmq_core.protocol.scripts import Call
from rmq_core.transport.aio_lines import AsyncLines, Write
from rmq_core.transport.aio_servers import ENDED, AsyncServers
from rmq_core.transport.asked import Asked, packed, simple, tell
from rmq_core.transport.exchange import Answers, Attempt, Job, attempt
from rmq_core.transport.retry import healthy, lost, pause, pauses
from rmq_core.transport.tasks import end

SHARED_MIN = 16
"""So many calls that were answered together go on in two halves."""
TOGETHER_S = 1.0
"""After so long a connection is given back, which may have to be made anew."""


class AsyncScripts:
    """Whatever is asked for while a round trip is under way shares the next one; calls that many tasks repeat share
    two, which take turns: see `_answered`. It is of one event loop.
    """

    def __init__(self, servers: AsyncServers) -> None:
        self._servers = servers
        self._is_cluster = servers.target.is_cluster
        self._new = asyncio.Event()
        self._lines = AsyncLines()
        self._until = 0.0
        self._flusher: asyncio.Task[None] | None = None
        self.leave()

    def leave(self) -> None:
        """Forgets what was asked for: it is of an event loop that has ended, or of a parent process."""
        self._pending: list[Asked] = []
        self._waiting: list[Asked] = []  # for another try
        self._under_way: deque[list[Asked]] = deque()  # one written behind the other
        self._flusher = None

    def ask(self, calls: Sequence[Call], loop: asyncio.AbstractEventLoop) -> asyncio.Future[list[Any]]:
        """The replies in order, errors among them."""
        asked = Asked(calls, loop.create_future())
        self._pending.append(asked)
        if self._flusher is None or self._flusher.done():
            self._flusher = loop.create_task(self._flush())
        elif self._waiting:
            self._new.set()
        return asked.future

    async def _flush(self) -> None:
        try:
            while self._pending or self._waiting:
                try:
                    await self._bring(await self._due())
                except RMQError as error:
                    for each in self._written():
                        each.fail(error)
        except BaseException as error:
            self.give_up(error)
            raise

    async def end(self) -> bool:
        """Ends what is under way, which fails. Whether nobody has asked again at once; then `give_up` has to follow,
        for a task that is cancelled before it has begun tells nobody.
        """
        flusher = self._flusher
        if flusher is None:
            return False
        await end(flusher)
        return self._flusher is flusher

    def give_up(self, error: BaseException) -> None:
        """Tells everybody."""
        failure = ConnectionLost(ENDED) if isinstance(error, asyncio.CancelledError) else lost(error)
        for each in (*self._written(), *self._pending, *self._waiting):
            each.fail(failure)
        self._pending, self._waiting = [], []

    def _written(self) -> list[Asked]:
        """What is under way, and is not from now on."""
        written = [each for some in self._under_way for each in some]
        self._under_way.clear()
        return written

    async def _due(self) -> list[Asked]:
        """What is to be done now; there is something that waits."""
        while True:
            now = time.monotonic()
            if self._waiting and not self._is_cluster:
                # There is one server, and it is away: nobody overtakes.
                until = min(each.again_at for each in self._waiting)
                if until <= now:
                    due, self._waiting, self._pending = [*self._waiting, *self._pending], [], []
                    return due
                await asyncio.sleep(until - now)
                continue
            due = [each for each in self._waiting if each.again_at <= now]
            if due or self._pending:
                self._waiting = [each for each in self._waiting if each.again_at > now]
                due += self._pending
                self._pending = []
                return due
            self._new.clear()
            try:
                async with asyncio.timeout(min(each.again_at for each in self._waiting) - now):
                    await self._new.wait()
            except TimeoutError:
                continue

    async def _bring(self, asked: list[Asked]) -> None:
        """Brings this to the server, and what is written behind it; all of that is under way until it is judged."""
        steps: Attempt | None = None
        answers: Answers | None = None
        self._under_way.append(asked)
        if not self._is_cluster and simple(asked):
            self._until = time.monotonic() + TOGETHER_S
            replies = await self._lines.one(self._servers.lender, None, packed(asked), self._answered)
            answers = {None: replies}
            asked = [each for some in self._under_way for each in some]
            if not asked:
                return
        jobs = []
        for each in asked:
            each.job = each.job or Job(each.calls)
            jobs.append(each.job)
        if answers is not None:
            steps = attempt(jobs, self._servers.routes)
            next(steps)
        await self._try(jobs, steps, answers)
        for each, job in zip(self._written(), jobs, strict=True):
            self._judge(each, job)

    async def _answered(self, answers: list[Any], write: Write) -> None:
        """Hands out the replies to what was written first. Where nothing else is under way it does so in two halves, by
        turns with whoever awaits them: what one half asks for next is the server's work while the other goes on.
        """
        if not healthy(answers):
            return
        asked, replies = self._under_way.popleft(), answers.copy()
        answers.clear()
        half = len(asked) // 2 if len(asked) >= SHARED_MIN and not self._under_way else 0
        at = tell(asked[:half], replies, 0)
        try:
            if half:
                await self._go_on(write)
        except (Exception, asyncio.CancelledError):  # whatever comes of that: these have been answered
            tell(asked[half:], replies, at)
            raise
        tell(asked[half:], replies, at)
        await self._go_on(write)

    async def _go_on(self, write: Write) -> None:
        """Writes what those ask for who have just been answered."""
        await asyncio.sleep(0)
        pending = self._pending
        if pending and simple(pending) and time.monotonic() < self._until:
            self._pending = []
            self._under_way.append(pending)
            await write(packed(pending))

    async def _try(self, jobs: list[Job], steps: Attempt | None, answers: Answers | None) -> None:
        try:
            if steps is None or answers is None:
                await self._servers.prepare()
                steps = attempt(jobs, self._servers.routes)
                plan = next(steps)
            else:
                plan = steps.send(answers)
            while True:
                plan = steps.send(await self._lines.exchange(plan, self._servers.lender))
        except StopIteration:
            pass
        except (redis.RedisError, redis.RedisClusterException, OSError) as error:
            for job in jobs:
                job.trouble = error

    def _judge(self, asked: Asked, job: Job) -> None:
        if job.done:
            asked.answer(job.replies)
            return
        if job.trouble is not None:
            if asked.tries is None:
                for_ms = self._servers.retry_for_ms if job.for_ms is None else job.for_ms
                asked.tries = pauses(for_ms / 1000)
            try:
                asked.again_at = time.monotonic() + pause(asked.tries, job.trouble)
            except Exception as error:
                if job.for_ms is None:
                    asked.fail(error)
                else:
                    asked.answer(job.given_up(error))
                return
        self._waiting.append(asked)
