"""Runs requests synchronously."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import redis
from hiredis import pack_command
from redis.exceptions import AuthenticationError, ResponseError

from rmq_core.scripts import Call, Request
from rmq_core.target import Target, opened_with
from rmq_core.wire import PASSING, RETRY_FOR_S, SCRIPTED, command, first_error, healthy, lost, mended, pauses, refused


class Connection:
    """Runs requests synchronously; safe to share between threads."""

    def __init__(self, target: Target, client: Any = None, retry_for_s: float = RETRY_FOR_S) -> None:
        self.target = target
        self.retry_for_s = retry_for_s
        self._client = client
        self._given = client is not None
        self._direct = client is None and not target.is_cluster
        self._free: list[Any] = []  # connections nobody uses just now

    @property
    def client(self) -> Any:
        """The redis-py client, opened on first use."""
        if self._client is None:
            self._client = self._retried(self.target.open)
        return self._client

    def run(self, requests: Sequence[Request]) -> list[Any]:
        """The replies in order; raises the first error among them, after passing ones were retried."""
        replies = self._retried(partial(self._once, requests)) if requests else []
        first_error(replies)
        return replies

    def _retried(self, act: Callable[[], Any]) -> Any:
        tries = pauses(self.retry_for_s)
        while True:
            try:
                return act()
            except AuthenticationError as error:
                raise refused(error) from error
            except PASSING as error:
                pause = next(tries, None)
                if pause is None:
                    raise lost(error) from error
                time.sleep(pause)
            except redis.RedisError as error:
                raise refused(error) from error

    def _once(self, requests: Sequence[Request]) -> list[Any]:
        replies = self._execute([command(request) for request in requests])
        if healthy(replies):
            return replies
        mending = mended(requests, replies)
        answer = None
        while True:
            try:
                answer = self._execute(mending.send(answer))  # type: ignore[arg-type]
            except StopIteration as done:
                return list(done.value)

    def _execute(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if self._direct and all(each[0] in SCRIPTED for each in commands):
            return self._exchange_bytes(b"".join(map(pack_command, commands)), len(commands))
        if len(commands) == 1:
            try:
                return [self.client.execute_command(*commands[0])]
            except ResponseError as error:
                return [error]
        pipeline = self._pipeline()
        for each in commands:
            pipeline.execute_command(*each)
        return list(pipeline.execute(raise_on_error=False))

    def _pipeline(self) -> Any:
        return self.client.pipeline() if self.target.is_cluster else self.client.pipeline(transaction=False)

    # -- scripts, in as few writes and with as little ceremony as can be

    def _borrow(self) -> Any:
        """A connection for one exchange; append it to ``_free`` afterwards. The pool's own lending costs as much as a
        small script, and a connection per thread would outlive its thread.
        """
        try:
            return self._free.pop()
        except IndexError:
            return self.client.connection_pool.get_connection()

    def _exchange_bytes(self, packed: bytes, count: int) -> list[Any]:
        connection = self._borrow()
        try:
            connection.send_packed_command([packed])
            return _read(connection, count)
        except BaseException:
            connection.disconnect()
            raise
        finally:
            self._free.append(connection)

    def stream(self, groups: Iterable[Sequence[Call]]) -> Iterator[list[Any]]:
        """The replies of each group; the next group is built while the server works on the one before.

        Only for calls that may run twice, and whose arguments do not depend on earlier replies.
        """
        if not self._direct:
            yield from map(self.run, groups)
            return
        connection = self._borrow()
        waiting: Sequence[Call] = ()
        try:
            for group in groups:
                if waiting:
                    done, waiting = waiting, ()
                    yield self._collect(connection, done)
                self._launch(connection, group)
                waiting = group
            if waiting:
                done, waiting = waiting, ()
                yield self._collect(connection, done)
        finally:
            if waiting:
                connection.disconnect()  # whoever built the groups failed, and nobody awaits these replies
            self._free.append(connection)

    def _launch(self, connection: Any, group: Sequence[Call]) -> None:
        try:
            connection.send_packed_command([b"".join(map(pack_command, map(command, group)))])
        except PASSING:
            connection.disconnect()  # `_collect` notices and does it all again

    def _collect(self, connection: Any, group: Sequence[Call]) -> list[Any]:
        try:
            if not connection.is_connected:
                return self.run(group)
            replies = _read(connection, len(group))
        except PASSING:
            connection.disconnect()
            return self.run(group)
        except BaseException:
            connection.disconnect()
            raise
        return replies if healthy(replies) else self.run(group)

    def pubsub(self) -> Any:
        """A subscription of its own; the caller closes it."""
        return self.client.pubsub(ignore_subscribe_messages=True)

    def close(self) -> None:
        """Closes what this object opened."""
        if self._client is not None and not self._given:
            for client in opened_with(self._client):
                client.close()
            self._client = None
            self._free.clear()


def _read(connection: Any, count: int) -> list[Any]:
    replies: list[Any] = []
    for _ in range(count):
        try:
            replies.append(connection.read_response())
        except ResponseError as error:
            replies.append(error)
    return replies
