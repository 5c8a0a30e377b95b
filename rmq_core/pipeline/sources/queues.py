"""``rmq_queues``: what is in the live queues, as a table.

Reads with cursors, so a slot changes while it is read. Its ledger before and after (rows ``begin`` and ``end``) carry
the journal's position: a message that no journal entry in between names was read exactly as it was. What is there
from begin to end is read at least once; a row may come twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from rmq_core.errors import ConfigurationError
from rmq_core.pipeline.schemas import PARTS, QUEUES, ddl
from rmq_core.pipeline.sources.ledgers import held, ledger_call, naming
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.packing import packed
from rmq_core.pipeline.sources.pruning import chosen
from rmq_core.pipeline.sources.queue_rows import A_SLOT, EDGES, Place, read_slots
from rmq_core.protocol.scripts import batches
from rmq_core.transport.sync import Connection

if TYPE_CHECKING:
    import pyarrow

NAME = "rmq_queues"
SLOTS_AT_ONCE = 500
ROWS_LEAST, ROWS_MOST = 20_000, 200_000
"""So much makes a task worth its beginning; and so much is enough for one."""


class QueuesSource(DataSource):
    """Options: those of `SourceOptions`. Columns: all, or those of ``schema(…)``."""

    @classmethod
    def name(cls) -> str:
        """What ``format()`` takes."""
        return NAME

    def schema(self) -> str:
        """See `schemas.QUEUES`."""
        return ddl(QUEUES)

    def reader(self, schema: Any) -> DataSourceReader:
        """A snapshot."""
        return QueuesReader(SourceOptions.read(self.options), chosen(schema, QUEUES))


class Slots(InputPartition):
    """Some slots."""

    def __init__(self, places: list[Place]) -> None:
        super().__init__(None)
        self.places = places


class QueuesReader(DataSourceReader):
    """``names``: the columns that are wanted; None: all. Raises `ConfigurationError` where a part is asked for that
    there is not."""

    def __init__(self, options: SourceOptions, names: list[str] | None = None) -> None:
        if unknown := {*options.parts} - {*PARTS, *EDGES}:
            raise ConfigurationError(f"there is no part {min(unknown)!r}; there are {', '.join((*PARTS, *EDGES))}")
        self.options, self.names = options, names

    def partitions(self) -> list[InputPartition]:
        """Of every topic asked for, and its groups; of a stream itself only what its ledger says. Raises
        `PipelineError` where a key of a slot is none of ours."""
        several: list[list[Place]] = []
        for topic in self.options.journaled():
            there = EDGES if topic.is_stream else (*PARTS, *EDGES)
            if parts := tuple(part for part in there if part in (self.options.parts or there)):
                slots = self.options.slots_of(topic)
                several.append([Place(topic.name, slot, topic.timed, parts) for slot in slots])
        with self.options.connection() as connection:
            sized = [list(self._sized(connection, places)) for places in several]
        if n := self.options.slots_per_partition:
            return [Slots(some) for places in sized for some in batches(places, n)]
        every = ((place, place.size + A_SLOT) for places in sized for place in places)
        return [Slots(some) for some in packed(every, ROWS_LEAST, ROWS_MOST)]

    def _sized(self, connection: Connection, places: list[Place]) -> Iterator[Place]:
        for some in batches(places, SLOTS_AT_ONCE):
            slots = [(each.topic, each.slot, self.options.keyspace.slot(each.topic, each.slot)) for each in some]
            with naming(connection, slots):
                replies = connection.run([ledger_call(keys) for _, _, keys in slots])
            for place, reply in zip(some, replies, strict=True):
                yield replace(place, size=held(reply, place.parts))

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """On an executor. Where there is no topic, Spark asks for a partition of its own invention."""
        if not isinstance(partition, Slots):
            return
        with self.options.connection() as connection:
            found = read_slots(connection, self.options.keyspace, partition.places)
            yield from (batch.select(self.names) for batch in found) if self.names else found
