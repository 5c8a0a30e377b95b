"""A worker whose listeners die of some messages; for a process of its own, see `tests.support.programs`.

What ends well is noted in Redis, by its topic; a content that begins with "kill" ends the process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine
from typing import Any

from redis import Redis

from rmq_core import Delivery, Listener, Topic, Worker
from rmq_core.ownership.config import ZooKeeperConfig

DIED = 9
VISIBILITY_MS = 600


def topic(name: str, slots: int) -> Topic:
    return Topic(name, "priority", slots=slots, max_retries=2, backoff_ms=0, visibility_timeout_ms=VISIBILITY_MS)


def main(**options: Any) -> None:
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {options['name']} %(name)s: %(message)s")
    logging.getLogger("kazoo").setLevel(logging.ERROR)
    redis = Redis.from_url(options["redis"])
    done, namespace, work_s = f"{options['namespace']}:done", options["namespace"], options["work_ms"] / 1000

    def handle(deliveries: list[Delivery]) -> None:
        if any(delivery.text.startswith("kill") for delivery in deliveries):
            os._exit(DIED)
        redis.rpush(done, *(f"{delivery.topic}/{delivery.text}" for delivery in deliveries))

    def plain(delivery: Delivery) -> None:
        time.sleep(work_s)
        handle([delivery])

    def batch(deliveries: list[Delivery]) -> None:
        time.sleep(work_s)
        handle(deliveries)

    async def coroutine(delivery: Delivery) -> None:
        await asyncio.sleep(work_s)
        handle([delivery])

    flavours: dict[str, tuple[Callable[..., None] | Callable[..., Coroutine[Any, Any, None]], int]]
    flavours = {"plain": (plain, 1), "batch": (batch, 7), "coroutine": (coroutine, 1)}
    function, size = flavours[options["flavour"]]
    listeners = [Listener(name, function, topic(name, options["slots"]), size) for name in options["topics"]]
    zookeeper: ZooKeeperConfig | None = options["zookeeper"]
    Worker(options["redis"], listeners, name=options["name"], namespace=namespace, threads=4, zookeeper=zookeeper).run()
