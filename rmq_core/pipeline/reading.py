"""What a job reads: the sources, tables in between, and history, which is archived or in the journals behind that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmq_core.pipeline.archive.archived import Archive, without_deleted
from rmq_core.pipeline.files import literally, seen_here
from rmq_core.pipeline.findings import gaps
from rmq_core.pipeline.history.replay import SLOT
from rmq_core.pipeline.schemas import EVENTS, QUEUES, ddl
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.decoding import DAY_MS, SEQUENCE_BITS
from rmq_core.pipeline.sources.journal import NAME as JOURNAL
from rmq_core.pipeline.sources.journal import JournalReader
from rmq_core.pipeline.sources.offsets import number_of
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.planned import planned
from rmq_core.pipeline.sources.queues import NAME as OF_QUEUES
from rmq_core.pipeline.sources.queues import QueuesReader
from rmq_core.pipeline.state import windows
from rmq_core.pipeline.state.closing import ClosingState, opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SOURCES = {OF_QUEUES: (QueuesReader, QUEUES), JOURNAL: (JournalReader, EVENTS)}

FEW = 10_000
NUMBERS_MOST = 500
"""So many slots are asked for by number where files are read."""
LAST = 2**63 - 1
"""No position is behind it."""


@dataclass
class StoredTables:
    """Tables in between, recorded once: whoever looks twice must see the same, and need not wait again."""

    session: SparkSession
    folder: str
    frames: dict[str, DataFrame] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)

    def write(self, name: str, frame: DataFrame) -> DataFrame:
        """Computes and stores a table; gives it back as stored."""
        # Read once or twice and then gone: what packs quickly is quicker than what packs well.
        frame.write.mode("overwrite").option("compression", "snappy").parquet(f"{self.folder}/{name}")
        return self.put(name, literally(self.session).schema(frame.schema).parquet(f"{self.folder}/{name}"))

    def write_counted(self, name: str, frame: DataFrame) -> tuple[DataFrame, int]:
        """The same, and how many rows it has."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        seen = Observation(name)
        stored = self.write(name, frame.observe(seen, F.count(F.lit(1)).alias("rows")))
        return stored, int(seen.get["rows"])

    def write_seldom(self, name: str, frame: DataFrame) -> DataFrame:
        """The same for one that mostly has no rows: then Spark leaves out what follows from it (see `has_rows`)."""
        stored = self.write(name, frame)
        return self._put_empty(name, stored.where("false")) if stored.isEmpty() else stored

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """Computes a table of a row or so per slot; gives it back as part of the plan, or as stored where that is many:
        of a few rows each file costs more than all the work."""
        rows = frame.toArrow()
        here = self.session.createDataFrame(rows, frame.schema)
        if not rows.num_rows:
            return self._put_empty(name, here)
        return self.put(name, here) if rows.num_rows <= FEW else self.write(name, here)

    def put(self, name: str, frame: DataFrame) -> DataFrame:
        """Names a table that follows from those that are stored."""
        self.frames[name] = frame
        self.empty.discard(name)
        return frame

    def _put_empty(self, name: str, frame: DataFrame) -> DataFrame:
        self.put(name, frame)
        self.empty.add(name)
        return frame

    def has_rows(self, name: str) -> bool:
        """False where a table is known to have none: what follows from it need not even be planned."""
        return name not in self.empty

    def read(self, name: str) -> DataFrame:
        """A table that was stored, or named."""
        return self.frames[name]


def load(session: SparkSession, options: SourceOptions, source: str) -> DataFrame:
    """A batch read of one of our sources, as `sources` offers them; but planned here."""
    kind, columns = _SOURCES[source]
    reader = kind(options)
    return planned(session, reader.partitions(), reader.read, ddl(columns))


def together(
    archive: Archive | None,
    journal: DataFrame,
    deletions: dict[str, int] | None = None,
    *,
    paths: list[str] | None = None,
    at_ms: int | None = None,
) -> DataFrame:
    """What is archived, and what the journals hold behind that. ``journal`` must have been read first. ``paths``: of
    the archive only these folders. ``at_ms``: deletions after that do not count.

    ``archived``: whether an archive holds it; ``vouched``: whether it must. ``deletions``: what a topic had before it
    was deleted is not its.
    """
    from pyspark.sql import functions as F

    false = F.lit(False)
    if archive is None:
        alone = without_deleted(journal, deletions or {})
        return alone.withColumn("vouched", false).withColumn("archived", false)
    reached = small(archive.session, archive.reached(at_ms), gaps.REACHED)
    fresh = journal.join(F.broadcast(reached), [*SLOT], "left").where("reached IS NULL OR position > reached")
    archived = archive.read(paths).join(F.broadcast(reached), [*SLOT], "left")
    archived = archived.where("reached IS NULL OR position <= reached")
    vouched = (F.col("n") >= F.col("since")) & (F.col("n") <= F.col("reached_n"))
    both = (
        archived.withColumn("vouched", F.coalesce(vouched, false))
        .withColumn("archived", F.lit(True))
        .unionByName(fresh.withColumn("vouched", false).withColumn("archived", false))
    )
    both = both.drop("reached", "reached_n", "since")
    return without_deleted(both, all_deletions(archive, deletions or {}, at_ms))


