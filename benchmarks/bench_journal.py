"""What the journal costs: sending and consuming with it off, with events, and with full contents, in turn."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.consuming import drain_seconds
from benchmarks.harness import PrivateRedis, Report, alternate_many, at_least, repeats_for
from rmq_core import RMQ, Listener, PriorityMessage, Topic, TopicKind
from rmq_core.scripts import Ack, cycle, read_cycle
from rmq_core.topic import Journal

SLOTS = 16
CONTENT = b"%032d"
BATCH = 100
TAKE = 500
BAR = 0.7


def main(quick: bool) -> None:
    many, single = (50_000, 3_000) if quick else (500_000, 30_000)
    with PrivateRedis() as server, RMQ(server.url) as rmq:

        def define(mode: str) -> Topic:
            rmq.connection.client.flushdb()
            return rmq.define(Topic("bench", TopicKind.PRIORITY, slots=SLOTS, journal=Journal(mode), journal_max=0))

        def fill(mode: str, count: int) -> Topic:
            topic = define(mode)
            rmq.send_many("bench", (PriorityMessage(CONTENT % i, 17 + i % 100) for i in range(count)))
            return topic

        def worker(mode: str, batch: int) -> float:
            fill(mode, many)
            handled = 0

            def one(_: Any) -> None:
                nonlocal handled
                handled += 1

            def some(deliveries: list[Any]) -> None:
                nonlocal handled
                handled += len(deliveries)

            listener = Listener("bench", some if batch > 1 else one, batch=batch)
            return many / drain_seconds(server.url, listener, many, lambda: handled)

        def bare_cycle(mode: str) -> float:
            topic = fill(mode, many)
            settled = 0
            pending: dict[int, list[Ack]] = {slot: [] for slot in range(SLOTS)}
            began = time.perf_counter()
            while settled < many:
                requests = [cycle(rmq.keyspace, topic, slot, TAKE, acks=pending[slot]) for slot in pending]
                for slot, reply in enumerate(rmq.connection.run(requests)):
                    settled += len(pending[slot])
                    taken = read_cycle(topic, slot, reply).deliveries
                    pending[slot] = [Ack(delivery.raw_id, delivery.receipt) for delivery in taken]
            return many / (time.perf_counter() - began)

        def send_one(mode: str) -> float:
            define(mode)
            began = time.perf_counter()
            for i in range(single):
                rmq.send("bench", PriorityMessage(CONTENT % i, 17 + i % 100))
            return single / (time.perf_counter() - began)

        def send_many(mode: str) -> float:
            began = time.perf_counter()
            fill(mode, many)
            return many / (time.perf_counter() - began)

        def figures(mode: str) -> dict[str, float]:
            found = {"send, one by one": send_one(mode), "send_many, inline": send_many(mode)}
            return found | {
                "plain listener, per message": worker(mode, 1),
                "batch listener": worker(mode, BATCH),
                "bare cycle script": bare_cycle(mode),
            }

        series = alternate_many({mode: (lambda mode=mode: figures(mode)) for mode in Journal}, repeats_for(quick))
        names = list(series[Journal.OFF])
        expects = [f"{name}: {mode.value} of off" for name in names for mode in (Journal.EVENTS, Journal.FULL)]
        report = Report(
            "journal", quick, server, expects, {"messages": many, "singles": single, "slots": SLOTS, "batch": BATCH}
        )
        for name in names:
            for mode in Journal:
                report.add(f"{name}, {mode.value}", series[mode][name], "/s")
            for mode in (Journal.EVENTS, Journal.FULL):
                # The scripts alone, with no client beside them, are shown; the bar is on what applications see.
                bar = None if name == "bare cycle script" else at_least(BAR)
                report.compare(f"{name}: {mode.value} of off", series[mode][name], series[Journal.OFF][name], bar=bar)
        report.finish()
