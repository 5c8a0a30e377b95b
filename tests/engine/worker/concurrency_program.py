"""A worker whose listener notes in Redis how many run at once, anywhere; see `tests.support.programs`."""

from __future__ import annotations

import time
from typing import Any

from redis import Redis

from rmq_core import Delivery, Listener, Worker

WORK_S = 0.01
VISIBILITY_MS = 1_000


def main(**options: Any) -> None:
    redis, namespace = Redis.from_url(options["redis"]), options["namespace"]
    running = f"{namespace}:runs"

    def work(delivery: Delivery) -> None:
        # What a killed worker has left there counts no more before its message comes again.
        now = time.time()
        redis.zremrangebyscore(running, "-inf", now - VISIBILITY_MS / 2_000)
        redis.zadd(running, {delivery.text: now})
        redis.rpush(f"{namespace}:peaks", redis.zcard(running))
        time.sleep(WORK_S)
        redis.rpush(f"{namespace}:done", delivery.text)
        redis.zrem(running, delivery.text)

    Worker(options["redis"], [Listener("work", work)], name=options["name"], namespace=namespace, threads=4).run()
