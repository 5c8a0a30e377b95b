"""Did every message do what it should? Archive and journals × live queues × the business's ledger → a report."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline import business as of_business
from rmq_core.pipeline import figures, gaps, positions, report, verdicts
from rmq_core.pipeline.archived import Archive
from rmq_core.pipeline.confirm import confirmed
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.replay import SLOT, replay, slots, with_lives
from rmq_core.pipeline.session import plain_errors
from rmq_core.pipeline.sources.journal import JournalSource
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.queues import QueuesSource
from rmq_core.topic import Journal, Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES = ("snapshot", "journals", "replay", "findings", "report")


@dataclass(frozen=True)
class Inputs:
    """What a reconciliation compares. ``grace``: ms a delivery may be late before it counts as stuck, or overdue."""

    options: SourceOptions
    archive: str | None
    reports: str
    ledger: str | None = None
    run: str = ""
    stuck_ms: int = verdicts.STUCK_MS
    overdue_ms: int = verdicts.OVERDUE_MS


def reconcile(session: SparkSession, inputs: Inputs, progress: Progress = QUIET) -> dict[str, Any]:
    """Writes a report below ``inputs.reports`` and returns its summary. Raises `PipelineError`."""
    started_ms = int(time.time() * 1000)
    run = inputs.run or time.strftime("%Y%m%dT%H%M%S-", time.gmtime()) + uuid.uuid4().hex[:6]
    for source in (QueuesSource, JournalSource):
        session.dataSource.register(source)
    with plain_errors("the reconciliation stopped"):
        topics = inputs.options.definitions()
        if not topics:
            raise PipelineError(f"no topic is defined in the namespace {inputs.options.namespace!r}")
        names = [topic.name for topic in topics]
        work = f"{inputs.reports}/{run}/work"
        ledger = None
        if inputs.ledger:  # before anything else: what is promised later has not been sent yet
            ledger = _kept(session, of_business.read_ledger(session, inputs.ledger, names), f"{work}/ledger")
        with progress.stage("snapshot", session):
            snapshot = _kept(session, load(session, inputs.options, "rmq_queues"), f"{work}/snapshot")
        with progress.stage("journals", session):
            journal = _kept(session, load(session, inputs.options, "rmq_journal"), f"{work}/journal")
            events = together(Archive(session, inputs.archive).read() if inputs.archive else None, journal)
            events = events.where(events.topic.isin(names))
            committed = positions.committed(inputs.options, topics, archive=inputs.archive is not None)
            readers = session.createDataFrame(committed, gaps.READERS)
        with progress.stage("replay", session):
            found = findings(session, snapshot, events, topics, inputs, ledger, work, readers)
        with progress.stage("findings", session):
            kept = report.write_findings(confirmed(found, inputs.options), f"{inputs.reports}/{run}")
        with progress.stage("report", session):
            counts = figures.held_now(verdicts.slot_books(snapshot))
            report.write_topics(figures.topics(events, counts), f"{inputs.reports}/{run}")
            return report.summarize(session, inputs.reports, run, started_ms, kept, _told(inputs, names), work)


def load(session: SparkSession, options: SourceOptions, source: str) -> DataFrame:
    """A batch read of one of our sources."""
    reader = session.read.format(source).option("url", options.url).option("namespace", options.namespace)
    reader = reader.option("topics", ",".join(options.topics))
    return reader.option("slots_per_partition", str(options.slots_per_partition)).load()


def _kept(session: SparkSession, frame: DataFrame, path: str) -> DataFrame:
    """Written down once: whoever looks twice must see the same."""
    frame.write.mode("overwrite").parquet(path)
    return session.read.schema(frame.schema).parquet(path)


def together(archived: DataFrame | None, journal: DataFrame) -> DataFrame:
    """What is archived, and what the journals hold behind that. ``journal`` must have been read first."""
    from pyspark.sql import functions as F

    if archived is None:
        return journal
    reached = archived.groupBy(*SLOT).agg(F.max("position").alias("reached"))
    fresh = journal.join(F.broadcast(reached), [*SLOT], "left").where("reached IS NULL OR position > reached")
    return archived.unionByName(fresh.drop("reached"))


def findings(
    session: SparkSession,
    snapshot: DataFrame,
    events: DataFrame,
    topics: list[Topic],
    inputs: Inputs,
    ledger: DataFrame | None,
    work: str,
    readers: DataFrame | None = None,
) -> DataFrame:
    """Every finding, unconfirmed. ``readers``: see `gaps.READERS`."""
    from pyspark.sql import functions as F

    defined = session.createDataFrame(
        [(topic.name, topic.kind.value, topic.visibility_timeout_ms, topic.paused) for topic in topics],
        "topic string, kind string, visibility_timeout_ms long, paused boolean",
    )
    books = _kept(session, verdicts.slot_books(snapshot), f"{work}/books")
    lively = with_lives(events)
    known = _kept(session, slots(lively), f"{work}/slots")
    here = verdicts.places(snapshot)
    holes = gaps.holes(known, books, readers)
    whole = (
        known.where("complete")
        .join(books, [*SLOT])
        .join(holes, [*SLOT], "left_anti")
        .select(*SLOT, "life", "wiped", "begin", "end")
    )
    judged = lively.join(F.broadcast(whole.select(*SLOT, "end")), [*SLOT]).where("position <= end").drop("end")
    replayed = _kept(session, replay(judged), f"{work}/replay")
    several = [
        verdicts.compare(replayed, here, whole),
        verdicts.impossible(replayed),
        verdicts.orphans(here),
        verdicts.stuck(here, defined, inputs.stuck_ms),
        verdicts.overdue(here, defined, inputs.overdue_ms),
        verdicts.ledgers(books),
    ]
    if ledger is not None:
        silent = [topic.name for topic in topics if topic.journal is Journal.OFF]
        named = ledger.where(F.col("topic").isin(silent)).select("topic").distinct().collect()
        holes = holes.union(gaps.without_journal(session, [row.topic for row in named]))
        several.append(of_business.business(ledger, events, here.where(verdicts.held()), holes))
    several.append(gaps.told(holes))
    result = several[0]
    for more in several[1:]:
        result = result.union(more)
    return result


def _told(inputs: Inputs, names: list[str]) -> dict[str, Any]:
    return {
        "namespace": inputs.options.namespace,
        "topics": names,
        "archive": inputs.archive,
        "ledger": inputs.ledger and inputs.ledger.partition("?")[0],
        "stuck_ms": inputs.stuck_ms,
        "overdue_ms": inputs.overdue_ms,
    }
