"""``rmq_journal``: the transitions that the slots' journals hold, as a table or as a stream.

An offset is, per topic and slot, the last entry that was read, and the number from which on nothing was missing
("<id>:<running number>:<since>"); a batch is what lies between two of them, so reading it again gives the same. The
stream's ``commit`` moves the durable position of the reader it was given in Redis, and of no other: behind that the
journals may be trimmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rmq_core.client.rmq import RMQ
from rmq_core.errors import PipelineError
from rmq_core.journal import reader
from rmq_core.journal.reader import Position
from rmq_core.model.topic import Topic
from rmq_core.pipeline.schemas import EVENTS, ddl
from rmq_core.pipeline.sources.bounding import bounded
from rmq_core.pipeline.sources.decoding import batches, position_of
from rmq_core.pipeline.sources.offsets import (
    START,
    Offsets,
    between,
    first_of_each,
    id_of,
    journal_key,
    last_of_each,
    number_of,
    offset_of,
    since_of,
)
from rmq_core.pipeline.sources.options import SourceOptions, kind_of
from rmq_core.pipeline.sources.packing import packed
from rmq_core.pipeline.sources.pruning import chosen
from rmq_core.protocol.scripts import batches as in_parts
from rmq_core.transport.sync import Connection

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ModuleNotFoundError as error:  # where the job is started without it; the console shows the last line
    raise ModuleNotFoundError("Spark is not installed: pip install 'rmq-console[pipeline]'", name=error.name) from None

if TYPE_CHECKING:
    import pyarrow

NAME = "rmq_journal"
ENTRIES_AT_ONCE = 500
ENTRIES_LEAST, ENTRIES_MOST = 2_500, 50_000
"""So many make a task worth its beginning, and so many are enough for one: an entry may have a thousand transitions."""
A_SLOT = 5
"""Looking at a slot costs about as much as so many entries."""
SLOTS_AT_ONCE = 64
TRANSITIONS_PER_BATCH = 20_000


class JournalSource(DataSource):
    """Options: those of `SourceOptions`. Columns: all, or those of ``schema(…)``."""

    @classmethod
    def name(cls) -> str:
        """What ``format()`` takes."""
        return NAME

    def schema(self) -> str:
        """See `schemas.EVENTS`."""
        return ddl(EVENTS)

    def reader(self, schema: Any) -> DataSourceReader:
        """What the journals hold now."""
        return JournalReader(SourceOptions.read(self.options).without("parts"), chosen(schema, EVENTS))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        """What comes."""
        return JournalStream(SourceOptions.read(self.options).without("parts", "slots"), chosen(schema, EVENTS))


@dataclass(frozen=True)
class Range:
    """What a slot's journal has behind ``after``, up to ``to``: ``entries``, or about so many."""

    topic: str
    kind: str
    slot: int
    after: str
    to: str
    entries: int


class Ranges(InputPartition):
    """Stretches of some slots' journals."""

    def __init__(self, ranges: list[Range]) -> None:
        super().__init__(None)
        self.ranges = ranges


def newest(connection: Connection, options: SourceOptions, topics: list[Topic]) -> Offsets:
    """The last entry of every slot that has one, whoever has added it, and the last number there of ours."""
    found: Offsets = {}
    for topic in topics:
        slots = options.slots_of(topic)
        ends = last_of_each(connection, [journal_key(options, topic.name, slot) for slot in slots])
        found[topic.name] = {str(slot): offset_of(*end, None) for slot, end in zip(slots, ends, strict=True) if end}
    return found


def oldest(connection: Connection, options: SourceOptions, ends: Offsets) -> Offsets:
    """Before everything there is in these slots, with the number before the first entry there of ours: what was trimmed
    long ago makes no task larger."""
    found: Offsets = {}
    for topic, slots in ends.items():
        places = [(journal_key(options, topic, int(slot)), "-", id_of(end)) for slot, end in slots.items()]
        firsts = first_of_each(connection, places)
        found[topic] = {
            slot: offset_of(id_of(START), first[1] - 1 if first else 0, None)
            for slot, first in zip(slots, firsts, strict=True)
        }
    return found


def later(connection: Connection, options: SourceOptions, start: Offsets, found: Offsets) -> Offsets:
    """``start``, moved to where the journals end (``found``); an emptied or deleted one stays where it was."""
    asked = [
        (topic, slot, end)
        for topic, ends in found.items()
        for slot, end in ends.items()
        if position_of(end) > position_of(start.get(topic, {}).get(slot, START))
    ]
    moved: Offsets = {topic: dict(slots) for topic, slots in start.items()}
    for first in range(0, len(asked), SLOTS_AT_ONCE):
        some = asked[first : first + SLOTS_AT_ONCE]
        before = [start.get(topic, {}).get(slot, START) for topic, slot, _ in some]
        places = [
            (journal_key(options, topic, int(slot)), f"({id_of(last)}", "+")
            for (topic, slot, _), last in zip(some, before, strict=True)
        ]
        firsts = first_of_each(connection, places)
        for (topic, slot, end), last, entry in zip(some, before, firsts, strict=True):
            n, since = number_of(end) or number_of(last), since_of(last)
            if entry is None and n != number_of(last):
                continue  # trimmed since: what was there a moment ago cannot be read any more
            if entry and entry[1] != number_of(last) + 1:  # trimmed, or the numbers started again
                since = entry[1]
            moved.setdefault(topic, {})[slot] = offset_of(id_of(end), n, since)
    for topic in found:
        moved.setdefault(topic, {})
    return {topic: moved[topic] for topic in sorted(moved)}


