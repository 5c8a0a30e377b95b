"""What a value of a setting has to be; each rule raises `ValueError` with a sentence. For settings and environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rmq_core.errors import ConfigurationError
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.transport.redis_url import RedisURL


def redis(value: str) -> None:
    try:
        RedisURL(value)
    except ConfigurationError as error:
        raise ValueError(str(error)) from None


def plain_redis(value: str) -> None:
    redis(value)
    if RedisURL(value).is_cluster:
        raise ValueError("must name a single Redis server, not a Cluster.")


def namespace(value: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,49}", value):
        raise ValueError("must begin with a letter, then letters, digits, '_', '.', '-' (50 at most).")


def zookeeper(value: str) -> None:
    if value:
        try:
            ZooKeeperConfig.of(value)
        except ConfigurationError as error:
            raise ValueError(str(error)) from None


def named_objects(values: Iterable[str]) -> None:
    for value in values:
        if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", value):
            raise ValueError(f"{value!r} must be written as package.module:attribute.")


def trace_link(value: str) -> None:
    if value and not (value.startswith(("https://", "http://")) and "{trace_id}" in value):
        raise ValueError("must be an address that begins with http:// or https:// and holds {trace_id}.")


def at_least(least: int) -> Callable[[int], None]:
    def rule(value: int) -> None:
        if value < least:
            raise ValueError(f"must be {least} or more.")

    return rule


def between(least: int, most: int) -> Callable[[int], None]:
    def rule(value: int) -> None:
        if not least <= value <= most:
            raise ValueError(f"must be from {least} to {most}.")

    return rule
