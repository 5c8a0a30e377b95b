"""Did every message do what it should? Archive and journals × live queues × the business's ledger → a report."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.model.topic import Journal, Topic
from rmq_core.pipeline import business as of_business
from rmq_core.pipeline import data_set, figures, gaps, positions, repair_data, report, verdicts
from rmq_core.pipeline.archived import Archive, without_deleted
from rmq_core.pipeline.business import Ledger
from rmq_core.pipeline.confirm import confirmed
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.replay import SLOT, accounts, replay, slots, with_lives
from rmq_core.pipeline.sentences import plain_errors, with_retries
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.journal import JournalSource
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.queues import QueuesSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES = ("snapshot", "journals", "replay", "findings", "report")


@dataclass(frozen=True)
class Inputs:
    """What a reconciliation compares. ``stuck_ms``, ``overdue_ms``: how late a delivery may be before that counts.
    ``since_ms``, ``until_ms``: the time the ledger speaks of, where it does not say so itself."""

    options: SourceOptions
    archive: str | None
    reports: str
    ledger: str | None = None
    run: str = ""
    stuck_ms: int = verdicts.STUCK_MS
    overdue_ms: int = verdicts.OVERDUE_MS
    since_ms: int | None = None
    until_ms: int | None = None


def reconcile(session: SparkSession, inputs: Inputs, progress: Progress = QUIET) -> dict[str, Any]:
    """Writes a report below ``inputs.reports`` and returns its summary. Raises `PipelineError`."""
    started_ms = int(time.time() * 1000)
    run = inputs.run or time.strftime("%Y%m%dT%H%M%S-", time.gmtime()) + uuid.uuid4().hex[:6]
    for source in (QueuesSource, JournalSource):
        session.dataSource.register(source)
    with plain_errors("the reconciliation stopped"):
        # Started again it looks at everything again, and writes over what it had written.
        return with_retries(lambda: _reconcile(session, inputs, progress, run, started_ms))


def _reconcile(session: SparkSession, inputs: Inputs, progress: Progress, run: str, started_ms: int) -> dict[str, Any]:
    everything = inputs.options.definitions()
    if not everything:
        raise PipelineError(f"no topic is defined in the namespace {inputs.options.namespace!r}")
    topics = [topic for topic in everything if not topic.is_stream]
    streams = [topic.name for topic in everything if topic.is_stream]
    if not topics:
        raise PipelineError(f"streams are not judged: there is nothing else among the topics ({', '.join(streams)})")
    if inputs.archive:
        data_set.check(inputs.options, Archive(session, inputs.archive))
    names = [topic.name for topic in topics]
    kept = StoredTables(session, f"{inputs.reports}/{run}/work")
    ledger = None
    if inputs.ledger:  # before anything else: what is promised later has not been sent yet
        ledger = _ledger(session, inputs, names, kept)
    with progress.stage("snapshot", session):
        snapshot = kept.write("snapshot", load(session, inputs.options, "rmq_queues"))
    with progress.stage("journals", session):
        journal = kept.write("journal", load(session, inputs.options, "rmq_journal"))
        archive = Archive(session, inputs.archive) if inputs.archive else None
        events = together(archive, journal, inputs.options.deletions())
        events = events.where(events.topic.isin(names))
        committed = positions.committed(inputs.options, topics, inputs.archive)
        readers = small(session, committed, gaps.READERS)
        reached = small(session, archive.reached() if archive else [], gaps.REACHED)
    with progress.stage("replay", session):
        suspected = findings(session, snapshot, events, topics, inputs, ledger, kept, readers, reached)
        suspected = kept.write("findings", suspected)
    with progress.stage("findings", session):
        written = report.write_findings(confirmed(suspected, inputs.options), f"{inputs.reports}/{run}")
    with progress.stage("report", session):
        counts = figures.held_by_slots(kept.read("slot_ledgers"))
        table = figures.topics(kept.read("accounts"), kept.read("messages"), events, counts)
        report.write_topics(table, f"{inputs.reports}/{run}")
        described = _described(inputs, names, ledger) | {"streams_not_judged": streams}
        return report.summarize(session, inputs.reports, run, started_ms, written, described, kept.folder)


def _ledger(session: SparkSession, inputs: Inputs, names: list[str], kept: StoredTables) -> Ledger:
    assert inputs.ledger
    defined = [topic.name for topic in replace(inputs.options, topics=()).definitions()]
    found = of_business.read_ledger(session, inputs.ledger, names, defined)
    since = found.since_ms if inputs.since_ms is None else inputs.since_ms
    until = found.until_ms if inputs.until_ms is None else inputs.until_ms
    return replace(found, rows=kept.write("ledger", found.rows), since_ms=since, until_ms=until)


@dataclass
class StoredTables:
    """Tables in between, recorded once: whoever looks twice must see the same, and need not wait again."""

    session: SparkSession
    folder: str

    def write(self, name: str, frame: DataFrame) -> DataFrame:
        """Computes and stores a table; gives it back as stored."""
        frame.write.mode("overwrite").parquet(f"{self.folder}/{name}")
        return self.session.read.schema(frame.schema).parquet(f"{self.folder}/{name}")

    def read(self, name: str) -> DataFrame:
        """A table that was stored."""
        return self.session.read.parquet(f"{self.folder}/{name}")


def load(session: SparkSession, options: SourceOptions, source: str) -> DataFrame:
    """A batch read of one of our sources."""
    reader = session.read.format(source).option("url", options.url).option("namespace", options.namespace)
    reader = reader.option("topics", ",".join(options.topics))
    return reader.option("slots_per_partition", str(options.slots_per_partition)).load()


def together(archive: Archive | None, journal: DataFrame, deletions: dict[str, int] | None = None) -> DataFrame:
    """What is archived, and what the journals hold behind that. ``journal`` must have been read first.

    ``vouched``: whether the archive must hold it. ``deletions``: what a topic had before it was deleted is not its.
    """
    from pyspark.sql import functions as F

    if archive is None:
        return without_deleted(journal, deletions or {}).withColumn("vouched", F.lit(False))
    known = archive.deletions()
    gone = known | {name: max(at_ms, known.get(name, -1)) for name, at_ms in (deletions or {}).items()}
    reached = small(archive.session, archive.reached(), gaps.REACHED)
    fresh = journal.join(F.broadcast(reached), [*SLOT], "left").where("reached IS NULL OR position > reached")
    archived = archive.read().join(F.broadcast(reached), [*SLOT], "left")
    vouched = (F.col("n") >= F.col("since")) & (F.col("n") <= F.col("reached_n"))
    both = archived.withColumn("vouched", F.coalesce(vouched, F.lit(False))).unionByName(
        fresh.withColumn("vouched", F.lit(False))
    )
    return without_deleted(both.drop("reached", "reached_n", "since"), gone)


def findings(
    session: SparkSession,
    snapshot: DataFrame,
    events: DataFrame,
    topics: list[Topic],
    inputs: Inputs,
    ledger: Ledger | None,
    kept: StoredTables,
    readers: DataFrame | None = None,
    reached: DataFrame | None = None,
) -> DataFrame:
    """Every finding, unconfirmed. ``readers``, ``reached``: see `gaps`.

    Stores ``slot_ledgers``, ``accounts``, ``messages`` and ``suspects``.
    """
    from pyspark.sql import functions as F

    defined = small(
        session,
        [
            (topic.name, topic.kind.value, topic.journal.value, topic.visibility_timeout_ms, topic.paused)
            for topic in topics
        ],
        "topic string, kind string, journal string, visibility_timeout_ms long, paused boolean",
    )
    slot_ledgers = kept.write("slot_ledgers", verdicts.slot_ledgers(snapshot))
    lively = with_lives(events)
    known = slots(kept.write("accounts", accounts(lively)))
    holes = kept.write("holes", gaps.forked(lively, gaps.holes(known, slot_ledgers, readers, reached)))
    whole = (
        known.where("complete")
        .join(slot_ledgers, [*SLOT])
        .join(holes, [*SLOT], "left_anti")
        .select(*SLOT, "life", "lost_lives", "begin", "end")
    )
    until = lively.join(F.broadcast(whole.select(*SLOT, "end")), [*SLOT], "left")
    judged = until.where("end IS NULL OR position <= end")
    messages = kept.write("messages", replay(judged, snapshot))
    suspects = verdicts.suspicious(messages, whole, defined, inputs.stuck_ms, inputs.overdue_ms)
    suspects = kept.write("suspects", suspects)
    several = [
        verdicts.misplaced(suspects),
        verdicts.impossible(suspects),
        verdicts.orphans(suspects),
        verdicts.stuck(suspects),
        verdicts.overdue(suspects),
        verdicts.ledgers(slot_ledgers, suspects),
    ]
    if ledger is not None:
        silent = [topic.name for topic in topics if topic.journal is Journal.OFF]
        named = ledger.rows.where(F.col("topic").isin(silent)).select("topic").distinct().collect()
        holes = holes.union(gaps.without_journal(session, [row.topic for row in named]))
        here = messages.where(verdicts.in_a_queue())
        misplaced = suspects.where("misplaced IS NOT NULL")
        several.append(of_business.business(ledger, events, here, holes, misplaced))
    several.append(gaps.findings(holes))
    result = several[0]
    for more in several[1:]:
        result = result.union(more)
    kinds = {topic.name: topic.timed for topic in topics}
    return repair_data.attached(kept.write("bare_findings", result), suspects, judged, kinds)


def _described(inputs: Inputs, names: list[str], ledger: Ledger | None) -> dict[str, Any]:
    return {
        "namespace": inputs.options.namespace,
        "topics": names,
        "archive": inputs.archive,
        "ledger": inputs.ledger and of_business.shown(inputs.ledger),
        "of_ledger": ledger and ledger.as_json(),
        "stuck_ms": inputs.stuck_ms,
        "overdue_ms": inputs.overdue_ms,
    }
