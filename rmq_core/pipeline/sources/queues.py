"""``rmq_queues``: what is in the live queues, as a table.

Reads with cursors, so a slot changes while it is read. Its ledger before and after (rows ``begin`` and ``end``) carry
the journal's position: a message that no journal entry in between names was read exactly as it was. What is there
from begin to end is read at least once; a row may come twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from rmq_core.errors import ConfigurationError, PipelineError, ScriptFailed
from rmq_core.model.formats import shape_of
from rmq_core.model.stats import COUNTERS, Counters, is_spoiled, number
from rmq_core.model.topic import Topic
from rmq_core.pipeline.schemas import PARTS, QUEUES, SCORED, arrow, ddl
from rmq_core.pipeline.sources.decoding import whole
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.pruning import chosen
from rmq_core.protocol.keys import Keyspace, SlotKeys
from rmq_core.protocol.scripts import Call, script
from rmq_core.queries.trash import Trashed
from rmq_core.transport.sync import Connection

if TYPE_CHECKING:
    import pyarrow

NAME = "rmq_queues"
EDGES = ("begin", "end")
COUNT = 5_000
_TYPES: dict[str, tuple[str, ...]] = dict.fromkeys(SCORED, ("zset",))
_TYPES |= {"store": ("zset", "stream"), "journal": ("stream",)}


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
    """Some slots of one topic."""

    def __init__(self, topic: Topic, slots: tuple[int, ...], parts: tuple[str, ...]) -> None:
        super().__init__(None)
        self.topic = topic.name
        self.timed = topic.timed
        self.parts = parts
        self.slots = slots


class QueuesReader(DataSourceReader):
    """One partition per group of slots. ``names``: the columns that are wanted; None: all. Raises
    `ConfigurationError` where a part is asked for that there is not."""

    def __init__(self, options: SourceOptions, names: list[str] | None = None) -> None:
        if unknown := {*options.parts} - {*PARTS, *EDGES}:
            raise ConfigurationError(f"there is no part {min(unknown)!r}; there are {', '.join((*PARTS, *EDGES))}")
        self.options, self.names = options, names

    def partitions(self) -> list[InputPartition]:
        """Of every topic asked for, and its groups; of a stream itself only what its ledger says."""
        planned: list[InputPartition] = []
        for topic in self.options.journaled():
            there = EDGES if topic.is_stream else (*PARTS, *EDGES)
            parts = tuple(part for part in there if part in (self.options.parts or there))
            if parts:
                planned += [Slots(topic, slots, parts) for slots in self.options.groups_of(topic)]
        return planned

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """On an executor. Where there is no topic, Spark asks for a partition of its own invention."""
        if not isinstance(partition, Slots):
            return
        with self.options.connection() as connection:
            for slot in partition.slots:
                keyspace, parts = self.options.keyspace, partition.parts
                found = read_slot(connection, keyspace, partition.topic, slot, partition.timed, parts)
                yield from (batch.select(self.names) for batch in found) if self.names else found


def ledger_call(keys: SlotKeys) -> Call:
    """The call that reads a slot's ledger."""
    names = [keys.store, keys.retry, keys.prepare, keys.dead, keys.body, keys.failed, keys.stats]
    of_group = ([keys.positions], [keys.group]) if keys.group else ([], [])
    return Call(script("ledger"), [*names, keys.journal, *of_group[0]], of_group[1])


def read_ledger(reply: list[Any]) -> dict[str, Any]:
    """Inverse of what ``ledger.lua`` returns; plain values, fit for JSON."""
    now, store, retry, prepare, dead, bodies, failed, stats, entries, newest, added, position = reply
    said = {stats[i]: stats[i + 1] for i in range(0, len(stats), 2)}
    counters = asdict(Counters.read(said, number))
    return {
        "now_ms": now,
        "store": store,
        "retry": retry,
        "prepare": prepare,
        "dead": dead,
        "bodies": bodies,
        "failed": failed,
        "counters": counters,
        "spoiled": [name for name in (*COUNTERS, "corrected", "journaled") if is_spoiled(said.get(name.encode(), 0))],
        "journaled": number(said.get(b"journaled", 0)),
        "told": number(said.get(b"told", 0)),
        "corrected": number(said.get(b"corrected", 0)),
        "shape": shape_of("", said.get(b"shape")) or "",
        "writes": said.get(b"journal", b"o")[:1] != b"o",
        "entries": entries,
        "newest": newest.decode(),
        "around": _around(added, counters["sent"], said.get(b"taken_back")),
        "position": position.decode(errors="replace"),
    }


