"""A worker process whose listener cannot be cancelled: python stubborn_program.py URL NAMESPACE swallow|block."""

import asyncio
import sys
import time

import redis

from rmq_core import Delivery, Listener, Worker


def main(url: str, namespace: str, what: str) -> None:
    async def stubborn(delivery: Delivery) -> None:
        with redis.Redis.from_url(url) as raw:
            raw.set(f"{namespace}:began", 1)
        while True:
            try:
                if what == "block":
                    time.sleep(3_600)  # noqa: ASYNC251 - this is what it is about
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                continue

    Worker(url, [Listener("work", stubborn)], namespace=namespace, grace_ms=600_000).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
