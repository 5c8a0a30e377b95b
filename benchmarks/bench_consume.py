"""Consuming with one worker process: a plain listener per message, a batch listener, and the bare cycle script."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.consuming import drain_seconds
from benchmarks.harness import PrivateRedis, Report, alternate, at_least, repeats_for
from rmq_core import RMQ, Listener, PriorityMessage, Topic, TopicKind
from rmq_core.scripts import Ack, cycle, read_cycle

SLOTS = 16
CONTENT = b"%032d"
BATCH = 100
TAKE = 500


def main(quick: bool) -> None:
    count = 50_000 if quick else 500_000
    with PrivateRedis() as server, RMQ(server.url) as rmq:

        def fill() -> Topic:
            rmq.connection.client.flushdb()
            topic = rmq.define(Topic("bench", TopicKind.PRIORITY, slots=SLOTS))
            rmq.send_many("bench", (PriorityMessage(CONTENT % i, 17 + i % 100) for i in range(count)))
            return topic

        def worker(batch: int) -> float:
            fill()
            handled = 0

            def one(_: Any) -> None:
                nonlocal handled
                handled += 1

            def some(deliveries: list[Any]) -> None:
                nonlocal handled
                handled += len(deliveries)

            listener = Listener("bench", some if batch > 1 else one, batch=batch)
            return count / drain_seconds(server.url, listener, count, lambda: handled)

        def bare_cycle() -> float:
            topic = fill()
            settled = 0
            pending: dict[int, list[Ack]] = {slot: [] for slot in range(SLOTS)}
            began = time.perf_counter()
            while settled < count:
                requests = [cycle(rmq.keyspace, topic, slot, TAKE, acks=pending[slot]) for slot in pending]
                for slot, reply in enumerate(rmq.connection.run(requests)):
                    settled += len(pending[slot])
                    taken = read_cycle(topic, slot, reply).deliveries
                    pending[slot] = [Ack(delivery.raw_id, delivery.receipt) for delivery in taken]
            return count / (time.perf_counter() - began)

        series = alternate(
            {"plain": lambda: worker(1), "batch": lambda: worker(BATCH), "bare": bare_cycle}, repeats_for(quick)
        )
        names = ["plain listener, per message", "batch listener", "batch listener of the bare cycle script"]
        settings = {"messages": count, "slots": SLOTS, "batch": BATCH, "content_bytes": 32}
        report = Report("consume", quick, server, names, settings)
        report.add(names[0], series["plain"], "/s", bar=at_least(80_000))
        report.add(names[1], series["batch"], "/s", bar=at_least(120_000))
        report.add("bare cycle script", series["bare"], "/s")
        report.compare(names[2], series["batch"], series["bare"], bar=at_least(0.6))
        report.finish()
