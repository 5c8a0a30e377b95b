"""Journals → Parquet: a job that neither loses nor doubles anything.

A batch that was killed half-way is written again, equal, from the offsets in the checkpoint, in place of what was left
of it; readers look only at batches whose commit is in the checkpoint. Only behind those the journals are trimmed. Over
Spark Connect, where this process does not see the checkpoint, a stream of Spark's writes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.model.topic import Topic
from rmq_core.pipeline.archive import data_set, notes, positions
from rmq_core.pipeline.archive.archived import DIGITS, Archive, batch_name
from rmq_core.pipeline.archive.batches import write_batches
from rmq_core.pipeline.archive.compaction import compact
from rmq_core.pipeline.archive.lock import LOST, ArchiveLock
from rmq_core.pipeline.archive.staging import staging, sweep
from rmq_core.pipeline.files import literally, seen_here
from rmq_core.pipeline.jobs import retention
from rmq_core.pipeline.jobs.begun_erasures import try_to_end
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.schemas import EVENTS, ddl
from rmq_core.pipeline.sentences import plain_errors, text_of, with_retries
from rmq_core.pipeline.sources.decoding import position_of
from rmq_core.pipeline.sources.journal import NAME, JournalSource, newest
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state import versions
from rmq_core.pipeline.state.closing import FORMAT as OF_STATES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES = ("archive", "compact")
LOOK_S = 1
ENTRIES_AT_ONCE = 2_000_000
"""A batch of so many journal entries at most, some seconds' work: what a job that is killed does again."""
COMPACT_EVERY = 20
"""Batches after which an archive that goes on for ever looks for small files."""
COMPACT_WITHIN_S = 3_600.0
"""It does so as often, too, where nothing comes: days grow old, and what was replaced long enough ago is to go."""
TRIM_WITHIN_S = 10.0
"""So often it trims where nothing comes: what could not go before (something was restored, another reader was behind)
may be what keeps anything from coming."""
NOT_THERE = "No module named 'rmq_core'"
WHERE_STREAMS_ARE = (
    "in the Python of the Spark Connect server, which takes it for streams from nobody else: install rmq-console there,"
    " or archive with SPARK_MASTER or spark-submit"
)


@dataclass(frozen=True)
class Archived:
    """What a run did: transitions written, batches, journal entries trimmed, folders compacted; transitions
    forgotten, for their topic wants them no longer, and that by topic (of one that goes on, of its last look)."""

    rows: int
    batches: int
    trimmed: int
    compacted: int
    forgotten: int = 0
    let_go: tuple[retention.Forgotten, ...] = ()


def archive(
    session: SparkSession,
    options: SourceOptions,
    path: str,
    *,
    every_ms: int | None = None,
    compacting: bool = True,
    progress: Progress = QUIET,
) -> Archived:
    """Brings what the journals hold into the archive at ``path``; returns what it did.

    ``every_ms``: goes on for ever, with a look each so often, until interrupted. Raises `PipelineError`,
    also while another archive job of the namespace runs, and where the archive holds another data set.
    """
    session.dataSource.register(JournalSource)
    kept = Archive(session, path)
    with ArchiveLock(options) as lock, plain_errors("the archive stopped"):
        run = _Run(session, options, kept, lock, every_ms, compacting)
        run.begin()
        with progress.stage("archive", session) as step:
            try:
                with_retries(run.go)
            except Exception as error:
                if NOT_THERE in text_of(error):
                    raise PipelineError(f"the archive stopped: {NOT_THERE} {WHERE_STREAMS_ARE}") from error
                raise
            done = run.done if seen_here(session) else _written_behind(kept, run.before)
            step.rows = done["rows"]
        run.move()
        with progress.stage("compact", session):
            run.compact()
    return Archived(done["rows"], done["batches"], run.trimmed, run.compacted, run.forgotten, run.let_go)


