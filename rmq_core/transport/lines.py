"""The lines to servers of a synchronous connection: each is lent to one exchange at a time, and looked at when idle.

The pool's own lending costs as much as a small script, and a connection per thread would outlive its thread.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import redis
from redis.exceptions import BusyLoadingError, ResponseError

from rmq_core.protocol.scripts import Request
from rmq_core.transport.exchange import Answers, Plan
from rmq_core.transport.nodes import Line
from rmq_core.transport.redis_url import SOCKET_TIMEOUT_S
from rmq_core.transport.retry import Failed, pack, refused, transient

IDLE_S = 1.0
"""A line that was idle for longer is looked at before it is used: its server may have hung up, or be master no more."""

ASK_AGAIN_S = 1.0
"""So often, while a reply is awaited, a Sentinel, or another node of a Cluster, is asked whether the server is still a
master."""

LATE_S = 0.1
"""What takes longer, to connect to or to answer, may be a master that was asleep: then they are asked, too. It is not a
second, for the successor may have been named at the end of its sleep."""

DEMOTED = "previous master"


class Flight(NamedTuple):
    """What has been written and is to be read."""

    under_way: Sequence[tuple[Line, Any, int]]  # a connection, or a `Failed`
    pid: int


class Asking:
    """When the Sentinels are to be asked whether a line that is in use leads to the master: one that was forced to hand
    over goes on accepting, and forgets it. Where they are slow to answer, less often.
    """

    def __init__(self) -> None:
        self._from = 0.0

    def due(self, now: float) -> bool:
        """Whether to ask now; who else comes meanwhile goes on."""
        if now < self._from:
            return False
        self._from = now + ASK_AGAIN_S
        return True

    def done(self, began: float) -> None:
        """The answer is there, or there is none."""
        now = time.monotonic()
        self._from = now + max(ASK_AGAIN_S, 10 * (now - began))


class Lines:
    """Connections nobody uses just now, by server."""

    def __init__(self) -> None:
        self._free: dict[Line, list[tuple[Any, float]]] = {}
        self._asking = Asking()

    def borrow(self, line: Line, pool: Any) -> Any:
        """A connection for one exchange; give it back afterwards. Raises what connecting raises."""
        began = time.monotonic()
        try:
            connection, since = self._free[line].pop()
        except (KeyError, IndexError):
            connection, since = pool.get_connection(), began
            if line is not None:
                connection.pool_of_node = pool
        try:
            known = getattr(pool, "master_address", None)
            if known is not None and known != (connection.host, connection.port):
                connection.disconnect()
            elif connection.is_connected and (
                began - since > IDLE_S or (known is not None and self._asking.due(began))
            ):
                _look_at(connection, pool)
                self._asking.done(began)
            if not connection.is_connected:
                connection.connect()  # never by itself: with Sentinel, only this asks who is the master now
            if time.monotonic() - began > LATE_S:
                _refuse_former_master(connection, pool)
        except BaseException:
            connection.disconnect()
            self.give_back(line, connection)
            raise
        return connection

    def give_back(self, line: Line, connection: Any) -> None:
        """The connection may be lent again, connected or not."""
        try:
            self._free[line].append((connection, time.monotonic()))
        except KeyError:
            self._free.setdefault(line, []).append((connection, time.monotonic()))

    def exchange(self, line: Line, pool: Any, commands: Sequence[Request]) -> list[Any] | Failed:
        """Writes commands to one server and reads its replies. Raises as `launch` does."""
        connection = self._write(line, pool, pack(commands))
        if type(connection) is Failed:
            return connection
        try:
            replies = self.read(connection, len(commands))
        except BaseException:
            connection.disconnect()
            self.give_back(line, connection)
            raise
        self.give_back(line, connection)
        return replies

    def launch(self, plan: Plan, pools: Any) -> Flight:
        """Writes everything; ``pools(line)`` gives a redis-py pool. Raises `ConfigurationError`, `InvalidMessage`."""
        under_way: list[tuple[Line, Any, int]] = []
        packed = [(line, pack(commands), len(commands)) for line, commands in plan.items()]
        try:
            for line, data, count in packed:
                under_way.append((line, self._write(line, pools(line), data), count))
        except BaseException:
            self.abandon(Flight(under_way, os.getpid()))
            raise
        return Flight(under_way, os.getpid())

    def _write(self, line: Line, pool: Any, data: bytes) -> Any:
        """The connection to read the replies from, or a `Failed`."""
        connection: Any = None
        try:
            connection = self.borrow(line, pool)
            connection.send_packed_command([data])
        except BaseException as error:
            if connection is not None:
                connection.disconnect()
                self.give_back(line, connection)
            if isinstance(error, Exception) and transient(error):
                return Failed(error, sent=connection is not None)
            raise (refused(error) if isinstance(error, redis.RedisError) else error) from error
        return connection

    def land(self, flight: Flight) -> Answers:
        """Reads everything."""
        answers: dict[Line, Sequence[Any] | Failed] = {}
        left = list(flight.under_way)
        try:
            while left:
                line, connection, count = left[0]
                answers[line] = connection if isinstance(connection, Failed) else self.read(connection, count)
                left.pop(0)  # before it is given back: an interrupt between the two must not give it back twice
                if not isinstance(connection, Failed):
                    self.give_back(line, connection)
        finally:
            self.abandon(Flight(left, flight.pid))
        return answers

    def read(self, connection: Any, count: int) -> list[Any] | Failed:
        """So many replies; a refusal is one of them."""
        replies: list[Any] = []
        try:
            for _ in range(count):
                try:
                    replies.append(_response(connection))
                except (ResponseError, BusyLoadingError) as error:
                    replies.append(error)
        except Exception as error:
            connection.disconnect()
            if not transient(error):
                raise (refused(error) if isinstance(error, redis.RedisError) else error) from error
            return Failed(error, bool(replies) or DEMOTED not in str(error), replies)
        except BaseException:
            connection.disconnect()
            raise
        return replies

    def abandon(self, flight: Flight) -> None:
        """Nobody waits for these replies any more."""
        if flight.pid != os.getpid():
            return  # they are the parent's
        for line, connection, _ in flight.under_way:
            if not isinstance(connection, Failed):
                connection.disconnect()
                self.give_back(line, connection)

    def close(self) -> None:
        """Closes those nobody uses."""
        free, self._free = self._free, {}
        for several in free.values():
            for connection, _ in several:
                connection.disconnect()


def _response(connection: Any) -> Any:
    pool = getattr(connection, "connection_pool", None)  # with Sentinel only
    most_s = SOCKET_TIMEOUT_S
    if pool is None:
        pool, most_s = getattr(connection, "pool_of_node", None), connection.socket_timeout or math.inf
    if pool is None:
        return connection.read_response(disconnect_on_error=False)
    began = time.monotonic()
    # A master that died without a word leaves its lines open: look for its successor before the time is over.
    while True:
        try:
            reply = connection.read_response(timeout=ASK_AGAIN_S, disconnect_on_error=False)
        except redis.TimeoutError:
            if time.monotonic() - began > most_s or _succeeded(connection, pool):
                raise
        else:
            # One that comes late may be that of a master which was asleep, and will forget what it has just accepted.
            if time.monotonic() - began > LATE_S or getattr(pool, "succeeded", False):
                _refuse_former_master(connection, pool)
            return reply


def _refuse_former_master(connection: Any, pool: Any) -> None:
    """Raises `redis.ConnectionError` for one that was asleep meanwhile: it accepts what it will forget."""
    if (hasattr(pool, "get_master_address") or hasattr(pool, "has_successor")) and _succeeded(connection, pool):
        raise redis.ConnectionError("another server became master before this one answered")


def _look_at(connection: Any, pool: Any) -> None:
    """Disconnects what is not fit for use any more."""
    try:
        if connection.can_read(timeout=0):  # nothing is expected: the end of the stream
            connection.disconnect()
    except (redis.RedisError, OSError):
        connection.disconnect()
    if connection.is_connected and hasattr(pool, "get_master_address") and _succeeded(connection, pool):
        connection.disconnect()


def _succeeded(connection: Any, pool: Any) -> bool:
    """Whether the Sentinels, or other nodes, name another master; False where none of them answers."""
    with contextlib.suppress(redis.RedisError, OSError):
        if hasattr(pool, "has_successor"):
            pool.succeeded = pool.has_successor()
            return bool(pool.succeeded)
        return bool(pool.get_master_address() != (connection.host, connection.port))
    return False
