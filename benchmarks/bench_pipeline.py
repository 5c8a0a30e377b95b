"""The pipeline: transitions archived and reconciled a minute, start-up excluded, and how both grow with their number.

The journals are written as the engine writes them (sends, takes and acks, a thousand at a time); then they are read,
kept as Parquet and replayed by the jobs themselves. Small runs warm up the Java virtual machine first.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.harness import PrivateRedis, Report, alternate_many, at_least, at_most, repeats_for
from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.pipeline.archive import archive
from rmq_core.pipeline.reconcile import Inputs, reconcile
from rmq_core.pipeline.session import open_session
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.topic import Journal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = (2_000_000, 4_000_000, 8_000_000)
QUICK = (200_000, 400_000)
WARM_UP = 100_000
PER_MESSAGE = 3  # sent, taken, acked
SLOTS = 8


def fill(url: str, namespace: str, transitions: int) -> None:
    """So many transitions in the journals of one topic; a tenth of the messages still waits."""
    messages = transitions // PER_MESSAGE
    with RMQ(url, namespace) as client:
        client.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS, journal=Journal.EVENTS, journal_max=0))
        client.send_many("work", (PriorityMessage(f"message-{i:08d}", priority=17 + i % 100) for i in range(messages)))
        left = messages * 9 // 10
        while left > 0:
            taken = client.take("work", 1_000)
            client.ack(taken)
            left -= len(taken)


def measure(session: SparkSession, server: PrivateRedis, transitions: int) -> dict[str, float]:
    """Transitions a minute of both jobs, and their seconds, on a server emptied before."""
    server.flush()
    fill(server.url, "bench", transitions)
    options = SourceOptions(server.url, "bench", (), SLOTS // 4)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        did = archive(session, options, f"{folder}/archive", compacting=False)
        archived = time.perf_counter()
        summary = reconcile(session, Inputs(options, f"{folder}/archive", f"{folder}/reports"))
        reconciled = time.perf_counter()
    if summary["counts"]:
        raise RuntimeError(f"a clean run has findings: {summary['counts']}")
    seconds = {"archive": archived - started, "reconciliation": reconciled - archived}
    return seconds | {f"{name} rate": did.rows / spent * 60 for name, spent in seconds.items()}


def main(quick: bool) -> None:
    sizes = QUICK if quick else SIZES
    with PrivateRedis() as server:
        session = open_session("benchmark", settings={"spark.sql.shuffle.partitions": "4"})
        try:
            measure(session, server, WARM_UP)
            series = alternate_many(
                {f"{size:,}": partial(measure, session, server, size) for size in sizes}, repeats=repeats_for(quick)
            )
        finally:
            session.stop()
        names = ("archive", "reconciliation")
        expects = [f"{name} of {size:,} transitions" for size in sizes for name in names]
        report = Report("pipeline", quick=quick, server=server, expects=expects)
        bars = {"archive": at_least(10e6), "reconciliation": at_least(15e6)}
        for size in sizes:
            for name in names:
                rate = series[f"{size:,}"][f"{name} rate"]
                report.add(f"{name} of {size:,} transitions", rate, "/min", bar=bars[name])
        for small, large in pairwise(sizes):
            for name in names:
                figure = f"{name} of {large:,} over {small:,}"
                report.compare(figure, series[f"{large:,}"][name], series[f"{small:,}"][name], bar=at_most(2.2))
        report.finish()
