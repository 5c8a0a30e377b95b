"""Runs requests synchronously."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import redis
from redis.exceptions import NoScriptError

from rmq_core.protocol.scripts import Call, Each, Request
from rmq_core.transport import forks
from rmq_core.transport.exchange import Answers, Attempt, Group, Job, attempt
from rmq_core.transport.lines import Flight, Lines
from rmq_core.transport.masters import ask, for_masters
from rmq_core.transport.nodes import ClusterRoutes, Line, Routes
from rmq_core.transport.redis_url import RedisURL, drop_idle, opened_with, pack_numbers, unlock
from rmq_core.transport.retry import (
    RETRY_FOR_MS,
    Ordered,
    Replies,
    command,
    first_error,
    healthy,
    pause,
    pauses,
    reply_or_error,
    scripted,
    transient,
)
from rmq_core.transport.successors import has_successor


class _UnderWay(NamedTuple):
    """Calls on their way while the next ones are built."""

    calls: Sequence[Call]
    job: Job
    steps: Attempt
    flight: Flight


class Connection:
    """Runs requests synchronously; safe to share between threads, and to use in a forked child."""

    def __init__(self, target: RedisURL, client: Any = None, retry_for_ms: int = RETRY_FOR_MS) -> None:
        self.target = target
        self.retry_for_ms = retry_for_ms
        self._client = client
        self._given = client is not None
        self._start()
        forks.follow(self)

    def _start(self) -> None:
        self._opening = threading.RLock()
        self._lines = Lines()
        self._nodes: dict[Line, Any] = {}
        self._routes = ClusterRoutes(self.target.credentials) if self.target.is_cluster else Routes()

    def after_fork(self) -> None:
        """Leaves the parent's connections to the parent."""
        if self._client is not None and not self._given:
            unlock(self._client, *self._nodes.values())
            self._client = None
        self._start()

    @property
    def client(self) -> Any:
        """The redis-py client, opened on first use."""
        if self._client is None:
            self._retried(self._open)
        return self._client

    def _open(self) -> None:
        with self._opening:
            if self._client is None:
                client = self.target.open()
                pack_numbers(client)
                if isinstance(self._routes, ClusterRoutes):
                    self._routes.nodes = client.nodes_manager
                self._client = client

    def _retried(self, act: Callable[[], None]) -> None:
        tries = pauses(self.retry_for_ms / 1000)
        while True:
            try:
                return act()
            except Exception as error:
                time.sleep(pause(tries, error))

    def interrupted(self, error: BaseException) -> None:
        """Whatever was under way in redis-py when a Ctrl-C came must not be used again."""
        if not isinstance(error, Exception) and self._client is not None and not self._given:
            drop_idle(self._client, *self._nodes.values())

    def run(self, requests: Sequence[Request]) -> list[Any]:
        """The replies in order; raises the first error among them, after transient ones were retried. See `Each`."""
        try:
            return self._run(requests) if requests else []
        except BaseException as error:
            self.interrupted(error)
            raise

    def _run(self, requests: Sequence[Request]) -> list[Any]:
        if self._given:
            replies: list[Any] = self._plain(requests)
        elif scripted(requests):
            replies = self._direct(requests)  # type: ignore[arg-type]
        elif self.target.is_cluster:
            replies = []
            for calls, part in groupby(requests, lambda request: type(request) is Call):
                several: Any = list(part)
                replies += self._direct(several) if calls else self._plain(several)
        else:
            replies = self._plain(requests)
        if not isinstance(requests, Each):
            first_error(replies)
        return replies

    # -- scripts, in as few writes and with as little ceremony as can be

    def _direct(self, calls: Sequence[Call]) -> list[Any]:
        if self.target.is_cluster or type(calls) is Ordered:
            return self._finish(Job(calls))
        if self._client is None:
            self._retried(self._open)
        replies = self._lines.exchange(None, self._client.connection_pool, calls)
        if type(replies) is list and healthy(replies):
            return replies
        job = Job(calls)
        steps = attempt([job], self._routes)
        next(steps)
        return self._finish(job, steps, {None: replies})

    def _finish(self, job: Job, steps: Attempt | None = None, answers: Answers | None = None) -> Replies:
        """The replies to a job; ``steps`` and ``answers``: the first try at it, which is under way."""
        tries = pauses((self.retry_for_ms if job.for_ms is None else job.for_ms) / 1000)
        while True:
            try:
                if steps is None or answers is None:
                    self._prepare()
                    steps = attempt([job], self._routes)
                    plan = next(steps)
                else:
                    plan = steps.send(answers)
                while True:
                    plan = steps.send(self._lines.land(self._lines.launch(plan, self._pool)))
            except StopIteration:
                pass
            except redis.RedisError as error:
                job.trouble = error
            except redis.RedisClusterException as error:
                job.trouble = error
            if job.done:
                return job.replies
            if job.trouble is not None:
                try:
                    time.sleep(pause(tries, job.trouble))
                except Exception as error:
                    if job.for_ms is None:
                        raise
                    return job.given_up(error)
            steps = answers = None

    def _prepare(self) -> None:
        """Opens the client, and reads the map of a Cluster again where it may be old."""
        if self._client is None:
            self._open()
        if isinstance(self._routes, ClusterRoutes) and self._routes.doubtful:
            self._client.nodes_manager.initialize(last_failed_node_name=self._routes.silent)
            self._routes.refreshed()

    def _pool(self, line: Line) -> Any:
        if line is None:
            return self._client.connection_pool
        node = self._nodes.get(line)
        if node is None:
            with self._opening:
                node = self._nodes.get(line)
                if node is None:
                    nodes = self._client.nodes_manager
                    node = self._nodes[line] = nodes.create_redis_node(*line, **nodes.connection_kwargs)
                    pack_numbers(node)
                    node.connection_pool.succeeded = False
                    node.connection_pool.has_successor = partial(has_successor, nodes, line)
        return node.connection_pool

    def stream(self, groups: Iterable[Sequence[Call]]) -> Iterator[list[Any]]:
        """The replies of each group; the next group is built while the server works on the one before.

        Only for calls that may run twice, and whose arguments do not depend on earlier replies. Of the calls for one
        slot the second is sent when the first was answered, so that a replay never lands behind its successor.
        """
        under_way: _UnderWay | None = None
        before = Group(())
        try:
            for calls in groups:
                group = Group(calls)
                if under_way is not None:
                    arriving, under_way = under_way, None
                    before.keep(-1, self._arrived(arriving))
                    yield before.replies
                for number in range(len(group.waves) - 1):
                    group.keep(number, self.run(group.wave(number)))
                if self._given:
                    group.keep(-1, self.run(group.wave(-1)))
                    yield group.replies
                else:
                    under_way, before = self._departed(group.wave(-1)), group
            if under_way is not None:
                arriving, under_way = under_way, None
                before.keep(-1, self._arrived(arriving))
                yield before.replies
        except BaseException as error:
            self.interrupted(error)
            raise
        finally:
            if under_way is not None:
                self._lines.abandon(under_way.flight)  # whoever built the groups failed

    def _departed(self, calls: Sequence[Call]) -> _UnderWay:
        self._retried(self._prepare)
        job = Job(calls)
        steps = attempt([job], self._routes)
        try:
            plan = next(steps)
        except StopIteration:  # no node is known for any of them
            return _UnderWay(calls, job, steps, Flight((), 0))
        return _UnderWay(calls, job, steps, self._lines.launch(plan, self._pool))

    def _arrived(self, under_way: _UnderWay) -> list[Any]:
        calls, job, steps, flight = under_way
        if flight.pid != os.getpid():  # never left, or with the parent of this process
            return self.run(calls)
        replies = self._finish(job, steps, self._lines.land(flight))
        first_error(replies)
        return replies

    # -- everything else goes through redis-py, which knows what replies look like

    def _plain(self, requests: Sequence[Request]) -> Replies:
        replies = Replies([None] * len(requests))
        left = list(range(len(requests)))
        tries = pauses(self.retry_for_ms / 1000)
        while True:
            trouble: Any = None
            try:
                self._prepare()
                if self.target.is_cluster and for_masters(requests):
                    return Replies([ask(self.client, command(requests[0]))])
                found = self._execute([command(requests[position]) for position in left])
                for number, position in enumerate(left):
                    request = requests[position]
                    if isinstance(found[number], NoScriptError) and isinstance(request, Call):
                        replies.reordered = True
                        (found[number],) = self._execute([request.by_text()])
            except (redis.RedisError, redis.RedisClusterException, OSError) as error:
                trouble, replies.replayed = error, True
                self._routes.doubt()
            else:
                for position, reply in zip(left, found, strict=True):
                    replies[position] = reply_or_error(reply) if not transient(reply) else reply
                left = [position for position in left if transient(replies[position])]
                trouble = replies[left[0]] if left else None
            if trouble is None:
                return replies
            replies.reordered = True
            time.sleep(pause(tries, trouble))

    def _execute(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if len(commands) == 1:
            try:
                return [self.client.execute_command(*commands[0])]
            except redis.ResponseError as error:
                return [error]
        pipeline = self.client.pipeline() if self.target.is_cluster else self.client.pipeline(transaction=False)
        for each in commands:
            pipeline.execute_command(*each)
        return list(pipeline.execute(raise_on_error=False))

    def pubsub(self) -> Any:
        """A subscription of its own; the caller closes it."""
        return self.client.pubsub(ignore_subscribe_messages=True)

    def close(self) -> None:
        """Closes what this object opened."""
        if self._client is not None and not self._given:
            self._lines.close()
            for client in (*opened_with(self._client), *self._nodes.values()):
                client.close()
            self._nodes.clear()
            self._client = None