class _Run:
    """One job, from its first look to its last batch."""

    def __init__(
        self,
        session: SparkSession,
        options: SourceOptions,
        kept: Archive,
        lock: ArchiveLock,
        every_ms: int | None,
        compacting: bool,
    ) -> None:
        self.session, self.options, self.kept, self.lock = session, options, kept, lock
        self.every_ms, self.compacting = every_ms, compacting
        self.done = {"rows": 0, "batches": 0}
        self.trimmed = self.compacted = self.forgotten = 0
        self.let_go: tuple[retention.Forgotten, ...] = ()
        self.before = kept.last_committed()
        self._moved_to = self.before
        self._compacted_at = self._reported = 0
        self._compacted_s = self._trimmed_s = time.monotonic()
        self._known: dict[str, Topic] = {}
        self._gone: dict[str, int] = {}
        self.data_set = ""

    def begin(self) -> None:
        """Holds the journals back before anything is read; those of another data set it leaves alone."""
        self.data_set = data_set.claim(self.options, self.kept)
        self._known = {topic.name: topic for topic in self.kept.definitions()}
        self._gone = self.kept.deletions()
        self._check_checkpoint()
        self._register()
        self._keep_definitions()
        sweep(self.kept)
        try_to_end(self.kept, self.options.namespace)

    def _check_checkpoint(self) -> None:
        """Where it was put back from a backup, batches would be written over that no journal holds any more."""
        behind = positions.is_behind(self.options, self.kept.path, self.kept.committed_offsets())
        if behind and seen_here(self.session) and self.kept.has_batches_behind(self.before):
            raise PipelineError(
                f"the checkpoint of the archive {self.kept.path} is older than its files: what they hold would be"
                " written over, and no journal has it any more. Bring the newer checkpoint back"
            )

    def _register(self) -> None:
        positions.register(self.options, self.kept.path, self.kept.committed_offsets())

    def _keep_definitions(self) -> None:
        """Whoever restores into an empty server needs to know how the topics were defined, and which are gone."""
        deletions = self.options.deletions()
        gone = {name: at_ms for name, at_ms in deletions.items() if at_ms > self._gone.get(name, -1)}
        # What is noted does not say since when a topic is there.
        current = {topic.name: replace(topic, created_ms=0) for topic in self.options.definitions()}
        known = {name: topic for name, topic in self._known.items() if name not in gone} | current
        if gone or known != self._known:
            self.kept.keep_definitions(list(known.values()), gone)
            self._register()
            self._known, self._gone = known, self._gone | gone

    def has_news(self) -> bool:
        """Whether a journal has anything behind what is archived."""
        known, topics = self.kept.committed_offsets(), self.options.journaled()
        with self.options.connection() as connection:
            ends = newest(connection, self.options, topics)
        return any(
            position_of(end) > position_of(known.get(topic, {}).get(slot, ""))
            for topic, slots in ends.items()
            for slot, end in slots.items()
        )

    def go(self) -> None:
        """Reads and writes until everything is archived, or for ever. Called again, it goes on."""
        if not seen_here(self.session):
            self._stream()
        elif self.every_ms is None:
            self._write()
        else:
            while not self.lock.lost.wait(self._write()):
                self._keep_definitions()  # who goes on for ever meets topics that are new
                self._trim_again()
                if time.monotonic() - self._compacted_s >= COMPACT_WITHIN_S:
                    self.compact()
            raise PipelineError(LOST)

    def _write(self) -> float:
        """What there is now; gives back the seconds until the next look."""
        began = time.monotonic()
        options = replace(self.options, data_set=self.data_set, max_entries=self.options.max_entries or ENTRIES_AT_ONCE)
        for rows in write_batches(self.kept, options, batch_writer, self.lock):
            self.done["rows"] += rows
            self.done["batches"] += 1
            self._tidy()
        return max(0.0, began + (self.every_ms or 0) / 1000 - time.monotonic())

    def _stream(self) -> None:
        if self.has_news():  # a stream costs seconds before it reads anything
            self._read({"availableNow": True}, self.options.max_entries or ENTRIES_AT_ONCE)
        if self.every_ms is not None:
            self.move()
            # Here Spark takes one batch in each interval: with a bound of ours an archive might never come up.
            self._read({"processingTime": f"{self.every_ms} milliseconds"}, self.options.max_entries)

    def _read(self, trigger: dict[str, Any], most: int) -> None:
        """One query. ``most``: entries in a batch; 0: as many as there are."""
        stream = self.session.readStream.format(NAME)
        for name, value in {
            "url": self.options.url,
            "namespace": self.options.namespace,
            "topics": ",".join(self.options.topics),
            "retry_for_ms": str(self.options.retry_for_ms),
            "data_set": self.data_set,
            **({"maxEntriesPerTrigger": str(most)} if most else {}),
            **({"slots_per_partition": str(n)} if (n := self.options.slots_per_partition) else {}),
        }.items():
            stream = stream.option(name, value)
        writer = stream.load().writeStream.foreachBatch(batch_writer(self.kept.events))
        writer = writer.option("checkpointLocation", self.kept.checkpoint)
        query, seen = writer.trigger(**trigger).start(), set[int]()
        try:
            while not query.awaitTermination(LOOK_S):
                _count(query.recentProgress, seen, self.done)
                self._keep_definitions()
                if self.lock.lost.is_set():
                    raise PipelineError(LOST)
                self._tidy()
                self._trim_again()
        finally:
            query.stop()
        _count(query.recentProgress, seen, self.done)

    def _tidy(self) -> None:
        """Trims behind every batch; who goes on for ever also compacts for ever."""
        batches = self.done["batches"]
        if self.every_ms is not None and batches - self._compacted_at >= COMPACT_EVERY:
            self._compacted_at = batches
            self.compact()
        if batches != self._reported:
            self._reported = batches
            self.move()

    def move(self) -> None:
        """Trims the journals behind what is durable."""
        last = self.kept.last_committed()
        if last != self._moved_to or self.every_ms is None:
            self._trimmed_s = time.monotonic()
            self.trimmed += positions.move(self.options, self.kept.path, self.kept.committed_offsets())
            self._moved_to = last

    def _trim_again(self) -> None:
        if time.monotonic() - self._trimmed_s >= TRIM_WITHIN_S:
            self._trimmed_s = time.monotonic()
            self.trimmed += positions.trim(self.options)

    def compact(self) -> None:
        """Forgets what is too old, and makes large files of small ones; what comes meanwhile is not touched."""
        self._compacted_s = time.monotonic()
        self.lock.check()
        if not seen_here(self.session) or self.kept.last_committed() is None:
            return  # over Spark Connect neither can be
        if not (self.compacting or any(topic.archive_for_ms for topic in self._known.values())):
            return
        with staging(self.kept, self.lock.check) as staged:
            self.let_go = tuple(retention.forget(self.kept, self._known.values(), check=staged.check))
            self.forgotten += sum(each.transitions for each in self.let_go)
            if not self.compacting:
                return
            of_state = self.session, f"{self.kept.path}/state", OF_STATES
            self.compacted += compact(self.kept, versions.closed(*of_state), check=staged.check)
            if notes.are_many(self.kept):
                notes.tidy(self.kept, versions.recorded(*of_state))


def batch_writer(events: str) -> Callable[[DataFrame, int], None]:
    """What writes one batch; again gives the same.

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
    events = literally(kept.session).schema(f"{ddl(EVENTS)}, batch string").parquet(kept.events)
    new = (F.col("batch") <= batch_name(last)) & (F.col("batch") > batch_name(-1 if before is None else before))
    try:
        counts = events.where(new & ~F.col("batch").contains("-")).groupBy("batch").count().collect()
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):  # nothing was ever written
            return {"rows": 0, "batches": 0}
        raise
    return {"rows": sum(row["count"] for row in counts), "batches": len(counts)}
