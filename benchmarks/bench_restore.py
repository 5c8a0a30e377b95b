"""A restore of everything: messages a minute that come back into an empty server, their contents with them.

A quarter of them retry, a few are in flight or dead. The archive is that of the server that was lost, and is read anew
each time.
"""

from __future__ import annotations

import tempfile
import time

from benchmarks.bench_pipeline import SLOTS, driver_mib
from benchmarks.harness import PrivateRedis, Report, Series, at_least, at_most, repeats_for
from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline.archive import archive
from rmq_core.pipeline.restore import restore
from rmq_core.pipeline.session import open_session
from rmq_core.pipeline.sources.options import SourceOptions

SIZES, QUICK = (300_000, 1_000_000), (20_000,)
WARM_UP = 10_000
AT_ONCE = 1_000
HOUR_MS = 3_600_000


def fill(client: RMQ, messages: int) -> None:
    """So many messages, and what happened to them."""
    client.define(
        Topic("work", TopicKind.PRIORITY, slots=SLOTS, journal=Journal.FULL, journal_max=0, backoff_ms=HOUR_MS)
    )
    client.send_many("work", (PriorityMessage(f"content {i}", priority=20, key=f"m{i:08d}") for i in range(messages)))
    for _ in range(messages // 4 // AT_ONCE):
        taken = client.take("work", AT_ONCE)
        client.nack(taken[:-10], error="Broken")
        client.reject(taken[-10:-5])


def main(quick: bool) -> None:
    sizes, repeats = QUICK if quick else SIZES, repeats_for(quick)
    with PrivateRedis() as server:
        expects = [*(f"restore of {size:,}" for size in sizes), "driver's memory"]
        report = Report("restore", quick=quick, server=server, expects=expects)
        session = open_session("benchmark", settings={"spark.sql.shuffle.partitions": "4"})
        try:
            for size in (WARM_UP, *sizes):
                options, rates = SourceOptions(server.url, "bench", (), SLOTS // 4), list[float]()
                server.flush()
                with tempfile.TemporaryDirectory() as folder:
                    with RMQ(server.url, "bench") as client:
                        fill(client, size)
                    archive(session, options, f"{folder}/archive", compacting=False)
                    for _ in range(repeats if size != WARM_UP else 1):
                        server.flush()
                        started = time.perf_counter()
                        did = restore(session, options, f"{folder}/archive")
                        rates.append(did.restored / (time.perf_counter() - started) * 60)
                        if did.restored != size or did.left_out:
                            raise RuntimeError(f"it did not put everything back: {did}")
                if size != WARM_UP:
                    report.add(f"restore of {size:,}", Series(tuple(rates)), "/min", bar=at_least(3e6))
            report.add("driver's memory", Series((driver_mib(session),) * repeats), "MiB", bar=at_most(2_048))
        finally:
            session.stop()
        report.finish()
