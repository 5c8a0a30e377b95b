"""A worker that is killed in a call, of a listener with ``acks="none"``; see `tests.support.programs`."""

from __future__ import annotations

import time

from redis import Redis

from rmq_core import Delivery, Listener, Worker


def main(url: str, namespace: str, batch: int) -> None:
    """Notes what is handed out, and stays in the call."""
    redis = Redis.from_url(url)

    def one(delivery: Delivery) -> None:
        redis.rpush(f"{namespace}:begun", delivery.text)
        time.sleep(600)

    def several(deliveries: list[Delivery]) -> None:
        redis.rpush(f"{namespace}:begun", *(each.text for each in deliveries))
        time.sleep(600)

    declared = Listener("work", one, acks="none") if batch == 1 else Listener("work", several, batch=batch, acks="none")
    Worker(url, [declared], name="doomed", namespace=namespace).run()
