"""What both connections agree on: which errors pass, how long to try, what to do about error replies.

redis-py would replay commands by itself after a lost reply. We turn that off and replay here, where it is known
that every script of ours may run twice: a send merges by id, a settle is bound to its receipt, a take whose reply
was lost comes back by its timeout.
"""

from __future__ import annotations

import random
import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from redis.exceptions import (
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    MasterDownError,
    NoScriptError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from rmq_core.errors import ConfigurationError, ConnectionLost, from_reply
from rmq_core.scripts import Call, Request

RETRY_FOR_S = 15.0
PASSING = (
    RedisConnectionError,
    RedisTimeoutError,
    BusyLoadingError,
    ReadOnlyError,
    MasterDownError,
    ClusterDownError,
    TryAgainError,
    ClusterError,
    OSError,
)
"""What a restart, a failover or a cut line looks like: worth another try."""

SCRIPTED = frozenset({"EVALSHA", "EVAL"})
"""Commands whose replies need no post-processing by redis-py: they are packed in C and sent as one write."""


def pauses(budget_s: float) -> Iterator[float]:
    """Growing, jittered pauses until the budget is spent; then the caller gives up."""
    deadline = time.monotonic() + budget_s
    pause = 0.02
    while time.monotonic() < deadline:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, 1.0)


def lost(error: BaseException) -> ConnectionLost:
    """The error for a server that stayed away."""
    return ConnectionLost(
        f"the Redis server did not answer ({type(error).__name__}: {error});"
        " check that it runs and that the URL is right"
    )


def refused(error: BaseException) -> ConfigurationError:
    """The error for a server that turned us away."""
    return ConfigurationError(f"the Redis server refused the connection: {error}")


def command(request: Request) -> tuple[Any, ...]:
    """A request as a plain command."""
    return request.by_sha() if isinstance(request, Call) else request


def mended(
    requests: Sequence[Request], replies: list[Any]
) -> Generator[Sequence[tuple[Any, ...]], list[Any], list[Any]]:
    """What to do about error replies, whoever does the IO: teach unknown scripts, raise passing errors, translate."""
    for i, request in enumerate(requests):
        if isinstance(replies[i], NoScriptError) and isinstance(request, Call):
            (replies[i],) = yield [request.by_text()]
        if isinstance(replies[i], PASSING):
            raise replies[i]
        if isinstance(replies[i], ResponseError):
            replies[i] = from_reply(str(replies[i]))
    return replies


def healthy(replies: Sequence[Any]) -> bool:
    """Whether no reply is an error."""
    return not any(isinstance(reply, Exception) for reply in replies)


def first_error(replies: Sequence[Any]) -> None:
    """Raises the first error among replies."""
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
