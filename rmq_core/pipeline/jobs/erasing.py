"""Erases what an archive and its closing state hold of some messages, as a person may demand.

A message that Redis still has in some way is left alone, and named: what comes next of it would tell of it again. The
order makes it safe to be killed anywhere, and to be run again: folders that do not count yet, the record, the closing
state, then all folders at once, and last what they replace is removed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rmq_core.errors import ConfigurationError, PipelineError
from rmq_core.model.ids import id_to_text
from rmq_core.pipeline.archive import data_set, erasures, redacted
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.lock import ArchiveLock, RestoreLock
from rmq_core.pipeline.files import seen_here
from rmq_core.pipeline.findings import gaps
from rmq_core.pipeline.history.replay import SLOT
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.reading import load
from rmq_core.pipeline.sentences import plain_errors
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.journal import JournalSource
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.state import versions
from rmq_core.pipeline.state.closing import FORMAT, ClosingState
from rmq_core.pipeline.state.covered import Covered
from rmq_core.protocol.scripts import Call, script

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES = ("find", "check", "rewrite", "forget", "remove")
MOST = 100_000
"""Messages that one run erases."""
NAMED_MOST = 20
WHY = {
    "redis": "still in Redis: cancel or drop it there, and let the topic's undo_ms go by (or empty its trash)",
    "journal": "its journal says more of it than the archive: run archive first",
}


@dataclass(frozen=True)
class Left:
    """A message that was not erased, and why (`WHY`)."""

    topic: str
    id: str
    why: str


@dataclass(frozen=True)
class Erased:
    """``messages``, ``transitions`` of them, on so many ``days`` of topics; ``open``: rows of the closing state.
    ``record``: the name of the record; None: nothing was to be erased, or it was only counted."""

    messages: int
    transitions: int
    days: int
    open: int
    left: tuple[Left, ...] = field(default=())
    record: str | None = None

    def sentences(self) -> list[str]:
        """For people: what is not erased."""
        said = [f"{each.topic}: {each.id} stays, {WHY[each.why]}" for each in self.left[:NAMED_MOST]]
        more = len(self.left) - NAMED_MOST
        return said + ([f"… and {more} more"] if more > 0 else [])


def erase(
    session: SparkSession,
    options: SourceOptions,
    path: str,
    *,
    ids: Collection[bytes] = (),
    slot_bases: Collection[bytes] = (),
    reason: str = "",
    dry_run: bool = False,
    progress: Progress = QUIET,
) -> Erased:
    """Erases messages with these ids, and those with these slot bases, from the topics of ``options`` (and their
    groups; all without any) in the archive at ``path``.

    Raises `PipelineError`; `ConfigurationError` where nothing is named.
    """
    if not (ids or slot_bases) or b"" in (*ids, *slot_bases):
        raise ConfigurationError("name what to erase: ids, or slot bases, which are not empty")
    if not seen_here(session):
        raise PipelineError("nothing is erased over Spark Connect: it cannot delete folders")
    session.dataSource.register(JournalSource)
    with ArchiveLock(options), RestoreLock(options, wait_ms=0), plain_errors("erasing stopped"):
        kept = Archive(session, path)
        data_set.check(options, kept)
        return _Run(session, options, kept.pinned(), progress).run(ids, slot_bases, reason, dry_run=dry_run)


class _Run:
    """One job, while nobody else writes to the archive."""

    def __init__(self, session: SparkSession, options: SourceOptions, kept: Archive, progress: Progress) -> None:
        self._session, self._options, self._kept, self._progress = session, options, kept, progress

    def run(self, ids: Collection[bytes], bases: Collection[bytes], reason: str, *, dry_run: bool) -> Erased:
        with self._progress.stage("find", self._session):
            rows = self._found(ids, bases)
        with self._progress.stage("check", self._session):
            busy = self._busy(rows)
        left = tuple(Left(topic, id_to_text(id), why) for (topic, id), why in sorted(busy.items()))
        mine = [row for row in rows if (row.of, bytes(row.id)) not in busy]
        gone = {(row.of, bytes(row.id)) for row in mine}
        days = sorted({(row.topic, row.date) for row in mine})
        # A killed run may have got no farther than the archive's rows: what the state knows of these ids goes, too.
        named = gone | {(topic, id) for topic in self._topics(rows) for id in ids if (topic, id) not in busy}
        frame = self._messages(named)
        counted = Erased(len(gone), sum(row.n for row in mine), len(days), self._open(frame), left)
        if dry_run:
            return counted
        begun = None
        with self._progress.stage("rewrite", self._session):
            notes = redacted.write(self._kept, days, redacted.those(frame)) if days else []
            if days or counted.open:
                begun = erasures.begin(self._session, self._kept.path, reason, gone or named, len(days))
        with self._progress.stage("forget", self._session):
            self._forget(frame)
            if notes:
                redacted.commit(self._kept, notes)
        with self._progress.stage("remove", self._session):
            redacted.sweep(replace(self._kept, notes=None))
            self._forget(frame)  # what a run that had begun before has closed meanwhile
        if begun:
            erasures.end(self._session, self._kept.path, begun, counted.transitions)
        return replace(counted, record=begun.name if begun else None)

    def _found(self, ids: Collection[bytes], bases: Collection[bytes]) -> list[Any]:
        """Rows (``of`` topic, ``topic``, ``date``, ``slot``, ``id``, ``n``) of what the archive has of them."""
        from pyspark.sql import functions as F

        events = self._kept.read().withColumn("of", redacted.base_of("topic"))
        if self._options.topics:
            events = events.where(F.col("of").isin([name.partition("@")[0] for name in self._options.topics]))
        wanted = F.col("id").isin([bytearray(each) for each in (*ids, *bases)])
        if bases:
            wanted |= F.col("basis").isin([bytearray(each) for each in bases])
        named = events.where(wanted).select("of", F.col("id").alias("gone")).distinct().limit(MOST + 1).collect()
        if len(named) > MOST:
            raise PipelineError(f"that is more than {MOST:,} messages: name some of them, or one topic, at a time")
        frame = self._messages({(row.of, bytes(row.gone)) for row in named})
        rows = redacted.of_messages(events.drop("of"), frame, "inner")
        return list(rows.groupBy("of", "topic", "date", "slot", "id").agg(F.count("*").alias("n")).collect())

    def _messages(self, several: Collection[tuple[str, bytes]]) -> DataFrame:
        return small(self._session, sorted(several), "of string, gone binary")

    def _topics(self, rows: list[Any]) -> set[str]:
        names = self._options.topics or [*self._kept.committed_offsets()]
        return {name.partition("@")[0] for name in names} | {row.of for row in rows}

    def _busy(self, rows: list[Any]) -> dict[tuple[str, bytes], str]:
        """Messages that Redis holds, or has told its journals of since they were archived; and why.

        Journals are read last: what moved while it was looked for is in them.
        """
        from pyspark.sql import functions as F

        busy = {(row.of, bytes(row.id)): "redis" for row in self._held(rows)}
        topics = {row.topic for row in rows}
        if topics:
            several = replace(self._options, topics=())
            reached = small(self._session, self._kept.reached(), gaps.REACHED)
            journal = load(self._session, several, "rmq_journal").join(F.broadcast(reached), [*SLOT], "left")
            fresh = journal.where("reached IS NULL OR position > reached")
            frame = self._messages({(row.of, bytes(row.id)) for row in rows})
            for row in redacted.of_messages(fresh, frame, "inner").select("of", "id").distinct().collect():
                busy.setdefault((row.of, bytes(row.id)), "journal")
        return busy

    def _held(self, rows: list[Any]) -> list[Any]:
        """Those that are in a queue, a stream, or a trash."""
        here = {topic.name: topic for topic in replace(self._options, topics=()).journaled()}
        places = {(row.topic, row.slot, bytes(row.id)): row for row in rows if row.topic in here}
        calls: list[Any] = []
        for topic, slot, id in places:
            keys = self._options.keyspace.slot(topic, slot)
            if here[topic].is_stream:
                calls += [("XRANGE", keys.store, id, id), ("ZSCORE", keys.trash, id)]
            else:
                names = [keys.store, keys.retry, keys.prepare, keys.dead, keys.body, keys.failed]
                calls += [Call(script("presence"), names, [id]), ("ZSCORE", keys.trash, id)]
        with self._options.connection() as connection:
            replies = connection.run(calls)
        pairs = zip(replies[::2], replies[1::2], strict=True)
        return [row for row, (seen, trash) in zip(places.values(), pairs, strict=True) if _is_there(seen) or trash]

    def _state(self) -> ClosingState | None:
        """The newest closing state, whatever of it holds."""
        path = ClosingState(self._kept).path
        names = sorted(versions.manifests(self._session, path))
        if not names:
            return None
        said = versions.said(self._session, path, names[-1], FORMAT)
        if said is None:
            raise PipelineError(f"the closing state {names[-1]} is of another release: reconcile once, then erase")
        known = {topic: Covered(**each) for topic, each in said["topics"].items()}
        number = int(names[-1].partition("-")[0])
        return ClosingState(self._kept, number=number, version=names[-1], run=said["run"], known=known)

    def _open(self, gone: DataFrame) -> int:
        """Rows of the newest closing state that tell of these messages."""
        state = self._state()
        carried = state.carried() if state else None
        return redacted.of_messages(carried, gone, "left_semi").count() if carried is not None else 0

    def _forget(self, gone: DataFrame) -> None:
        """Leaves one version of the closing state, which knows nothing of these messages."""
        if self._open(gone) and (state := self._state()):
            state.merge(state.run or "", state.known, gone)
        if state := self._state():
            messages = {folder for each in state.known.values() for folder in each.messages}
            versions.keep_only(self._session, state.path, state.version or "", messages)


def _is_there(seen: Any) -> bool:
    """``seen``: entries of a stream; or what ``presence`` says of one message."""
    return any(part not in (None, 0) for row in seen for part in row) if seen else False
