"""What the journal costs: sending and consuming with it off, with events, and with full contents, in turn."""

from __future__ import annotations

import time

from benchmarks.consuming import CONTENT, cycle_rate, define, fill, worker_rate
from benchmarks.harness import PrivateRedis, Report, alternate_many, at_least, repeats_for
from rmq_core import RMQ, PriorityMessage, Topic
from rmq_core.model.topic import Journal

SLOTS = 16
BATCH = 100
BAR = 0.85


def main(quick: bool) -> None:
    many, single = (50_000, 3_000) if quick else (500_000, 30_000)
    with PrivateRedis() as server, RMQ(server.url) as rmq:

        def empty(mode: str) -> Topic:
            return define(rmq, SLOTS, journal=Journal(mode), journal_max=0)

        def worker(mode: str, batch: int) -> float:
            empty(mode)
            fill(rmq, many)
            return worker_rate(server.url, many, batch)

        def bare_cycle(mode: str) -> float:
            topic = empty(mode)
            fill(rmq, many)
            return cycle_rate(rmq, topic, many)

        def send_one(mode: str) -> float:
            empty(mode)
            began = time.perf_counter()
            for i in range(single):
                rmq.send("bench", PriorityMessage(CONTENT % i, 17 + i % 100))
            return single / (time.perf_counter() - began)

        def send_many(mode: str) -> float:
            began = time.perf_counter()
            empty(mode)
            fill(rmq, many)
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
