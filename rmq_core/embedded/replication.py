"""What a server says about its part in replication."""

from __future__ import annotations

from typing import Any

import redis

from rmq_core.embedded.redis import EmbeddedRedis


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