def plan(options: SourceOptions, topics: list[Topic], start: Offsets, end: Offsets) -> list[InputPartition]:
    """What lies between two offsets, shared out."""
    several: list[list[Range]] = []
    for topic in topics:
        ends, starts = end.get(topic.name, {}), start.get(topic.name, {})
        asked = [(slot, starts.get(str(slot), START), ends.get(str(slot), START)) for slot in options.slots_of(topic)]
        several.append(
            [
                Range(topic.name, kind_of(topic), slot, id_of(last), id_of(to), between(last, to))
                for slot, last, to in asked
                if position_of(to) > position_of(last)
            ]
        )
    if n := options.slots_per_partition:
        return [Ranges(some) for ranges in several for some in in_parts(ranges, n)]
    every = ((each, each.entries + A_SLOT) for ranges in several for each in ranges)
    return [Ranges(some) for some in packed(every, ENTRIES_LEAST, ENTRIES_MOST)]


def read_ranges(
    options: SourceOptions, partition: InputPartition, names: list[str] | None = None
) -> Iterator[pyarrow.RecordBatch]:
    """On an executor. Where there is nothing to read, Spark asks for a partition of its own invention."""
    if not isinstance(partition, Ranges):
        return
    with options.connection() as connection:
        for (topic, kind), ranges in groupby(partition.ranges, lambda each: (each.topic, each.kind)):
            found = batches(topic, kind, _entries(connection, options, ranges), TRANSITIONS_PER_BATCH)
            yield from (batch.select(names) for batch in found) if names else found


def check_unchanged(connection: Connection, options: SourceOptions) -> None:
    """Raises `PipelineError` where the server's data is no longer that of which the options speak."""
    (kept,) = connection.run([("GET", options.keyspace.data_set)])
    if kept is None or kept.decode() != options.data_set:
        raise PipelineError(
            f"the server has lost its data, or other data was put in its place, while the journals of the namespace"
            f" {options.namespace!r} were read: nothing of that was kept. Run it again; it goes on with what is there"
        )


def _entries(
    connection: Connection, options: SourceOptions, ranges: Iterable[Range]
) -> Iterator[tuple[int, bytes, dict[bytes, bytes]]]:
    """Slot, id and fields of each; of what is short, several at once."""
    for some in packed(((each, each.entries) for each in ranges), ENTRIES_AT_ONCE, ENTRIES_AT_ONCE):
        keys = [journal_key(options, each.topic, each.slot) for each in some]
        asked = [("XRANGE", key, f"({each.after}", each.to) for key, each in zip(keys, some, strict=True)]
        replies = connection.run([(*each, "COUNT", ENTRIES_AT_ONCE) for each in asked])
        for each, key, first in zip(some, keys, replies, strict=True):
            found = first
            while found:
                for entry, fields in found:
                    yield each.slot, entry, fields
                if len(found) < ENTRIES_AT_ONCE:
                    break
                after = found[-1][0].decode()
                (found,) = connection.run([("XRANGE", key, f"({after}", each.to, "COUNT", ENTRIES_AT_ONCE)])


class JournalReader(DataSourceReader):
    """A batch. ``names``: the columns that are wanted; None: all."""

    def __init__(self, options: SourceOptions, names: list[str] | None = None) -> None:
        self.options, self.names = options, names

    def partitions(self) -> list[InputPartition]:
        """From the oldest entry to the newest there is at this moment."""
        topics = self.options.journaled()
        with self.options.connection() as connection:
            ends = newest(connection, self.options, topics)
            starts = oldest(connection, self.options, ends)
        return plan(self.options, topics, starts, ends)

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """See `read_ranges`."""
        return read_ranges(self.options, partition, self.names)


class JournalStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream. ``names``: as of `JournalReader`."""

    def __init__(self, options: SourceOptions, names: list[str] | None = None) -> None:
        self.options, self.names = options, names
        self._target: Offsets | None = None

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is what this run reads, in as many batches as it takes."""
        self._target = self._newest()

    def _newest(self) -> Offsets:
        topics = self.options.journaled()
        with self.options.connection() as connection:
            return newest(connection, self.options, topics)

    def initialOffset(self) -> dict[str, Any]:
        """Before everything. From now on nothing is trimmed that the stream's own reader has not committed."""
        if self.options.reader:
            register(self.options)
        return {}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        """Where every journal ends now."""
        found = self._newest() if self._target is None else self._target
        with self.options.connection() as connection:
            moved = later(connection, self.options, start, found)
            return bounded(connection, self.options, start, moved)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """See `plan`. A batch that was begun may be of more topics than are asked for now: it is read as it was begun,
        for what lies before its end nobody looks at again."""
        topics = self.options.journaled()
        if {topic for topic, ends in end.items() if ends != start.get(topic, {})} - {topic.name for topic in topics}:
            topics = replace(self.options, topics=()).journaled()
        return plan(self.options, topics, start, end)

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """See `read_ranges`."""
        yield from read_ranges(self.options, partition, self.names)
        if self.options.data_set:
            with self.options.connection() as connection:
                check_unchanged(connection, self.options)

    def commit(self, end: dict[str, Any]) -> None:
        """What Spark has durably written the stream's own reader needs no more; without one nothing is said."""
        if self.options.reader:
            commit(self.options, end)


def register(options: SourceOptions) -> None:
    """Makes a durable reader of the stream."""
    commit(options, {})


def commit(options: SourceOptions, ends: Offsets) -> None:
    """Moves the stream's reader; whoever keeps the journals trims behind it."""
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
        for topic in options.journaled():
            known = {int(slot): end for slot, end in ends.get(topic.name, {}).items() if int(slot) < topic.slots}
            moved = {slot: Position(id_of(end), number_of(end)) for slot, end in known.items()}
            client.run(reader.commit(client.keyspace, topic, options.reader, moved))
