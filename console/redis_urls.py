"""Turns one Redis URL into what Channels and RQ each want to be told."""

from __future__ import annotations

from typing import Any

from rmq_core.transport.redis_url import RedisURL

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
        "sentinel_kwargs": sentinel.get("SENTINEL_KWARGS"),
        **PUBSUB_OPTIONS,
        **_options(sentinel),
    }


def rq_connection(url: str) -> dict[str, Any]:
    """An entry of `RQ_QUEUES`."""
    return sentinel_parts(url) or {"URL": url}


def sentinel_parts(url: str) -> dict[str, Any] | None:
    """What a `sentinel://` URL says, in the words of `RQ_QUEUES`; None for other schemes."""
    target = RedisURL(url)
    if target.scheme != "sentinel":
        return None
    given = {name.upper(): target.options.get(name) for name in ("username", "password")}
    found = {"SENTINELS": target.hosts, "MASTER_NAME": target.service, "DB": target.options["db"]}
    found |= {name: value for name, value in given.items() if value}
    others = {name: value for name, value in target.options.items() if name not in {"username", "password", "db"}}
    if others:
        found["CONNECTION_KWARGS"] = others
    if target.sentinel_options:
        found["SENTINEL_KWARGS"] = target.sentinel_options
    return found


def _options(sentinel: dict[str, Any]) -> dict[str, Any]:
    credentials = {key.lower(): sentinel[key] for key in ("USERNAME", "PASSWORD") if key in sentinel}
    further: dict[str, Any] = sentinel.get("CONNECTION_KWARGS", {})
    return credentials | further
