"""The pipeline: transitions archived and reconciled a minute, start-up excluded, and how both grow with their number.

The journals are written as the engine writes them (sends, then takes and acks as a worker makes them); a second durable
reader keeps them while they are archived again and again, each time into a new archive, of which each is then
reconciled once, from its first event. A small run warms up the Java virtual machine first.
"""

from __future__ import annotations

import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import PrivateRedis, Report, Series, at_least, at_most, repeats_for
from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.journal import reader, trimmer
from rmq_core.model.topic import Journal
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.session import open_session
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.protocol.takes import Ack, cycle, read_cycle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = (2_000_000, 4_000_000, 8_000_000, 16_000_000)
QUICK = (200_000, 400_000)
WARM_UP = 100_000
PER_MESSAGE = 3  # sent, taken, acked
SLOTS = 8
TAKE = 125
JOBS = {"archive": at_least(20e6), "reconciliation": at_least(20e6)}
DRIVER_MIB = 2_048


def fill(client: RMQ, transitions: int) -> None:
    """So many transitions in the journals of one topic; a tenth of the messages still waits."""
    messages = transitions // PER_MESSAGE
    topic = client.define(Topic("work", TopicKind.PRIORITY, slots=SLOTS, journal=Journal.EVENTS, journal_max=0))
    client.run(reader.register(client.keyspace, topic, "bench"))
    client.send_many("work", (PriorityMessage(f"message-{i:08d}", priority=17 + i % 100) for i in range(messages)))
    left = messages * 9 // 10
    taken: dict[int, list[Ack]] = {slot: [] for slot in range(SLOTS)}
    while left > 0 or any(taken.values()):
        most = TAKE if left > 0 else 0
        requests = [cycle(client.keyspace, topic, slot, most, acks=acks) for slot, acks in taken.items()]
        for slot, reply in enumerate(client.connection.run(requests)):
            found = read_cycle(topic, slot, reply).deliveries
            taken[slot] = [Ack(each.raw_id, each.receipt) for each in found]
            left -= len(found)


def measure(session: SparkSession, server: PrivateRedis, transitions: int, repeats: int) -> dict[str, list[float]]:
    """Of both jobs the seconds of each turn, and how many transitions there were."""
    server.flush()
    found: dict[str, list[float]] = {"archive": [], "reconciliation": []}
    options = SourceOptions(server.url, "bench", ())
    with tempfile.TemporaryDirectory() as folder, RMQ(server.url, "bench") as client:
        fill(client, transitions)
        for turn in range(repeats):
            started = time.perf_counter()
            rows = archive(session, options, f"{folder}/archive-{turn}", compacting=False).rows
            found["archive"].append(time.perf_counter() - started)
        topic = client.topic("work")
        client.run(reader.forget(client.keyspace, topic, "bench"))
        client.run(trimmer.trim(client.keyspace, topic))
        for turn in range(repeats):  # each archive once: it keeps a closing state for the next run
            started = time.perf_counter()
            inputs = Inputs(options, f"{folder}/archive-{turn}", f"{folder}/reports")
            summary = reconcile(session, inputs)
            found["reconciliation"].append(time.perf_counter() - started)
            if summary["counts"]:
                raise RuntimeError(f"a clean run has findings: {summary['counts']}")
    return found | {"rows": [float(rows)]}


def driver_mib(session: Any) -> float:
    """The most memory that Spark's process has had so far."""
    runtime = session.sparkContext._jvm.java.lang.ProcessHandle.current()
    status = Path(f"/proc/{runtime.pid()}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main(quick: bool) -> None:
    sizes, repeats = QUICK if quick else SIZES, repeats_for(quick)
    seconds: dict[tuple[str, int], Series] = {}
    memory: dict[int, float] = {}
    expects = [f"{name} of {size:,} transitions" for size in sizes for name in JOBS]
    expects += [f"driver's memory after {size:,}" for size in sizes]
    with PrivateRedis() as server:
        report = Report("pipeline", quick=quick, server=server, expects=expects)
        session = open_session("benchmark", settings={"spark.sql.shuffle.partitions": "4"})
        try:
            measure(session, server, WARM_UP, 1)
            for size in sizes:
                measured = measure(session, server, size, repeats)
                for name, bar in JOBS.items():
                    seconds[name, size] = Series(tuple(measured[name]))
                    rates = Series(tuple(measured["rows"][0] / spent * 60 for spent in measured[name]))
                    report.add(f"{name} of {size:,} transitions", rates, "/min", bar=bar)
                memory[size] = driver_mib(session)
        finally:
            session.stop()
        for small, large in pairwise(sizes):
            for name in JOBS:
                figure = f"{name} of {large:,} over {small:,}"
                report.compare(figure, seconds[name, large], seconds[name, small], bar=at_most(2.2))
        for size, used in memory.items():
            report.add(f"driver's memory after {size:,}", Series((used,) * repeats), "MiB", bar=at_most(DRIVER_MIB))
        report.finish()
