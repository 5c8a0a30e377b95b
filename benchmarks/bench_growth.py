"""What one operation costs with 10 million waiting messages against 10 thousand."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from benchmarks.harness import PrivateRedis, Report, alternate, at_most, repeats_for
from rmq_core import RMQ, Control, Inspector, PriorityMessage, Topic, TopicKind

SLOTS = 64
OPERATIONS = 2_000
SMALL = 10_000


def main(quick: bool) -> None:
    large = 100_000 if quick else 10_000_000
    with PrivateRedis() as server, RMQ(server.url) as rmq:
        inspector, control = Inspector(rmq), Control(rmq)
        for name, count in (("small", SMALL), ("large", large)):
            rmq.define(Topic(name, TopicKind.PRIORITY, slots=SLOTS))
            rmq.send_many(name, (PriorityMessage(b"message-%08d" % i, 17 + i % 100) for i in range(count)))
        counts = {"small": SMALL, "large": large}
        chance = random.Random(1)

        def each_us(act: Callable[[int], object]) -> float:
            began = time.perf_counter()
            for i in range(OPERATIONS):
                act(i)
            return (time.perf_counter() - began) / OPERATIONS * 1e6

        def take_and_ack(topic: str) -> float:
            def act(_: int) -> None:
                deliveries = rmq.take(topic, 1)
                rmq.ack(deliveries)
                taken.extend(delivery.raw_id for delivery in deliveries)

            taken: list[bytes] = []
            cost = each_us(act)
            rmq.send_many(topic, (PriorityMessage(raw, 17 + i % 100) for i, raw in enumerate(taken)))
            return cost

        def cancel(topic: str) -> float:
            ids = [b"message-%08d" % i for i in chance.sample(range(counts[topic]), OPERATIONS)]
            cost = each_us(lambda i: control.cancel(topic, [ids[i]]))
            rmq.send_many(topic, (PriorityMessage(raw, 17 + i % 100) for i, raw in enumerate(ids)))
            return cost

        def find(topic: str) -> float:
            ids = [b"message-%08d" % i for i in chance.sample(range(counts[topic]), OPERATIONS)]
            return each_us(lambda i: inspector.find(topic, ids[i]))

        def page(topic: str) -> float:
            began = time.perf_counter()
            for _ in range(OPERATIONS // 40):
                inspector.messages(topic, "ready", limit=50)
            return (time.perf_counter() - began) / (OPERATIONS // 40) * 1e6

        operations = {"take and ack": take_and_ack, "cancel": cancel, "find": find, "a page of 50": page}
        subjects = {
            f"{name}, {size}": (lambda act=act, size=size: act(size))
            for name, act in operations.items()
            for size in ("small", "large")
        }
        series = alternate(subjects, repeats_for(quick))
        names = [f"{name}: growth" for name in operations]
        report = Report("growth", quick, server, names, {"small": SMALL, "large": large, "slots": SLOTS})
        for name in operations:
            report.add(f"{name}, {SMALL:,} waiting", series[f"{name}, small"], "µs")
            report.add(f"{name}, {large:,} waiting", series[f"{name}, large"], "µs")
            # A page is read by people and carries fifty messages: it is shown, the bar is for single operations.
            bar = None if name == "a page of 50" else at_most(1.3)
            report.compare(f"{name}: growth", series[f"{name}, large"], series[f"{name}, small"], bar=bar)
        report.finish()
