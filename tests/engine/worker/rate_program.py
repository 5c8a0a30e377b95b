"""A worker that takes from a topic with a rate limit until it is told to stop; see `tests.support.programs`."""

from __future__ import annotations

from rmq_core import Delivery, Worker, listener


@listener("work", batch=20)
def work(deliveries: list[Delivery]) -> None:
    """Nothing is slower than the limit."""


def main(url: str, namespace: str, name: str) -> None:
    Worker(url, [work], namespace=namespace, name=name, threads=4).run()
