"""A worker of its own process that takes from a topic with a rate limit until it is told to stop."""

from __future__ import annotations

import sys

from rmq_core import Delivery, Worker, listener


@listener("work", batch=20)
def work(deliveries: list[Delivery]) -> None:
    """Nothing is slower than the limit."""


if __name__ == "__main__":
    Worker(sys.argv[1], [work], namespace=sys.argv[2], name=sys.argv[3], threads=4).run()
