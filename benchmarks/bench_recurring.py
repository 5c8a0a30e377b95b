"""Recurring messages: what ten thousand definitions cost the keeper, and how late their ticks reach the queue."""

from __future__ import annotations

import time
from datetime import datetime

from benchmarks.console_stack import ConsoleStack, cpu_seconds
from benchmarks.harness import NotMeasured, PrivateRedis, Report, Series, at_most, percentile, repeats_for
from rmq_core import RMQ, Topic, TopicKind

DEFINITIONS = 10_000
EVERY_MS = 3_600_000
WARM_UP_S = 10.0
DEFINE = """
from console.models import RecurringMessage
from console.outbox import clock
from console.usecases.recurring_ticks import plan_next
now_ms = clock.now_ms("default")
rows = [
    RecurringMessage(name=f"r{{n:05}}", topic="work", content="x", when="priority", value=500, every_ms={every_ms},
                     start_ms=now_ms - {every_ms} + {every_ms} * n // {count})
    for n in range({count})
]
for row in rows:
    plan_next(row, now_ms)
RecurringMessage.objects.bulk_create(rows)
"""


def main(quick: bool) -> None:
    watch_s = 15.0 if quick else 60.0
    cost, late = f"keeper, of one CPU, for {DEFINITIONS:,} definitions", "p99 of a tick's lateness"
    with PrivateRedis() as server:
        report = Report("recurring", quick=quick, server=server, expects=[cost, late])
        report.settings = {"definitions": DEFINITIONS, "each every": "1 h", "evenly": True, "database": "SQLite"}
        shares, latenesses = [], []
        for _ in range(repeats_for(quick)):
            without, _ = _round(server, 0, watch_s)
            with_them, ticks = _round(server, DEFINITIONS, watch_s)
            shares.append(with_them - without)
            latenesses.append(ticks)
        report.add(cost, Series(tuple(shares)), "%", bar=at_most(2), note="more than without any")
        for q in (50, 99):
            figures = Series(tuple(percentile(ticks, q) for ticks in latenesses))
            report.add(f"p{q} of a tick's lateness", figures, "ms", bar=at_most(50) if q == 99 else None)
        report.finish()


def _round(server: PrivateRedis, definitions: int, watch_s: float) -> tuple[float, list[float]]:
    """The keeper's share of a CPU in percent, and how late (ms) each tick was accepted by the queue."""
    server.flush()
    with RMQ(server.url) as rmq, ConsoleStack(server.url) as console:
        console.environ["RMQ_RECORD_TOPICS"] = "nothing"  # only the bench reads what it counts by
        rmq.define(Topic("work", TopicKind.PRIORITY, slots=16, journal="events"))
        journal = rmq.journal("work", "bench")  # with a name: the keeper trims nothing before it was read
        journal.read()
        if definitions:
            console.shell(DEFINE.format(every_ms=EVERY_MS, count=definitions))
        pid = console.keeper()
        time.sleep(WARM_UP_S)
        begun_ms = time.time() * 1000
        before, began = cpu_seconds(pid), time.perf_counter()
        time.sleep(watch_s)
        share = 100 * (cpu_seconds(pid) - before) / (time.perf_counter() - began)
        sent = [each for each in journal.read(100_000).transitions if each.event == "sent"]
        ticks = [
            each.at_ms - datetime.fromisoformat(each.id.decode().partition("@")[2]).timestamp() * 1000
            for each in sent
            if each.at_ms >= begun_ms
        ]
    if definitions and len(ticks) < 0.8 * watch_s * 1000 * definitions / EVERY_MS:
        raise NotMeasured(f"only {len(ticks)} ticks were sent in {watch_s:.0f} s")
    return share, ticks
