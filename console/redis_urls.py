"""Turns one Redis URL into the settings of Channels and RQ."""

from __future__ import annotations

from typing import Any

from redis import Redis
from redis.sentinel import Sentinel

from rmq_core.transport.redis_url import DRIVER, RedisURL

PUBSUB_OPTIONS = {"socket_timeout": None, "socket_connect_timeout": 5, "health_check_interval": 15}


def channel_layer_host(url: str) -> dict[str, Any]:
    """An entry of `hosts` for `channels_redis`; pub/sub reads have no time limit, silence is normal there."""
    target = RedisURL(url)
    if target.scheme != "sentinel":
        return {"address": url, **PUBSUB_OPTIONS}
    return {
        "sentinels": target.hosts,
        "master_name": target.service,
        "sentinel_kwargs": target.sentinel_options or None,
        **PUBSUB_OPTIONS,
        **target.options,
    }


def job_queue_settings(url: str) -> dict[str, Any]:
    """The same in the words of `RQ_QUEUES`."""
    target = RedisURL(url)
    if target.scheme != "sentinel":
        return {"URL": url}
    return {
        "SENTINELS": target.hosts,
        "MASTER_NAME": target.service,
        "DB": target.options["db"],
        "CONNECTION_KWARGS": target.options,
        "SENTINEL_KWARGS": target.sentinel_options,
    }


def job_connection(url: str) -> Redis:
    """What RQ works through."""
    target = RedisURL(url)
    if target.scheme != "sentinel":
        return Redis.from_url(url, driver_info=DRIVER)
    make: Any = Sentinel
    sentinel = make(target.hosts, sentinel_kwargs=target.sentinel_options, **target.options)
    found: Redis = sentinel.master_for(target.service)
    return found
