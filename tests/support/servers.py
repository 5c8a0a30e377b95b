"""The kinds of Redis servers that are promised to work, and where this machine has them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from rmq_core.embedded.redis_binary import RedisProgram, redis_servers
from tests.support.missing import missing

_KINDS: dict[str, Callable[[RedisProgram], bool]] = {
    "valkey": lambda server: server.family == "Valkey",
    "redis-7": lambda server: server.family == "Redis" and server.version >= (7,),
    "redis-6.2": lambda server: server.family == "Redis" and server.version[:2] == (6, 2),
}
SERVER_KINDS = tuple(_KINDS)
"""The newest first."""
DEFAULT_KIND = SERVER_KINDS[0]


def server_of(kind: str) -> Path:
    """The program of that kind; skips by its name where this machine has none, and fails where CI must have it."""
    for server in redis_servers():
        if _KINDS[kind](server):
            return server.path
    missing(f"a server of the kind {kind}")


def chosen_server() -> Path | None:
    """What the tests run on: TEST_REDIS names a kind (`redis-6.2`); None for the default."""
    kind = os.environ.get("TEST_REDIS")
    return server_of(kind) if kind else None
