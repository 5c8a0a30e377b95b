"""What lies where in an archive, and reading it: only batches that were finished, each once.

::

    <archive>/events/topic=<t>/date=<yyyy-mm-dd>/batch=<n>/*.parquet        one batch (`batches`)
    <archive>/events/topic=<t>/date=<yyyy-mm-dd>/batch=<first>-<last>/…     several, compacted
    <archive>/compacted/*.json                                              which of the latter count
    <archive>/checkpoint/                                               how far it came (`checkpoint`)
    <archive>/state/                                                    closing states (`closing`)
    <archive>/topics/*.json                                                 the topics' definitions, and deletions
    <archive>/data-sets/*.json                                              whose journals these are (`data_set`)
    <archive>/erased/*.json                                                 what was erased (`erasures`)
    <archive>/forgotten/*.json                                              what got too old (`retention`)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.model import formats
from rmq_core.model.formats import ARCHIVE
from rmq_core.model.topic import Topic
from rmq_core.pipeline.archive.checkpoint import read_offsets
from rmq_core.pipeline.archive_files import LOOKS, damaged_note, lacks_checkpoint, noted, without_checkpoint
from rmq_core.pipeline.durable import keep
from rmq_core.pipeline.files import files as files_of
from rmq_core.pipeline.files import folders, literally, read_text, seen_here
from rmq_core.pipeline.schemas import EVENTS, ddl
from rmq_core.pipeline.sentences import sentence
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS, position_of
from rmq_core.pipeline.sources.offsets import Offsets, number_of, since_of
from rmq_core.pipeline.unchanged import listing, reach

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DIGITS = 12
NOTE = (
    "topic string, date string, batch string, first string, last string, at_ms long, sources string, made string,"
    " erasure string"
)
"""Columns of a note of a compaction. ``at_ms``: when it was done; ``sources``, ``made``: the marks of the folders it
read (JSON) and of its own (see `unchanged`); ``erasure``: the name of the one that wrote the folder; null: none did."""


def batch_name(number: int) -> str:
    """How a folder says its batch; the names sort."""
    return f"{number:0{DIGITS}d}"


@dataclass(frozen=True)
class Archive:
    """An archive at any path Spark can write to."""

    session: SparkSession
    path: str
    until: int | None = None
    """The last batch to be looked at; None: the last that is whole."""

    notes: tuple[Any, ...] | None = None
    """The compactions to be known of; None: all there are."""

    def pinned(self) -> Archive:
        """The archive as it is now, whatever other jobs add or compact meanwhile."""
        return replace(self, until=self.last_committed(), notes=tuple(self.compaction_notes()))

    @property
    def events(self) -> str:
        """The Parquet files."""
        return f"{self.path}/events"

    @property
    def checkpoint(self) -> str:
        """See `archive.checkpoint`."""
        return f"{self.path}/checkpoint"

    @property
    def compacted(self) -> str:
        """Which compacted folders are whole."""
        return f"{self.path}/compacted"

    @property
    def topics(self) -> str:
        """The definitions of topics."""
        return f"{self.path}/topics"

    @property
    def data_sets(self) -> str:
        """Whose journals these are."""
        return f"{self.path}/data-sets"

    def files(self, folder: str) -> list[str]:
        """The names of the files in a folder; none where there is no such folder."""
        from pyspark.errors import AnalysisException

        if seen_here(self.session):
            return files_of(self.session, folder)
        try:
            listed = literally(self.session).format("binaryFile").load(folder).select("path").collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" in str(error) or "UNABLE_TO_INFER" in str(error):
                return []
            raise PipelineError(f"cannot list {folder}: {sentence(error)}") from error
        return [row.path.rsplit("/", 1)[-1] for row in listed]

    def lines(self, path: str) -> list[str]:
        """A small file of text; without a job of Spark where its file system can be seen from here."""
        if seen_here(self.session):
            return [line for line in (read_text(self.session, path) or "").split("\n") if line]
        return [row.value for row in literally(self.session).text(path).collect()]

    def last_committed(self) -> int | None:
        """The last batch that is whole; None before the first. Raises `PipelineError` where nobody knows."""
        if self.until is not None:
            return self.until
        numbers = [int(name) for name in self.files(f"{self.checkpoint}/commits") if name.isdigit()]
        if not numbers and seen_here(self.session) and folders(self.session, self.events):
            begun = [name for name in self.files(f"{self.checkpoint}/offsets") if name.isdigit()]
            if lacks_checkpoint(begun):
                raise PipelineError(without_checkpoint(self.path))
        return max(numbers, default=None)

    def has_batches_behind(self, last: int | None) -> bool:
        """Whether files are there of batches that came after ``last``."""
        found = [folder for several in listing(self.session, self.events).values() for folder in several]
        numbers = (int(folder.rpartition("/")[2].rpartition("-")[2]) for folder in found)
        return any(number > (-1 if last is None else last) for number in numbers)

    def committed_offsets(self) -> Offsets:
        """How far the archive has come, per topic and slot; what lies before is durable. Raises `PipelineError`."""
        last = self.last_committed()
        if last is None:
            return {}
        path = f"{self.checkpoint}/offsets/{last}"
        return read_offsets(self.lines(path), path)

    def compactions(self) -> list[Any]:
        """Rows as `compaction_notes`: the compacted folder of a day that counts, and its last batch."""
        newest: dict[tuple[str, str], Any] = {}
        for row in self.compaction_notes():
            known = newest.get((row.topic, row.date))
            if known is None or reach(known) < reach(row):
                newest[row.topic, row.date] = row
        return list(newest.values())

    def compaction_notes(self) -> list[Any]:
        """Rows (`NOTE`) of every compaction of which there is still need (see `notes`)."""
        if self.notes is not None:
            return list(self.notes)
        for look in range(LOOKS):
            if not self.files(self.compacted):
                return []
            try:
                notes = list(literally(self.session).schema(NOTE).json(self.compacted).collect())
            except Exception as error:
                # Several were made one just now (`notes`): what they said is in that.
                if "FILE_NOT_EXIST" not in str(error) or look == LOOKS - 1:
                    raise
                continue
            if any(None in (note.topic, note.date, note.batch, note.last) for note in notes):
                raise PipelineError(damaged_note(f"a file in {self.compacted}"))
            return notes
        raise AssertionError("unreachable")

    def read(self, paths: list[str] | None = None) -> DataFrame:
        """Every archived transition once (columns of `schemas.EVENTS`); ``paths``: only of these folders."""
        from pyspark.sql import functions as F

        self._notes()  # for their format
        schema = ddl(EVENTS) + ", batch string"
        last = self.last_committed()
        if last is None or paths == []:
            return self.session.createDataFrame([], ddl(EVENTS))
        several = [self.events] if paths is None else paths
        frame = literally(self.session).schema(schema).option("basePath", self.events).parquet(*several)
        plain = ~F.col("batch").contains("-")
        wanted = plain & (F.col("batch") <= batch_name(last))
        compactions = self.compactions()
        if compactions:
            rows = [(row.topic, row.date, row.batch, row.last) for row in compactions]
            notes = small(self.session, rows, "topic string, date string, whole string, last string")
            frame = frame.join(F.broadcast(notes), ["topic", "date"], "left")
            later = F.col("last").isNull() | (F.col("batch") > F.col("last"))
            wanted = (wanted & later) | (F.col("batch") == F.col("whole"))
        return frame.where(wanted).select(*(name for name, _, _ in EVENTS))

    def reached(
        self, at_ms: int | None = None, deletions: Mapping[str, int] | None = None
    ) -> list[tuple[str, int, int, int, int | None]]:
        """Rows of `gaps.REACHED`, of topics that were not deleted since. ``at_ms``: as it was then known.
        ``deletions``: those that the server tells of, which no archive job may have seen yet."""
        gone = self.deletions(at_ms)
        gone |= {name: max(deleted_ms, gone.get(name, 0)) for name, deleted_ms in (deletions or {}).items()}
        return [
            (topic, int(slot), position_of(end), number_of(end), since_of(end))
            for topic, ends in self.committed_offsets().items()
            for slot, end in ends.items()
            if position_of(end) >> SEQUENCE_BITS > gone.get(topic, -1)
        ]

    def notes_in(self, folder: str) -> list[dict[str, Any]]:
        """What its files say, line by line. Raises `PipelineError` where one is damaged."""
        names = [f"{folder}/{name}" for name in self.files(folder) if name.endswith(".json")]
        return [noted(file, line) for file in names for line in self.lines(file)]

    def _notes(self) -> list[dict[str, Any]]:
        rows = self.notes_in(self.topics)
        for row in rows:
            formats.check(f"the archive {self.path}", row.get("format", ARCHIVE), ARCHIVE)
        return rows

    def definitions(self, at_ms: int | None = None) -> list[Topic]:
        """The topics as they were defined when the archive last ran, the newest definition of each; without those that
        were deleted on purpose since. ``at_ms``: as they were then; of one that is younger, its first."""
        newest: dict[str, tuple[tuple[bool, int, int], dict[str, Any]]] = {}
        made: dict[str, int] = {}
        notes = self._notes()
        for row in notes:
            noted_ms, made_ms = row.get("at_ms", 0), row.get("updated_ms") or row.get("at_ms", 0)
            later = at_ms is not None and made_ms > at_ms
            age = (not later, -noted_ms if later else noted_ms, -row["version"] if later else row["version"])
            if not row.get("definition"):
                continue
            if row["name"] not in newest or newest[row["name"]][0] <= age:
                newest[row["name"]] = age, row
            if not later:  # earlier releases noted some again, and forgot when they were made
                made[row["name"]] = max(row.get("updated_ms", row.get("at_ms", 0)), made.get(row["name"], 0))
        gone = _deletions(notes, at_ms)
        return [
            replace(Topic.from_stored(row["definition"]), version=row["version"], updated_ms=updated_ms)
            for name, (_, row) in sorted(newest.items())
            if (updated_ms := made.get(name, row.get("updated_ms") or row.get("at_ms", 0))) > gone.get(name, -1)
        ]

    def all_definitions(self) -> list[Topic]:
        """Every definition of a topic that was ever noted, also of those that were deleted since."""
        return [Topic.from_stored(row["definition"]) for row in self._notes() if row.get("definition")]

    def versions(self) -> list[tuple[str, int, int]]:
        """Name, number and time (ms) of each definition there was; not those of releases that noted no time."""
        return [(row["name"], row["version"], row["updated_ms"]) for row in self._notes() if row.get("updated_ms")]

    def deletions(self, at_ms: int | None = None) -> dict[str, int]:
        """Topics that were deleted on purpose, and when (ms); what they had before stays in the files, as history.
        ``at_ms``: only until then."""
        return _deletions(self._notes(), at_ms)

    def keep_definitions(self, topics: list[Topic], deletions: dict[str, int] | None = None) -> None:
        """Writes them beside the events, for a restore into an empty server. What is there stays: a job that is killed
        meanwhile has lost nothing."""
        at_ms = int(time.time() * 1000)
        rows: list[tuple[Any, ...]] = [
            (ARCHIVE, each.name, at_ms, each.updated_ms, each.version, each.to_json(), None) for each in topics
        ]
        rows += [(ARCHIVE, name, at_ms, 0, 0, None, deleted_ms) for name, deleted_ms in (deletions or {}).items()]
        columns = (
            "format int, name string, at_ms long, updated_ms long, version long, definition string, deleted_ms long"
        )
        small(self.session, rows, columns).coalesce(1).write.mode("append").json(self.topics)
        keep(self.session, self.topics)  # before journals are trimmed: without them nothing can be restored


def deleted_since(topics: Iterable[Topic], deletions: Mapping[str, int]) -> set[str]:
    """Those of an archive's topics that somebody has deleted since. The server goes on telling when one was that has
    been made again."""
    return {topic.name for topic in topics if deletions.get(topic.name, -1) >= topic.updated_ms}


def _deletions(notes: list[dict[str, Any]], at_ms: int | None = None) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in notes:
        if (deleted_ms := row.get("deleted_ms")) is not None and (at_ms is None or deleted_ms <= at_ms):
            found[row["name"]] = max(deleted_ms, found.get(row["name"], -1))
    return found


def without_deleted(events: DataFrame, deletions: dict[str, int]) -> DataFrame:
    """Events of topics as they are now: without what happened before they were deleted."""
    from pyspark.sql import functions as F

    if not deletions:
        return events
    gone = small(events.sparkSession, sorted(deletions.items()), "topic string, deleted_ms long")
    known = events.join(F.broadcast(gone), "topic", "left")
    after = F.shiftright("position", SEQUENCE_BITS) > F.col("deleted_ms")
    return known.where(F.col("deleted_ms").isNull() | after).drop("deleted_ms")
