"""A reconciliation on top of a closing state: what is new beside little and beside much that is archived.

The archive's past is written by Spark, as the archive writes it: the journals of a server that was lost later, when all
its messages were done. Then messages are sent that stay open, the books are closed, and each turn others are sent,
taken and acknowledged, archived, and reconciled.
"""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from benchmarks.bench_pipeline import PER_MESSAGE, SLOTS, TAKE, driver_mib
from benchmarks.harness import PrivateRedis, Report, Series, at_most, repeats_for
from rmq_core import RMQ, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.schemas import EVENTS
from rmq_core.pipeline.session import open_session
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.protocol.takes import Ack, cycle, read_cycle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORIES, OPEN, NEW = (1_000_000, 100_000_000), 1_000_000, 1_000_000
QUICK_HISTORIES, QUICK_OPEN, QUICK_NEW = (100_000, 1_000_000), 20_000, 20_000
AN_ENTRY = 100
"""So many messages in an entry of the past."""
PRIORITY = 20


def write_past(session: SparkSession, events: str, transitions: int) -> None:
    """So many transitions of yesterday, sent, taken and acked, into the first batch of an archive."""
    from pyspark.sql import functions as F

    in_slot = transitions // PER_MESSAGE // SLOTS // AN_ENTRY * AN_ENTRY
    day = datetime.now(UTC) - timedelta(days=1)
    began_ms = int(day.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000)
    each = session.range(0, in_slot * SLOTS).select(
        (F.col("id") % SLOTS).cast("int").alias("slot"), F.floor(F.col("id") / SLOTS).alias("k")
    )
    steps = F.explode(F.array(*(F.lit(number) for number in range(PER_MESSAGE)))).alias("step")
    rows = each.select("*", steps).withColumn("n", F.floor(F.col("k") / AN_ENTRY) * PER_MESSAGE + F.col("step") + 1)
    ms = F.lit(began_ms) + F.col("n")

    def one_of(*values: Any) -> Any:
        return F.get(F.array(*(F.lit(value) for value in values)), F.col("step").cast("int"))

    known = {
        "topic": F.lit("work"),
        "date": F.lit(day.strftime("%Y-%m-%d")),
        "slot": F.col("slot"),
        "entry": F.concat(ms.cast("string"), F.lit("-0")),
        "position": F.shiftleft(ms, SEQUENCE_BITS),
        "n": F.col("n"),
        "seq": (F.col("k") % AN_ENTRY).cast("int"),
        "at": F.timestamp_millis(ms),
        "event": one_of("sent", "taken", "acked"),
        "origin": one_of("n", "s", "p"),
        "target": one_of("s", "p", "-"),
        "id": F.encode(F.concat(F.lit("past-"), F.col("slot"), F.lit("-"), F.col("k")), "utf-8"),
        "score": one_of(PRIORITY, None, None).cast("long"),
        "priority": one_of(PRIORITY, None, None).cast("long"),
        "size": F.lit(AN_ENTRY),
        "says": F.lit(False),
    }
    columns = [known.get(name, F.lit(None)).cast(spark).alias(name) for name, spark, _ in EVENTS]
    ordered = rows.repartition("slot").sortWithinPartitions("slot", "n", "k").select(*columns)
    written = ordered.withColumn("batch", F.lit("000000000000")).write.mode("append")
    written.option("maxRecordsPerFile", 5_000_000).partitionBy("topic", "date", "batch").parquet(events)


def work(client: RMQ, topic: Topic, transitions: int, turn: int) -> None:
    """So many transitions of messages that are sent, taken and done."""
    messages = transitions // PER_MESSAGE
    client.send_many("work", (PriorityMessage(f"new-{turn}-{i:08d}", priority=PRIORITY) for i in range(messages)))
    left, taken = messages, dict[int, list[Ack]]({slot: [] for slot in range(SLOTS)})
    while left > 0 or any(taken.values()):
        most = TAKE if left > 0 else 0
        requests = [cycle(client.keyspace, topic, slot, most, acks=acks) for slot, acks in taken.items()]
        for slot, reply in enumerate(client.connection.run(requests)):
            found = read_cycle(topic, slot, reply).deliveries
            taken[slot] = [Ack(each.raw_id, each.receipt) for each in found]
            left -= len(found)


def measure(session: SparkSession, server: PrivateRedis, sizes: tuple[int, int, int], repeats: int) -> dict[str, Any]:
    """Seconds from scratch, of each turn, and of one with nothing new."""
    history, waiting, new = sizes
    server.flush()
    options = SourceOptions(server.url, "bench", (), SLOTS // 4)
    with tempfile.TemporaryDirectory() as folder, RMQ(server.url, "bench") as client:
        inputs = Inputs(options, f"{folder}/archive", f"{folder}/reports")
        work_of, _ = (
            client.define(Topic(name, TopicKind.PRIORITY, slots=SLOTS, journal=Journal.EVENTS, journal_max=0))
            for name in ("work", "open")
        )

        def reconciled() -> float:
            started = time.perf_counter()
            summary = reconcile(session, inputs)
            if summary["counts"]:
                raise RuntimeError(f"a clean run has findings: {summary['counts']}")
            print(f"  {summary['read']}", flush=True)
            return time.perf_counter() - started

        archive(session, options, f"{folder}/archive", compacting=False)
        write_past(session, f"{folder}/archive/events", history)
        client.send_many("open", (PriorityMessage(f"open-{i:08d}", priority=PRIORITY) for i in range(waiting)))
        archive(session, options, f"{folder}/archive", compacting=False)
        found: dict[str, Any] = {"scratch": reconciled(), "news": [], "nothing": []}
        for turn in range(repeats):
            work(client, work_of, new, turn)
            archive(session, options, f"{folder}/archive", compacting=False)
            found["news"].append(reconciled())
            found["nothing"].append(reconciled())
    return found


def main(quick: bool) -> None:
    sizes, waiting, new = (QUICK_HISTORIES, QUICK_OPEN, QUICK_NEW) if quick else (HISTORIES, OPEN, NEW)
    repeats = repeats_for(quick)

    def news(size: int) -> str:
        return f"{new:,} new beside {size:,}"

    expects = [
        name for size in sizes for name in (f"from scratch, {size:,}", news(size), f"nothing new beside {size:,}")
    ]
    with PrivateRedis() as server:
        report = Report("increments", quick=quick, server=server, expects=[*expects, "driver's memory"])
        session = open_session("benchmark", settings={"spark.sql.shuffle.partitions": "4"})
        try:
            measure(session, server, (30_000, 1_000, 3_000), 1)
            seconds = {}
            for size in sizes:
                found = measure(session, server, (size, waiting, new), repeats)
                seconds[size] = Series(tuple(found["news"]))
                report.add(f"from scratch, {size:,}", Series((found["scratch"],)), "s")
                report.add(news(size), seconds[size], "s")
                report.add(f"nothing new beside {size:,}", Series(tuple(found["nothing"])), "s")
            report.add("driver's memory", Series((driver_mib(session),)), "MiB", bar=at_most(3_072))
        finally:
            session.stop()
        small, large = sizes
        report.compare(f"{news(large)} over {small:,}", seconds[large], seconds[small], bar=at_most(1.3))
        report.finish()
