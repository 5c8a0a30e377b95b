"""A worker of two groups of a stream, which stands still at some entries until it may go on."""

from __future__ import annotations

import time

from rmq_core import RMQ, Delivery, Listener, Worker


def main(url: str, name: str, stream: str) -> None:
    rmq = RMQ(url)

    def mail(delivery: Delivery) -> None:
        while delivery.text.startswith("hold") and not rmq.connection.client.exists(f"{stream}-go"):
            time.sleep(0.05)

    def sums(delivery: Delivery) -> None:
        pass

    Worker(url, [Listener(stream, mail, group="mail"), Listener(stream, sums, group="sums")], name=name).run()
