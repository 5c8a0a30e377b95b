"""What both connections agree on: which errors pass, how long to try, what error replies mean.

redis-py would replay commands by itself after a lost reply. We turn that off and replay here, where it is known
that every script of ours may run twice: a send merges by id, a settle is bound to its receipt, a take whose reply
was lost comes back by its timeout.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    DataError,
    MasterDownError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from rmq_core.errors import ConnectionLost, InvalidMessage, RMQError, SettingRefused, from_reply
from rmq_core.protocol.scripts import Call, Each, Request
from rmq_core.transport.packing import packed, spelled

RETRY_FOR_MS = 15_000
TRANSIENT = (
    RedisConnectionError,
    RedisTimeoutError,
    BusyLoadingError,
    ReadOnlyError,
    MasterDownError,
    ClusterDownError,
    TryAgainError,
    ClusterError,
    RedisClusterException,
    AskError,
    OSError,
)
"""What a restart, a failover or a cut line looks like: worth another try."""

_TRANSIENT_CODES = {
    "BUSY": "answers nobody while a script runs: see who runs it, or end it with SCRIPT KILL",
    "NOREPLICAS": "has fewer replicas than its min-replicas-to-write: bring them back, or change that",
}
"""The same, among the replies redis-py has no class for, and what they mean."""


_DEMOTED_IN_SCRIPT = "-READONLY You can't write"
"""So says Redis before 7 of a replica, from inside a script, in an error that begins with other words. Nothing was
done: it is the first write that is refused.
"""


def pauses(budget_s: float) -> Iterator[float]:
    """Growing, jittered pauses until the budget is spent; then the caller gives up."""
    deadline = time.monotonic() + budget_s
    pause = 0.02
    while time.monotonic() < deadline:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, 1.0)


def pause(tries: Iterator[float], error: Exception) -> float:
    """How long (s) until another try. Raises what the error means where there is none."""
    if not transient(error):
        raise (refused(error) if isinstance(error, (RedisError, RedisClusterException)) else error) from error
    pause_s = next(tries, None)
    if pause_s is None:
        raise lost(error) from error
    return pause_s


def transient(error: object) -> bool:
    """Whether an error is worth another try."""
    if isinstance(error, AuthenticationError):
        return False
    if isinstance(error, RedisClusterException):
        return "not enabled" not in str(error)
    if isinstance(error, TRANSIENT):
        return True
    if not isinstance(error, ResponseError):
        return False
    said = str(error)
    return said.partition(" ")[0] in _TRANSIENT_CODES or _DEMOTED_IN_SCRIPT in said


def lost(error: BaseException) -> ConnectionLost:
    """The error for a server that stayed away."""
    if isinstance(error, (TryAgainError, AskError)):
        return ConnectionLost(
            "keys of one slot are being moved to another node of the Cluster, and neither node would serve all of them"
            f" ({error}): end the move (redis-cli --cluster fix), or let this user run MIGRATE"
        )
    if "No master found" in str(error) and "AuthenticationError" in str(error):
        return ConnectionLost(
            f"the Sentinels let nobody in without their own password ({error}): give it in the URL as"
            " ?sentinel_password=…, and sentinel_username=… where they have users"
        )
    code = str(error).partition(" ")[0]
    if isinstance(error, ResponseError) and code in _TRANSIENT_CODES:
        return ConnectionLost(f"the Redis server {_TRANSIENT_CODES[code]} ({error})")
    said = str(error).partition(" : <")[0]  # of Sentinels, redis-py goes on with all that it knows of each connection
    return ConnectionLost(
        f"the Redis server did not answer ({type(error).__name__}: {said});"
        " check that it runs and that the URL is right"
    )


def refused(error: BaseException) -> RMQError:
    """The error for a server that turned us away, or for a command that never left."""
    if isinstance(error, DataError):
        return InvalidMessage(f"no command can be made of such an argument: {error}")
    return SettingRefused(f"the Redis server refused the connection: {error}")


def command(request: Request) -> tuple[Any, ...]:
    """A request as a plain command."""
    return spelled(request.by_sha() if isinstance(request, Call) else request)


def pack(commands: Sequence[Request]) -> bytes:
    """Commands as they are sent. Raises `InvalidMessage`."""
    try:
        return packed(commands[0]) if len(commands) == 1 else b"".join(map(packed, commands))
    except (TypeError, ValueError) as error:  # what is no text and no number, and text that cannot be encoded
        raise InvalidMessage(f"no command can be made of such an argument: {error}") from None


class Packed(NamedTuple):
    """Commands as they are sent, and how many."""

    data: bytes
    commands: int

    @classmethod
    def of(cls, commands: Sequence[Request]) -> Packed:
        """Raises `InvalidMessage`."""
        return cls(pack(commands), len(commands))


def scripted(requests: Sequence[Request]) -> bool:
    """Whether there are only script calls among them."""
    for request in requests:  # noqa: SIM110 - a generator costs more than all that it looks at
        if type(request) is not Call:
            return False
    return True


class Ordered(Each):
    """Script calls of which those for one slot are done in this order, whatever happens on the way."""


class Replies(list[Any]):
    """Replies, in the order of the requests.

    ``replayed``: some were asked for again after an answer was lost; ``reordered``: some were done after others that
    stand behind them.
    """

    replayed = False
    reordered = False


class Failed(NamedTuple):
    """An exchange that broke off; ``sent``: what has no answer may have been done all the same; ``replies``: those that
    came before, and are true.
    """

    error: Exception
    sent: bool
    replies: Sequence[Any] = ()


def reply_or_error(reply: Any) -> Any:
    """A reply, with a server's refusal as the error of ours that it means."""
    return from_reply(str(reply)) if isinstance(reply, ResponseError) else reply


def healthy(replies: Sequence[Any]) -> bool:
    """Whether no reply is an error."""
    for reply in replies:  # noqa: SIM110 - as above
        if isinstance(reply, Exception):
            return False
    return True


def first_error(replies: Sequence[Any]) -> None:
    """Raises the first error among replies."""
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
