"""A Redis client whose server seems to run by the test's clock: scripts find the time in a key instead of in TIME."""

from __future__ import annotations

from functools import cache
from hashlib import sha1
from typing import Any, Self

import redis
from redis.exceptions import NoScriptError, ResponseError

START_MS = 1_700_000_000_000
_TIME = "redis.call('TIME')"
_KEY = "clock-of-a-test"  # the same in all tests, so that a server compiles each script once
_taught: dict[str, str] = {}
"""Names of scripts → those of the same ones in which the key stands instead of TIME."""


class ClockedRedis(redis.Redis):
    """Hand it to a client as ``client=``; `move` is the only thing that makes time pass. One at a time per server."""

    now_ms = START_MS

    @classmethod
    def open(cls, url: str) -> Self:
        client = cls.from_url(url)
        client.move(0)
        return client

    def move(self, by_ms: int) -> None:
        """Lets time pass, in whole milliseconds."""
        self.now_ms += by_ms
        seconds, ms = divmod(self.now_ms, 1000)
        super().execute_command("HSET", _KEY, "s", seconds, "us", ms * 1000)

    def execute_command(self, *args: Any, **options: Any) -> Any:
        if args[0] == "TIME":
            return divmod(self.now_ms * 1000, 1_000_000)
        if args[0] == "EVAL":
            args = ("EVAL", _clocked(args[1]), *args[2:])
        elif args[0] == "EVALSHA":
            if args[1] not in _taught:
                raise NoScriptError("nobody has taught it")
            args = ("EVALSHA", _taught[args[1]], *args[2:])
        return super().execute_command(*args, **options)

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Any:
        return _Pipeline(self)

    def forget(self) -> None:
        """Removes the clock."""
        super().execute_command("DEL", _KEY)


@cache
def _clocked(text: str) -> str:
    clocked = text.replace(_TIME, f"redis.call('HMGET', '{_KEY}', 's', 'us')")
    _taught[_sha_of(text)] = _sha_of(clocked)
    return clocked


def _sha_of(text: str) -> str:
    return sha1(text.encode()).hexdigest()


class _Pipeline:
    def __init__(self, client: ClockedRedis) -> None:
        self._client = client
        self._commands: list[tuple[Any, ...]] = []

    def execute_command(self, *args: Any) -> None:
        self._commands.append(args)

    def execute(self, raise_on_error: bool) -> list[Any]:
        replies: list[Any] = []
        for command in self._commands:
            try:
                replies.append(self._client.execute_command(*command))
            except ResponseError as error:
                replies.append(error)
        return replies
