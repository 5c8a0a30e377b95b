"""Which server program it is, out of what INFO says: Valkey calls itself Redis 7.2.4 for the sake of old clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Program(NamedTuple):
    """``family``: Redis or Valkey; ``version``: its own."""

    family: str
    version: str

    def __str__(self) -> str:
        return f"{self.family} {self.version}"


def program_of(info: Mapping[str, Any]) -> Program:
    """The program behind an INFO reply; version ``?`` where it tells none."""
    if info.get("server_name") == "valkey" or "valkey_version" in info:
        return Program("Valkey", str(info.get("valkey_version", "?")))
    return Program("Redis", str(info.get("redis_version", "?")))


def per_node(info: Any) -> list[Mapping[str, Any]]:
    """What INFO says of each node: of a Cluster it was asked of every master, elsewhere of the only server."""
    if isinstance(info, dict) and info and all(isinstance(value, dict) for value in info.values()):
        return list(info.values())
    return [info if isinstance(info, dict) else {}]
