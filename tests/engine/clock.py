"""A Redis client whose server seems to run by the test's clock: scripts find the time in a key instead of in TIME."""

from __future__ import annotations

from typing import Any, Self

import redis
from redis.exceptions import NoScriptError, ResponseError

START_MS = 1_700_000_000_000
_TIME = "redis.call('TIME')"


class ClockedRedis(redis.Redis):
    """Hand it to a client as ``client=``; `move` is the only thing that makes time pass."""

    clock_key = "clock"
    now_ms = START_MS
    _known: dict[str, str]

    @classmethod
    def open(cls, url: str, namespace: str) -> Self:
        client = cls.from_url(url)
        client.begin(namespace)
        return client

    def begin(self, namespace: str) -> None:
        """Gives the client its clock."""
        self.clock_key = f"{namespace}:clock"
        self._known = {}
        self.move(0)

    def move(self, by_ms: int) -> None:
        """Lets time pass, in whole milliseconds."""
        self.now_ms += by_ms
        seconds, ms = divmod(self.now_ms, 1000)
        super().execute_command("HSET", self.clock_key, "s", seconds, "us", ms * 1000)

    def execute_command(self, *args: Any, **options: Any) -> Any:
        if args[0] == "TIME":
            return divmod(self.now_ms * 1000, 1_000_000)
        if args[0] == "EVAL":
            self._known[sha_of(args[1])] = self._clocked(args[1])
            args = ("EVAL", self._clocked(args[1]), *args[2:])
        elif args[0] == "EVALSHA":
            if args[1] not in self._known:
                raise NoScriptError("not one this client has seen")
            args = ("EVAL", self._known[args[1]], *args[2:])
        return super().execute_command(*args, **options)

    def _clocked(self, text: str) -> str:
        return text.replace(_TIME, f"redis.call('HMGET', '{self.clock_key}', 's', 'us')")

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Any:
        return _Pipeline(self)

    def forget(self) -> None:
        """Removes the clock."""
        super().execute_command("DEL", self.clock_key)


def sha_of(text: str) -> str:
    from hashlib import sha1

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