def _around(added: int, sent: int, taken_back: bytes | None) -> int:
    """How many entries a stream got that the engine has not added; 0 also where server or slot cannot say it."""
    return 0 if added < 0 or taken_back is None else added - sent - number(taken_back)


def content_of(packed: bytes) -> bytes:
    """What a dead letter's record says its content is; ``b""``: the id. Of one that cannot be read, no content at all
    is like it."""
    try:
        return Trashed.read(packed).body or b""
    except ValueError:
        return b"unreadable: " + packed


def read_slot(
    connection: Connection,
    keyspace: Keyspace,
    topic: str,
    slot: int,
    timed: bool = True,
    parts: tuple[str, ...] = (*PARTS, *EDGES),
) -> Iterator[pyarrow.RecordBatch]:
    """Everything one slot holds, a bounded part at a time. Raises `PipelineError` where a key of it is none of ours."""
    keys = keyspace.slot(topic, slot)
    try:
        yield from _read_slot(connection, keyspace, topic, slot, timed, parts)
    except ScriptFailed:
        check_types(connection, keys, f"topic {topic}, slot {slot}")
        raise


def check_types(connection: Connection, keys: SlotKeys, where: str) -> None:
    """Raises `PipelineError` for a key of a slot that somebody has made something else of."""
    for name in (*PARTS, "stats", "journal"):
        key = getattr(keys, name)
        wanted = _TYPES.get(name, ("hash",))
        (found,) = connection.run([("TYPE", key)])
        kind = found.decode() if isinstance(found, bytes) else str(found)
        if kind not in ("none", *wanted):
            raise PipelineError(
                f"{where}: the key {key} is of the type {kind}, not {' or '.join(wanted)}: somebody has overwritten it;"
                f" remove it (DEL), and the report says what it has held"
            )


def _read_slot(
    connection: Connection, keyspace: Keyspace, topic: str, slot: int, timed: bool, parts: tuple[str, ...]
) -> Iterator[pyarrow.RecordBatch]:
    keys = keyspace.slot(topic, slot)
    (reply,) = connection.run([ledger_call(keys)])
    begin = read_ledger(reply)
    at_ms = begin["now_ms"]
    if "begin" in parts:
        yield _batch(topic, slot, "begin", [b""], None, [json.dumps(begin).encode()], at_ms)
    for part in parts:
        if part in EDGES:
            continue
        command = "ZSCAN" if part in SCORED else "HSCAN"
        cursor: Any = 0
        while True:
            (reply,) = connection.run([(command, getattr(keys, part), cursor, "COUNT", COUNT)])
            cursor, found = reply
            if found:
                pairs = list(found.items()) if isinstance(found, dict) else found
                ids = [pair[0] for pair in pairs]
                values = [pair[1] for pair in pairs]
                if part in SCORED:
                    yield _batch(
                        topic,
                        slot,
                        part,
                        ids,
                        [float(value) for value in values],
                        None,
                        at_ms,
                        timed or part != "store",
                    )
                else:
                    if part == "dead_record":
                        values = [content_of(packed) for packed in values]
                    yield _batch(topic, slot, part, ids, None, values, at_ms)
            if not int(cursor):
                break
    if "end" not in parts:
        return
    (reply,) = connection.run([ledger_call(keys)])
    yield _batch(topic, slot, "end", [b""], None, [json.dumps(read_ledger(reply)).encode()], at_ms)


def _batch(
    topic: str,
    slot: int,
    part: str,
    ids: list[bytes],
    scores: list[float] | None,
    values: list[bytes] | None,
    at_ms: int,
    timed: bool = True,
) -> pyarrow.RecordBatch:
    import pyarrow as pa

    n = len(ids)
    known = None if scores is None else [whole(score, timed) for score in scores]
    schema = arrow(QUEUES)
    return pa.record_batch(
        [
            pa.repeat(pa.scalar(topic), n),
            pa.repeat(pa.scalar(slot, pa.int32()), n),
            pa.repeat(pa.scalar(part), n),
            pa.array(ids, pa.binary()),
            pa.nulls(n, pa.int64()) if known is None else pa.array(known, pa.int64()),
            pa.nulls(n, pa.binary()) if values is None else pa.array(values, pa.binary()),
            pa.repeat(pa.scalar(at_ms, pa.int64()), n),
            pa.nulls(n, pa.float64()) if scores is None else pa.array(scores, pa.float64()),
        ],
        schema=schema,
    )
