"""How late timed messages reach the listener: at a steady rate over 64 slots, and in a burst due at one second."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.consuming import drain_seconds
from benchmarks.harness import PrivateRedis, Report, Series, at_least, at_most, percentile, repeats_for
from rmq_core import RMQ, FixedTimeMessage, Inspector, Listener, Topic, TopicKind

SLOTS = 64
LEAD_MS = 1_500
BURST = 20_000
BARS_MS = {200: 2, 1_000: 2, 10_000: 5}
"""Messages per second, and how late one in a hundred of them may be."""


def main(quick: bool) -> None:
    seconds = 2 if quick else 20
    with PrivateRedis() as server, RMQ(server.url) as rmq:

        def run(count: int, spread_ms: int) -> list[float]:
            """Latenesses in ms on the Redis clock, in order of arrival."""
            rmq.connection.client.flushdb()
            rmq.define(Topic("bench", TopicKind.FIXED_TIME, slots=SLOTS))
            # The clock with the finer resolution, put on Redis time.
            seconds, micros = rmq.connection.client.time()
            behind_ms = time.time() * 1000 - (seconds * 1000 + micros / 1000)
            base_ms = Inspector(rmq).now_ms() + LEAD_MS
            messages = (FixedTimeMessage(b"m%08d" % i, base_ms + i * spread_ms // count) for i in range(count))
            rmq.send_many("bench", messages)
            late: list[float] = []

            def listen(delivery: Any) -> None:
                late.append(time.time() * 1000 - behind_ms - delivery.due_ms)

            drain_seconds(server.url, Listener("bench", listen), count, lambda: len(late))
            return late

        steady: dict[int, list[list[float]]] = {rate: [] for rate in BARS_MS}
        bursts: list[list[float]] = []
        for _ in range(repeats_for(quick)):
            for rate, runs in steady.items():
                runs.append(run(rate * seconds, seconds * 1000))
            bursts.append(run(BURST, 1_000))
        names = [*(f"p99 at {rate:,}/s" for rate in BARS_MS), "earliest", "p99 of a burst over what its drain explains"]
        settings = {"slots": SLOTS, "seconds": seconds, "burst": BURST}
        report = Report("lateness", quick, server, names, settings)
        for rate, bar in BARS_MS.items():
            for q in (50, 99):
                figures = Series(tuple(percentile(late, q) for late in steady[rate]))
                report.add(f"p{q} at {rate:,}/s", figures, "ms", bar=at_most(bar) if q == 99 else None)
        everything = [late for runs in steady.values() for late in runs] + bursts
        # Two clocks are read some microseconds apart; the script itself compares whole milliseconds of one clock.
        report.add("earliest", Series(tuple(min(late) for late in everything)), "ms", bar=at_least(-1.0))
        report.add("p99 of a burst", Series(tuple(percentile(late, 99) for late in bursts)), "ms")
        explained = Series(tuple(percentile(late, 99) / explained_p99(late) for late in bursts))
        report.add(names[-1], explained, "×", bar=at_most(1.1))
        report.finish()


def explained_p99(late: list[float]) -> float:
    """The p99 wait if the burst, due evenly over one second, had been drained at the rate it was, first come first."""
    count = len(late)
    due = [i * 1_000 / count for i in range(count)]
    arrived = sorted(wait + moment for wait, moment in zip(sorted(late), due, strict=True))
    took_ms = max(arrived[-1] - arrived[0], 1.0)
    per_message = took_ms / count
    free_at, waits = 0.0, []
    for moment in due:
        free_at = max(free_at, moment) + per_message
        waits.append(free_at - moment)
    return max(percentile(waits, 99), percentile(late, 50))
