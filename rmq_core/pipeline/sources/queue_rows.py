"""What slots hold, as rows: slots that hold little are asked together, and share a batch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmq_core.pipeline.schemas import PARTS, QUEUES, SCORED, arrow
from rmq_core.pipeline.sources.decoding import whole
from rmq_core.pipeline.sources.ledgers import ledger_call, naming, read_ledger
from rmq_core.pipeline.sources.packing import packed
from rmq_core.protocol.keys import Keyspace, SlotKeys
from rmq_core.queries.trash import Trashed
from rmq_core.transport.sync import Connection

if TYPE_CHECKING:
    import pyarrow

EDGES = ("begin", "end")
COUNT = 5_000
A_SLOT = 20
"""Looking at a slot costs about as much as so many rows."""


@dataclass(frozen=True)
class Place:
    """A slot, the parts of it that are wanted, and how much they held when that was planned. ``timed``: its scores are
    times."""

    topic: str
    slot: int
    timed: bool = True
    parts: tuple[str, ...] = (*PARTS, *EDGES)
    size: int = 0


@dataclass(frozen=True)
class _Scan:
    place: Place
    part: str
    key: str
    at_ms: int

    def request(self, cursor: Any) -> tuple[Any, ...]:
        """The next piece."""
        return ("ZSCAN" if self.part in SCORED else "HSCAN", self.key, cursor, "COUNT", COUNT)


@dataclass
class _Rows:
    """Columns of `QUEUES`. ``pieces``: place, part, ``at_ms`` and how many."""

    pieces: list[tuple[Place, str, int, int]] = field(default_factory=list)
    ids: list[bytes] = field(default_factory=list)
    scores: list[int | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    exact: list[float | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, scan: _Scan, found: Any) -> None:
        """What a scan has found."""
        pairs = list(found.items()) if isinstance(found, dict) else found
        n, nothing = len(pairs), [None] * len(pairs)
        self.pieces.append((scan.place, scan.part, scan.at_ms, n))
        self.ids += [pair[0] for pair in pairs]
        if scan.part in SCORED:
            scores, timed = [float(pair[1]) for pair in pairs], scan.place.timed or scan.part != "store"
            self.scores += [whole(score, timed) for score in scores]
            self.exact += scores
            self.values += nothing
        else:
            self.scores += nothing
            self.exact += nothing
            self.values += [content_of(pair[1]) if scan.part == "dead_record" else pair[1] for pair in pairs]

    def add_ledger(self, place: Place, part: str, at_ms: int, ledger: dict[str, Any]) -> None:
        """What a slot's ledger said."""
        self.pieces.append((place, part, at_ms, 1))
        self.ids.append(b"")
        self.scores.append(None)
        self.exact.append(None)
        self.values.append(json.dumps(ledger).encode())

    def batch(self) -> pyarrow.RecordBatch:
        """What was gathered; starts again."""
        import numpy as np
        import pyarrow as pa

        piece = pa.array(np.repeat(np.arange(len(self.pieces)), [n for _, _, _, n in self.pieces]))
        columns = [
            pa.array([place.topic for place, _, _, _ in self.pieces], pa.string()).take(piece),
            pa.array([place.slot for place, _, _, _ in self.pieces], pa.int32()).take(piece),
            pa.array([part for _, part, _, _ in self.pieces], pa.string()).take(piece),
            pa.array(self.ids, pa.binary()),
            pa.array(self.scores, pa.int64()),
            pa.array(self.values, pa.binary()),
            pa.array([at_ms for _, _, at_ms, _ in self.pieces], pa.int64()).take(piece),
            pa.array(self.exact, pa.float64()),
        ]
        self.__init__()  # type: ignore[misc]
        return pa.record_batch(columns, schema=arrow(QUEUES))


def content_of(packed: bytes) -> bytes:
    """What a dead letter's record says its content is; ``b""``: the id. Of one that cannot be read, no content at all
    is like it."""
    try:
        return Trashed.read(packed).body or b""
    except ValueError:
        return b"unreadable: " + packed


def read_slots(connection: Connection, keyspace: Keyspace, places: Iterable[Place]) -> Iterator[pyarrow.RecordBatch]:
    """Everything some slots hold, a bounded part at a time. Raises `PipelineError` where a key is none of ours."""
    for some in packed(((place, place.size + A_SLOT) for place in places), COUNT, COUNT):
        asked = [(place, keyspace.slot(place.topic, place.slot)) for place in some]
        with naming(connection, [(place.topic, place.slot, keys) for place, keys in asked]):
            yield from _read(connection, asked)


def _read(connection: Connection, asked: list[tuple[Place, SlotKeys]]) -> Iterator[pyarrow.RecordBatch]:
    calls = [ledger_call(keys) for _, keys in asked]
    rows, began_ms, scans = _Rows(), list[int](), list[_Scan]()
    for (place, keys), reply in zip(asked, connection.run(calls), strict=True):
        ledger = read_ledger(reply)
        began_ms.append(ledger["now_ms"])
        if "begin" in place.parts:
            rows.add_ledger(place, "begin", began_ms[-1], ledger)
        wanted = [part for part in place.parts if part not in EDGES]
        scans += [_Scan(place, part, getattr(keys, part), began_ms[-1]) for part in wanted]
    longer = list[tuple[_Scan, Any]]()
    for scan, (cursor, found) in zip(scans, connection.run([scan.request(0) for scan in scans]), strict=True):
        rows.add(scan, found)
        if int(cursor):
            longer.append((scan, cursor))
    for scan, first in longer:
        cursor = first
        while int(cursor):
            if len(rows) >= COUNT:
                yield rows.batch()
            ((cursor, found),) = connection.run([scan.request(cursor)])
            rows.add(scan, found)
    if any("end" in place.parts for place, _ in asked):
        for (place, _), at_ms, reply in zip(asked, began_ms, connection.run(calls), strict=True):
            if "end" in place.parts:
                rows.add_ledger(place, "end", at_ms, read_ledger(reply))
    if len(rows):
        yield rows.batch()
