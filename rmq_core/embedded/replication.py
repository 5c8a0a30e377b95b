"""What a server says about its part in replication."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import redis

from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_config import ConfigValue

COPIED_AT_ONCE: Mapping[str, ConfigValue] = {"repl-diskless-sync-delay": 0}
"""A master would wait 5 s for further replicas to copy its data to at one go; no others will come."""


def replication(server: EmbeddedRedis) -> dict[str, Any]:
    """The server's INFO replication."""
    try:
        return _view(server)
    except redis.ConnectionError:
        return _view(server)  # whoever becomes a replica hangs up on everybody, once


def _view(server: EmbeddedRedis) -> dict[str, Any]:
    with server.client() as client:
        view: dict[str, Any] = client.info("replication")
    return view


def in_step(view: dict[str, Any]) -> bool:
    """Whether it is a master, or a replica that has its master's data."""
    return bool(view["role"] == "master" or view["master_link_status"] == "up")