def all_deletions(archive: Archive, deletions: dict[str, int], at_ms: int | None = None) -> dict[str, int]:
    """Those that the server remembers, and those that the archive does. ``at_ms``: until then."""
    known = archive.deletions(at_ms)
    here = {name: gone_ms for name, gone_ms in deletions.items() if at_ms is None or gone_ms <= at_ms}
    return known | {name: max(gone_ms, known.get(name, -1)) for name, gone_ms in here.items()}


@dataclass
class History:
    """The history of some topics, as far as a job needs it.

    ``news``: what no closing state covers. Without ``state`` that is all. See `together` for the columns. ``only``: the
    slots that are compared; None: all.
    """

    session: SparkSession
    topics: list[str]
    archive: Archive | None
    journal: DataFrame
    deletions: dict[str, int]
    state: ClosingState | None = None
    only: Mapping[str, tuple[int, ...]] | None = None

    def open(self, scratch: Mapping[str, str]) -> None:
        """Looks for a closing state. ``scratch``: what not to take from one, and why (see `closing.opened`)."""
        if self.archive is not None and self.archive.until is not None and seen_here(self.session):
            deletions = all_deletions(self.archive, self.deletions)
            self.state = opened(self.archive, self.topics, deletions, scratch=scratch)

    def entries_behind(self) -> int:
        """How many entries of the archive no closing state covers."""
        ends = self.archive.committed_offsets() if self.archive else {}
        covered = self.state.known if self.state else {}
        several = [(ends.get(topic, {}), covered[topic].offsets if topic in covered else {}) for topic in self.topics]
        return sum(
            max(0, number_of(end) - (number_of(known[slot]) if slot in known else 0))
            for here, known in several
            for slot, end in here.items()
        )

    def news(self) -> DataFrame:
        """What happened since the books were closed."""
        from pyspark.sql import functions as F

        if self.state is None:
            events = together(self.archive, self.journal, self.deletions)
        else:
            events = together(self.archive, self.journal, self.deletions, paths=self.state.paths(self.topics))
        return self._behind(events, "closed IS NULL OR position > closed").where(F.col("topic").isin(self.topics))

    def _behind(self, events: DataFrame, where: str) -> DataFrame:
        from pyspark.sql import functions as F

        if self.state is None or not self.state.known:
            return events
        closed = small(self.session, self.state.positions(), "topic string, slot int, closed long")
        return events.join(F.broadcast(closed), [*SLOT], "left").where(where).drop("closed")

    def complete_until(self, slot_ledgers: DataFrame) -> dict[str, int]:
        """Per topic, until when all that happened is archived."""
        reached = small(self.session, self.archive.reached() if self.archive else [], gaps.REACHED)
        return windows.complete_until(slot_ledgers, self.journal, reached)

    def carried(self) -> DataFrame | None:
        """What the closing state carries of the messages of the slots that are compared."""
        from pyspark.sql import functions as F

        if self.state is None or self.only is None:
            return self.state.carried() if self.state else None
        slots = [(topic, slot) for topic, several in self.only.items() for slot in several]
        rows = self.state.carried({topic for topic, several in self.only.items() if several})
        if rows is None or not slots:
            return None
        numbers = sorted({slot for _, slot in slots})
        if len(numbers) <= NUMBERS_MOST:  # merged files are sorted by them: most of those is skipped
            rows = rows.where(F.col("slot").isin(numbers))
        return rows.join(F.broadcast(small(self.session, slots, "topic string, slot int")), [*SLOT], "left_semi")

    def past(self, topics: Iterable[str], days: Iterable[int] | None = None) -> DataFrame | None:
        """What a closing state covers, of these topics. ``days``: only what happened on them, or next to them (in days
        since 1970). None: nothing is covered."""
        from pyspark.sql import functions as F

        known = [topic for topic in topics if self.state and topic in self.state.known]
        if self.archive is None or not known:
            return None
        events = together(self.archive, self.journal.where("false"), self.deletions).where(F.col("topic").isin(known))
        if days is not None:
            dates = sorted({day + near for day in days for near in (-1, 0, 1)})
            events = events.where(F.col("date").isin([_date(day) for day in dates]))
        return self._behind(events, "position <= closed")

    def whole(self, topics: list[str], since_ms: int | None = None) -> DataFrame:
        """All that is known of these topics, whatever is covered. ``since_ms``: what is before is not wanted."""
        from pyspark.sql import functions as F

        events = together(self.archive, self.journal, self.deletions).where(F.col("topic").isin(topics))
        if since_ms is not None:
            events = events.where(F.col("date") >= _date(since_ms // DAY_MS - 1))
            # By position, for files say of which they hold some.
            events = events.where(F.col("position") >= min(since_ms << SEQUENCE_BITS, LAST))
        return events


def _date(day: int) -> str:
    import numpy as np

    return str(np.datetime64(day, "D"))
