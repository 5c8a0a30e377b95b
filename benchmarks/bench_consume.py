"""Consuming with one worker process: a plain listener per message, a batch listener, and the bare cycle script."""

from __future__ import annotations

from benchmarks.consuming import cycle_rate, define, fill, worker_rate
from benchmarks.harness import PrivateRedis, Report, alternate, at_least, repeats_for
from rmq_core import RMQ

SLOTS = 16
BATCH = 100


def main(quick: bool) -> None:
    count = 50_000 if quick else 500_000
    with PrivateRedis() as server, RMQ(server.url) as rmq:

        def worker(batch: int) -> float:
            define(rmq, SLOTS)
            fill(rmq, count)
            return worker_rate(server.url, count, batch)

        def bare_cycle() -> float:
            topic = define(rmq, SLOTS)
            fill(rmq, count)
            return cycle_rate(rmq, topic, count)

        series = alternate(
            {"plain": lambda: worker(1), "batch": lambda: worker(BATCH), "bare": bare_cycle}, repeats_for(quick)
        )
        names = ["plain listener, per message", "batch listener", "batch listener of the bare cycle script"]
        settings = {"messages": count, "slots": SLOTS, "batch": BATCH, "content_bytes": 32}
        report = Report("consume", quick, server, names, settings)
        report.add(names[0], series["plain"], "/s", bar=at_least(180_000 if server.is_valkey else 130_000))
        report.add(names[1], series["batch"], "/s", bar=at_least(220_000 if server.is_valkey else 180_000))
        report.add("bare cycle script", series["bare"], "/s")
        report.compare(names[2], series["batch"], series["bare"], bar=at_least(0.85))
        report.finish()
