"""Runs requests in asyncio."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import groupby
from typing import Any

import redis
from redis.exceptions import NoScriptError

from rmq_core.errors import ConfigurationError, ConnectionLost, RMQError
from rmq_core.protocol.scripts import Call, Each, Request
from rmq_core.transport import forks
from rmq_core.transport.aio_lines import AsyncLines, Write, abandon
from rmq_core.transport.asked import Asked, packed, simple, tell
from rmq_core.transport.exchange import Answers, Attempt, Group, Job, attempt
from rmq_core.transport.masters import ask_async, for_masters
from rmq_core.transport.nodes import ClusterRoutes, Line, Routes
from rmq_core.transport.redis_url import RedisURL, opened_with
from rmq_core.transport.retry import (
    RETRY_FOR_MS,
    Replies,
    command,
    first_error,
    healthy,
    lost,
    pauses,
    refused,
    reply_or_error,
    scripted,
    transient,
)
from rmq_core.transport.successors import WatchedNode, has_successor_async
from rmq_core.transport.tasks import end

CONNECTIONS_AT_ONCE = 50
"""What goes through redis-py has one each; of a thousand coroutines that wake up together the others wait."""

SHARED_MIN = 16
"""So many calls that were answered together go on in two halves."""
TOGETHER_S = 1.0
"""After so long a connection is given back, which may have to be made anew."""

ENDED = "the client was closed, or its event loop ended, before the server answered"


class AsyncConnection:
    """Runs requests in asyncio. Whatever is asked for while a round trip is under way shares the next one; calls that
    many tasks repeat share two, which take turns: see `_answered`.

    It belongs to the event loop that uses it, and moves to the next one when that has ended.
    """

    def __init__(self, target: RedisURL, client: Any = None, retry_for_ms: int = RETRY_FOR_MS) -> None:
        self.target = target
        self.retry_for_ms = retry_for_ms
        self._client = client
        self._given = client is not None
        self._closings = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._start()
        forks.follow(self)

    def _start(self) -> None:
        self._pending: list[Asked] = []
        self._waiting: list[Asked] = []  # for another try
        self._under_way: deque[list[Asked]] = deque()  # one written behind the other
        self._until = 0.0
        self._flusher: asyncio.Task[None] | None = None
        self._new = asyncio.Event()
        self._turns = asyncio.Semaphore(CONNECTIONS_AT_ONCE)
        self._lines = AsyncLines()
        self._nodes: dict[Line, Any] = {}
        self._routes = ClusterRoutes(self.target.credentials) if self.target.is_cluster else Routes()

    def after_fork(self) -> None:
        """Leaves the parent's connections, and its event loop, to the parent."""
        self._leave()

    def _leave(self) -> None:
        if self._client is not None and not self._given:
            abandon(self._client, *self._nodes.values())
            self._client = None
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
        if self._client is None:
            self._client = self.target.open_async()
        return self._client

    async def run(self, requests: Sequence[Request]) -> list[Any]:
        """The replies in order; raises the first error among them, after transient ones were retried. See `Each`."""
        if not requests:
            return []
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._here()
        if self._given:
            replies: list[Any] = await self._plain(requests)
        elif scripted(requests):
            replies = await self._direct(requests, loop)  # type: ignore[arg-type]
        elif self.target.is_cluster:
            replies = []
            for calls, part in groupby(requests, lambda request: type(request) is Call):
                several: Any = list(part)
                replies += await (self._direct(several, loop) if calls else self._plain(several))
        else:
            replies = await self._plain(requests)
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

    # -- scripts: one line to each server, as few writes as can be

    def _direct(self, calls: Sequence[Call], loop: asyncio.AbstractEventLoop) -> asyncio.Future[list[Any]]:
        asked = Asked(calls, loop.create_future())
        self._pending.append(asked)
        if self._flusher is None or self._flusher.done():
            self._flusher = loop.create_task(self._flush())
        elif self._waiting:
            self._new.set()
        return asked.future

    async def _flush(self) -> None:
        under_way = self._under_way
        try:
            while self._pending or self._waiting:
                try:
                    await self._bring(await self._due())
                except RMQError as error:
                    for each in self._written():
                        each.fail(error)
        except BaseException as error:
            if self._under_way is under_way:  # else what waits is of another event loop: this one has ended
                self._give_up(error)
            raise

    def _give_up(self, error: BaseException) -> None:
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
            if self._waiting and not self.target.is_cluster:
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
        if not self.target.is_cluster and simple(asked):
            self._until = time.monotonic() + TOGETHER_S
            replies = await self._lines.one(self._line, None, packed(asked), self._answered)
            answers = {None: replies}
            asked = [each for some in self._under_way for each in some]
            if not asked:
                return
        jobs = []
        for each in asked:
            each.job = each.job or Job(each.calls)
            jobs.append(each.job)
        if answers is not None:
            steps = attempt(jobs, self._routes)
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
                await self._prepare(self.client)
                steps = attempt(jobs, self._routes)
                plan = next(steps)
            else:
                plan = steps.send(answers)
            while True:
                plan = steps.send(await self._lines.exchange(plan, self._line))
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
                asked.tries = pauses((self.retry_for_ms if job.for_ms is None else job.for_ms) / 1000)
            try:
                asked.again_at = time.monotonic() + _pause(asked.tries, job.trouble)
            except Exception as error:
                if job.for_ms is None:
                    asked.fail(error)
                else:
                    asked.answer(job.given_up(error))
                return
        self._waiting.append(asked)

    async def _prepare(self, client: Any) -> None:
        if isinstance(self._routes, ClusterRoutes):
            await client.initialize()
            if self._routes.doubtful and self._routes.nodes is not None:
                await client.nodes_manager.initialize()
                self._routes.refreshed()
            self._routes.nodes = client.nodes_manager

    def _line(self, line: Line) -> Any:
        """What lends connections to a server."""
        if line is None:
            return self.client.connection_pool
        node = self._nodes.get(line)
        if node is None:
            options = self.client.get_connection_kwargs()
            node = self._nodes[line] = WatchedNode(*line, **options)
            node.has_successor = partial(has_successor_async, self.client.nodes_manager, options, line)
        return node

    # -- everything else goes through redis-py, which knows what replies look like

    async def _plain(self, requests: Sequence[Request]) -> Replies:
        task = asyncio.current_task()
        asked_before = task.cancelling() if task else 0
        replies = Replies([None] * len(requests))
        left = list(range(len(requests)))
        tries = pauses(self.retry_for_ms / 1000)
        closings = self._closings
        while True:
            trouble: Any = None
            try:
                async with self._turns, self._opened(closings) as client:
                    if self.target.is_cluster and for_masters(requests):
                        return Replies([await ask_async(client, command(requests[0]))])
                    found = await self._execute(client, [command(requests[position]) for position in left])
                    for number, position in enumerate(left):
                        request = requests[position]
                        if isinstance(found[number], NoScriptError) and isinstance(request, Call):
                            replies.reordered = True
                            (found[number],) = await self._execute(client, [request.by_text()])
            except (redis.RedisError, redis.RedisClusterException, OSError) as error:
                trouble, replies.replayed = error, True
                self._routes.doubt()
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
            await asyncio.sleep(_pause(tries, trouble))

    @asynccontextmanager
    async def _opened(self, closings: int) -> AsyncIterator[Any]:
        """The client, unless it has been closed since. Raises `ConnectionLost` then."""
        if self._closings != closings:
            raise ConnectionLost(ENDED)
        client = self.client
        try:
            await self._prepare(client)
            yield client
        except Exception as error:
            if self._closings != closings:  # redis-py stumbles over what has been taken from below it
                raise ConnectionLost(ENDED) from error
            raise
        finally:
            if self._closings != closings:
                for each in opened_with(client):  # it may have connected after it was closed
                    await each.aclose()
        if self._closings != closings:
            raise ConnectionLost(ENDED)

    async def _execute(self, client: Any, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if len(commands) == 1:
            try:
                return [await client.execute_command(*commands[0])]
            except redis.ResponseError as error:
                return [error]
        pipeline = client.pipeline() if self.target.is_cluster else client.pipeline(transaction=False)
        for each in commands:
            pipeline.execute_command(*each)
        return list(await pipeline.execute(raise_on_error=False))

    async def pubsub(self) -> Any:
        """A subscription of its own; the caller closes it. Raises `ConnectionLost` where a Cluster cannot be asked."""
        client = self.client
        if isinstance(self._routes, ClusterRoutes):  # which node it asks is known after the first command only
            try:
                await client.initialize()
            except redis.RedisClusterException as error:
                raise lost(error) from error
        return client.pubsub(ignore_subscribe_messages=True)

    async def close(self) -> None:
        """Closes what this object opened; what is still under way fails. It opens anew for whoever asks after that."""
        if self._loop is not None and self._loop is not asyncio.get_running_loop() and not self._loop.is_running():
            self._leave()
        opened, flusher = self._taken_out(), self._flusher
        try:
            if flusher is not None:  # else it would connect once more
                await end(flusher)
                if self._flusher is flusher:  # a later one is of those who were told, and have asked again at once
                    opened += self._taken_out()
                    self._give_up(asyncio.CancelledError())  # a task that is cancelled before it has begun never does
        finally:
            for close in opened:
                await close()

    def _taken_out(self) -> list[Callable[[], Awaitable[Any]]]:
        """Parts from what was opened: how to close it."""
        if self._client is None or self._given:
            return []
        self._closings += 1
        closers = [node.disconnect for node in self._nodes.values()]
        closers += [client.aclose for client in opened_with(self._client)]
        self._client = None
        self._nodes.clear()
        return closers


def _pause(tries: Iterator[float], error: Exception) -> float:
    """How long until another try. Raises what the error means where there is none."""
    if not transient(error):
        raise (
            refused(error) if isinstance(error, (redis.RedisError, redis.RedisClusterException)) else error
        ) from error
    pause = next(tries, None)
    if pause is None:
        raise lost(error) from error
    return pause
