"""Journals → Parquet: a Structured Streaming job that neither loses nor doubles anything.

A micro-batch overwrites folders of its own number, so one that was killed half-way is written again, equal, from the
offsets in the checkpoint; readers look only at batches whose commit is in the checkpoint. Only behind those the
journals are trimmed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline import positions
from rmq_core.pipeline.archived import DIGITS, Archive, batch_name
from rmq_core.pipeline.compaction import compact
from rmq_core.pipeline.files import folders, remove, seen_here
from rmq_core.pipeline.lock import ArchiveLock
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.schemas import EVENTS, ddl
from rmq_core.pipeline.session import plain_errors
from rmq_core.pipeline.sources.journal import NAME, JournalSource
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.topic import Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES = ("archive", "compact")
LOOK_S = 1
STAGING = ".spark-staging-"
"""Where Spark writes until a batch is whole; one that is there before this job begins is of a job that was killed."""
ATTEMPTS = 3
NOT_THERE = "No module named 'rmq_core'"
WHERE_STREAMS_ARE = (
    "in the Python of the Spark Connect server, which takes it for streams from nobody else: install rmq-console there,"
    " or archive with SPARK_MASTER or spark-submit"
)
WORKER_LATE = "Python worker failed to connect back"


@dataclass(frozen=True)
class Archived:
    """What a run did: transitions written, micro-batches, journal entries trimmed, folders compacted."""

    rows: int
    batches: int
    trimmed: int
    compacted: int


def archive(
    session: SparkSession,
    options: SourceOptions,
    path: str,
    *,
    every_s: float | None = None,
    compacting: bool = True,
    progress: Progress = QUIET,
) -> Archived:
    """Brings what the journals hold into the archive at ``path``; returns what it did.

    ``every_s``: goes on for ever, a micro-batch each so many seconds, until interrupted. Raises `PipelineError`,
    also while another archive job of the namespace runs.
    """
    session.dataSource.register(JournalSource)
    kept = Archive(session, path)
    with ArchiveLock(options) as lock, plain_errors("the archive stopped"):
        known = {topic.name: topic for topic in kept.definitions()}
        positions.register(options)
        _keep_definitions(kept, options, known)
        _sweep(kept)
        done, before = {"rows": 0, "batches": 0}, kept.last_committed()
        with progress.stage("archive", session):
            for attempt in range(ATTEMPTS):
                try:
                    _run(session, options, kept, lock, every_s, known, done)
                    break
                except Exception as error:
                    if NOT_THERE in str(error):
                        raise PipelineError(f"the archive stopped: {NOT_THERE} {WHERE_STREAMS_ARE}") from error
                    # Spark gives a Python worker ten seconds to start, which a busy machine may not have.
                    if WORKER_LATE not in str(error) or attempt == ATTEMPTS - 1:
                        raise
        if not hasattr(session, "_jsparkSession"):
            done = _written_behind(kept, before)
        trimmed = positions.move(options, kept.committed_offsets())
        with progress.stage("compact", session):
            compacted = compact(kept) if compacting else 0
    return Archived(done["rows"], done["batches"], trimmed, compacted)


def _keep_definitions(kept: Archive, options: SourceOptions, known: dict[str, Topic]) -> None:
    """Whoever restores into an empty server needs to know how the topics were defined."""
    current = {topic.name: topic for topic in options.definitions()}
    if known | current != known:
        kept.keep_definitions(list((known | current).values()))
        positions.register(options)
        known |= current


def _sweep(kept: Archive) -> None:
    """Removes what a job that was killed has left; nothing over Spark Connect: it cannot delete folders."""
    if seen_here(kept.session):
        for name in folders(kept.session, kept.events):
            if name.startswith(STAGING):
                remove(kept.session, f"{kept.events}/{name}")


def _run(
    session: SparkSession,
    options: SourceOptions,
    kept: Archive,
    lock: ArchiveLock,
    every_s: float | None,
    known: dict[str, Topic],
    done: dict[str, int],
) -> None:
    stream = session.readStream.format(NAME)
    for name, value in {
        "url": options.url,
        "namespace": options.namespace,
        "topics": ",".join(options.topics),
        "slots_per_partition": str(options.slots_per_partition),
    }.items():
        stream = stream.option(name, value)

    writer = stream.load().writeStream.foreachBatch(batch_writer(kept.events))
    writer = writer.option("checkpointLocation", kept.checkpoint)
    triggered = (
        writer.trigger(availableNow=True) if every_s is None else writer.trigger(processingTime=f"{every_s} seconds")
    )
    query = triggered.start()
    seen: set[int] = set()
    try:
        while not query.awaitTermination(LOOK_S):
            _count(query.recentProgress, seen, done)
            _keep_definitions(kept, options, known)  # who goes on for ever meets topics that are new
            if lock.lost.is_set():
                raise PipelineError("the archive's lock went to another job; this one stopped, nothing is lost")
    finally:
        query.stop()
    _count(query.recentProgress, seen, done)


def batch_writer(events: str) -> Callable[[DataFrame, int], None]:
    """What writes one micro-batch; again gives the same.

    Spark Connect runs it in a process of its own, which has none of our modules: it must need none.
    """
    digits = DIGITS

    def write(batch: DataFrame, number: int) -> None:
        from pyspark.sql import functions as F

        named = batch.withColumn("batch", F.lit(f"{number:0{digits}d}"))
        named.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy(
            "topic", "date", "batch"
        ).parquet(events)

    return write


def _count(reports: Any, seen: set[int], done: dict[str, int]) -> None:
    for report in reports:
        if report["numInputRows"] and report["batchId"] not in seen:
            seen.add(report["batchId"])
            done["rows"] += report["numInputRows"]
            done["batches"] += 1


def _written_behind(kept: Archive, before: int | None) -> dict[str, int]:
    """Counts the batches behind ``before``: over Spark Connect a query's progress does not say what they hold."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    last = kept.last_committed()
    if last is None or last == before:
        return {"rows": 0, "batches": 0}
    events = kept.session.read.schema(f"{ddl(EVENTS)}, batch string").parquet(kept.events)
    new = (F.col("batch") <= batch_name(last)) & (F.col("batch") > batch_name(-1 if before is None else before))
    try:
        counts = events.where(new & ~F.col("batch").contains("-")).groupBy("batch").count().collect()
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):  # nothing was ever written
            return {"rows": 0, "batches": 0}
        raise
    return {"rows": sum(row["count"] for row in counts), "batches": len(counts)}
