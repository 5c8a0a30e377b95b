"""Turns one Redis URL into what Channels and RQ each want to be told."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PUBSUB_OPTIONS = {"socket_timeout": None, "socket_connect_timeout": 5, "health_check_interval": 15}


def channel_layer_host(url: str) -> dict[str, Any]:
    """An entry of `hosts` for `channels_redis`; pub/sub reads have no time limit, silence is normal there."""
    sentinel = sentinel_parts(url)
    if sentinel is None:
        return {"address": url, **PUBSUB_OPTIONS}
    return {
        "sentinels": sentinel["SENTINELS"],
        "master_name": sentinel["MASTER_NAME"],
        "db": sentinel["DB"],
        "sentinel_kwargs": None,
        **PUBSUB_OPTIONS,
        **_credentials(sentinel),
    }


def rq_connection(url: str) -> dict[str, Any]:
    """An entry of `RQ_QUEUES`."""
    return sentinel_parts(url) or {"URL": url}


def sentinel_parts(url: str) -> dict[str, Any] | None:
    """Take `sentinel://[user:password@]host:port,host:port/service[/db]` apart; None for other schemes."""
    parts = urlsplit(url)
    if "sentinel" not in parts.scheme:
        return None
    hosts = parts.netloc.rpartition("@")[2]
    sentinels = []
    for item in hosts.split(","):
        name, _, port = item.partition(":")
        sentinels.append((name, int(port or 26379)))
    service, _, database = parts.path.strip("/").partition("/")
    database = database or parse_qs(parts.query).get("db", ["0"])[0]
    found: dict[str, Any] = {"SENTINELS": sentinels, "MASTER_NAME": service, "DB": int(database or 0)}
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    if password:
        found["PASSWORD"] = unquote(password)
    if user:
        found["USERNAME"] = unquote(user)
    return found


def _credentials(sentinel: dict[str, Any]) -> dict[str, Any]:
    return {key.lower(): sentinel[key] for key in ("USERNAME", "PASSWORD") if key in sentinel}
