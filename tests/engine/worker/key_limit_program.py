"""A worker whose listener notes in Redis where it does not run alone for its key; see `tests.support.programs`."""

from __future__ import annotations

import time
from typing import Any

from redis import Redis

from rmq_core import Delivery, Listener, Worker

WORK_S = 0.01
VISIBILITY_MS = 1_000


def main(**options: Any) -> None:
    redis, namespace = Redis.from_url(options["redis"]), options["namespace"]

    def work(delivery: Delivery) -> None:
        lock = f"{namespace}:runs:{delivery.text[0]}"
        # Whoever is killed leaves it behind: it ends before the message comes again.
        if not redis.set(lock, delivery.text, nx=True, px=VISIBILITY_MS // 2):
            redis.rpush(f"{namespace}:beside", delivery.text)
        time.sleep(WORK_S)
        redis.rpush(f"{namespace}:done", delivery.text)
        redis.delete(lock)

    Worker(options["redis"], [Listener("work", work)], name=options["name"], namespace=namespace, threads=4).run()
