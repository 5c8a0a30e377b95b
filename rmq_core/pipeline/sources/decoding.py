"""Journal entries as columns: the layout of `rmq_core.journal.entries`, without an object per transition."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmq_core.errors import InvalidMessage
from rmq_core.journal.entries import _unescaped as unescaped
from rmq_core.journal.opening import FARTHEST, bodies_of, clamped, failures_of, opened
from rmq_core.model.bodies import BODY_FORMAT, LIMITED_FORMAT
from rmq_core.model.entry_form import ENTRY_FORMAT, basis_in_entry
from rmq_core.model.scores import RETRIED_MAX, SHIFT, priority_of
from rmq_core.model.topic import TopicKind
from rmq_core.pipeline.schemas import EVENTS, arrow

if TYPE_CHECKING:
    import pyarrow

DAY_MS = 86_400_000
SEQUENCE_BITS = 20
"""So many entries a slot can write in one millisecond before positions would collide."""
FAR_MS = 2**42
"""In the year 2109: ids from there on are of no clock."""
_FAR_BITS, _DROPPED, _FAR_PLACE = 37, 5, 2**40

TIMED = (TopicKind.RANGE_MERGE.value, TopicKind.FIXED_TIME.value)
_TIMED_RECEIPTS = frozenset({"taken", "acked", "expired", "extended"})


def position_of(entry: str) -> int:
    """A stream id (or an offset that begins with one) as a number below 2**63 that sorts in the same way; "" is -1.

    Where somebody has added an entry whose id is no time of ours, all that follow come behind it: of such an id it has
    the first 38 binary digits of the time, and the last 20 of the sequence.
    """
    if not entry:
        return -1
    ms, _, sequence = entry.partition(":")[0].partition("-")
    time, place = int(ms), int(sequence or 0)
    if time >= FAR_MS:
        more = time.bit_length() - FAR_MS.bit_length()
        time = FAR_MS + (more << _FAR_BITS) + (time >> more + _DROPPED) - (1 << _FAR_BITS)
    return (time << SEQUENCE_BITS) + (place if place < _FAR_PLACE else place % (1 << SEQUENCE_BITS))


def id_at(position: int) -> str:
    """The first stream id at a position."""
    time, place = position >> SEQUENCE_BITS, position & ((1 << SEQUENCE_BITS) - 1)
    if time >= FAR_MS:
        more, digits = divmod(time - FAR_MS, 1 << _FAR_BITS)
        time = (digits + (1 << _FAR_BITS)) << more + _DROPPED
    return f"{time}-{place}"


def whole(score: float, timed: bool) -> int:
    """What a score says without the place among equals: a time; unless ``timed``, a priority in store."""
    if not abs(score) < FARTHEST:  # nobody but a person with a client of Redis writes that
        return int(clamped(score))
    return math.floor(score) if timed else priority_of(score)


def basis_in(body: bytes) -> bytes | None:
    """The slot basis that a body bears, where it differs from the id; an entry of a stream, where it has one. None
    also where it cannot be read, for somebody else wrote it."""
    try:
        if body.startswith(ENTRY_FORMAT):
            return basis_in_entry(body)
        if body.startswith(LIMITED_FORMAT):
            body = body.partition(b" ")[2]
        elif not body.startswith(BODY_FORMAT):
            return None
        _, size, _, rest = body.split(b" ", 3)
        return rest[: int(size)] or None
    except (InvalidMessage, ValueError):
        return None


@dataclass
class Columns:
    """Transitions of some slots of one topic, gathered until there are enough for a batch."""

    topic: str
    kind: str
    ids: list[bytes] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)
    exact: dict[int, float] = field(default_factory=dict)
    failures: dict[int, list[Any]] = field(default_factory=dict)
    bodies: dict[int, bytes] = field(default_factory=dict)
    bases: dict[int, bytes] = field(default_factory=dict)
    # per entry: stream id, position, running number, time, by whom, slot
    entries: list[tuple[str, int, int, int, str, int]] = field(default_factory=list)
    # per group: its entry, event, route, how many, whether contents are written, whether each has one that is not
    groups: list[tuple[int, str, str, int, bool, bool]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, slot: int, entry: bytes, fields: dict[bytes, bytes]) -> None:
        """One entry of a slot's stream; nothing of one that the engine has not written."""
        found = opened(self.topic, slot, fields)
        if found is None:
            return
        text, (n, values) = entry.decode(), found
        index, timed = len(self.entries), self.kind in TIMED
        by = fields.get(b"w", b"").decode(errors="replace")
        self.entries.append((text, position_of(text), n, values[0], by, slot))
        for group in values[1:]:
            event, route, items = group[0].decode(), group[1].decode(), group[2]
            first = len(self.ids)
            self.ids += items[::2]
            details = items[1::2]
            for i, detail in enumerate(details):
                if type(detail) is not int:
                    if type(detail) is list:
                        self.failures[first + i] = detail
                        detail = detail[0]
                    score = float(detail) if detail else 0.0
                    details[i] = whole(score, timed or route[1:] != "s")
                    if details[i] != score:
                        self.exact[first + i] = score
                elif not -FARTHEST <= detail <= FARTHEST:
                    details[i] = clamped(detail)
            self.scores += details
            bodies: Any = group[3] if len(group) > 3 else None
            says = bodies is not None and bodies is not False
            stored = len(group) > 5 and group[5] == len(details)
            self.groups.append((index, event, route, len(details), says, stored))
            if len(group) > 4:  # in mode events the contents' slot bases are written alone
                for place, basis in zip(group[4][::2], group[4][1::2], strict=True):
                    self.bases[first + place - 1] = basis
            if says:
                for place, body in bodies_of(bodies).items():
                    self.bodies[first + place - 1] = body
                    if basis := basis_in(body):
                        self.bases[first + place - 1] = basis

    def batch(self) -> pyarrow.RecordBatch:
        """What was gathered; starts again."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        total = len(self.ids)
        counts = np.array([group[3] for group in self.groups], dtype=np.int64)
        entry_of = np.repeat(np.array([group[0] for group in self.groups], dtype=np.int64), counts)
        group_of = np.repeat(np.arange(len(self.groups)), counts)
        starts = np.searchsorted(entry_of, np.arange(len(self.entries)))
        seq = np.arange(total) - starts[entry_of]

        def per_entry(values: list[Any], kind: Any) -> Any:
            return pa.array(values, kind).take(pa.array(entry_of))

        def per_group(values: list[str]) -> Any:
            return pa.array(values, pa.string()).take(pa.array(group_of))

        days: dict[int, str] = {}
        for _, _, _, at_ms, _, _ in self.entries:
            day = at_ms // DAY_MS
            if day not in days:
                days[day] = str(np.datetime64(day, "D"))
        score = np.array(self.scores, dtype=np.int64)
        events = np.array([group[1] for group in self.groups])[group_of]
        targets = np.array([group[2][1] for group in self.groups])[group_of]
        is_receipt = np.isin(events, list(_TIMED_RECEIPTS))
        scored = np.isin(targets, ["s", "r", "p", "d"])
        in_store = (targets == "s") & (score > RETRIED_MAX)
        in_retry = targets == "r"
        timed = self.kind in TIMED
        due = np.where(in_retry, score // SHIFT, score)
        failed = np.where(is_receipt | in_retry, score % SHIFT, 0)
        has_failures = is_receipt | in_retry
        for at, detail in self.failures.items():
            failed[at], has_failures[at] = failures_of(detail[1]), True
        texts: dict[str, list[str | None]] = {}
        for name, at_place in (("fingerprint", 2), ("error", 3), ("message", 4), ("worker", 5)):
            column: list[str | None] = [None] * total
            for at, detail in self.failures.items():
                column[at] = unescaped(detail[at_place])
            texts[name] = column
        made_by = [each[4].partition(" ") for each in self.entries]
        hosts, workers = ([each[part] or None for each in made_by] for part in (0, 2))
        worker = per_entry(workers, pa.string())
        own_worker = pa.array([name or None for name in texts.pop("worker")], pa.string())
        exact: list[float | None] = [None] * total
        for at, place in self.exact.items():
            exact[at] = place
        sizes = np.bincount(entry_of, minlength=len(self.entries))
        bodies: list[bytes | None] = [None] * total
        for at, body in self.bodies.items():
            bodies[at] = body

        bases: list[bytes | None] = [None] * total
        for at, basis in self.bases.items():
            bases[at] = basis

        def masked(values: Any, valid: Any, kind: Any) -> Any:
            return pa.array(values, kind, mask=~valid)

        columns = {
            "topic": pa.repeat(pa.scalar(self.topic), total),
            "date": per_entry([days[each[3] // DAY_MS] for each in self.entries], pa.string()),
            "slot": per_entry([each[5] for each in self.entries], pa.int32()),
            "entry": per_entry([each[0] for each in self.entries], pa.string()),
            "position": per_entry([each[1] for each in self.entries], pa.int64()),
            "n": per_entry([each[2] for each in self.entries], pa.int64()),
            "seq": pa.array(seq, pa.int32()),
            "at": per_entry([each[3] * 1000 for each in self.entries], pa.int64()).cast(pa.timestamp("us", tz="UTC")),
            "event": per_group([group[1] for group in self.groups]),
            "origin": per_group([group[2][0] for group in self.groups]),
            "target": per_group([group[2][1] for group in self.groups]),
            "id": pa.array(self.ids, pa.binary()),
            "score": masked(score, scored | np.isin(events, ["began", "trimmed", "moved"]), pa.int64()),
            "receipt": masked(score, is_receipt, pa.int64()),
            "due_ms": masked(due, in_retry | (in_store if timed else np.zeros(total, dtype=bool)), pa.int64()),
            "priority": masked(score, np.zeros(total, dtype=bool) if timed else in_store, pa.int64()),
            "failures": masked(failed.astype(np.int32), has_failures, pa.int32()),
            **{name: pa.array(column, pa.string()) for name, column in texts.items()},
            "worker": pc.coalesce(own_worker, worker),
            "host": per_entry(hosts, pa.string()),
            "body": pa.array(bodies, pa.binary()),
            "basis": pa.array(bases, pa.binary()),
            "exact": pa.array(exact, pa.float64()),
            "size": pa.array(sizes[entry_of], pa.int32()),
            **{
                name: pa.array(np.array([group[at] for group in self.groups], dtype=bool)[group_of], pa.bool_())
                for name, at in (("says", 4), ("stored", 5))
            },
        }
        schema = arrow(EVENTS)
        self.__init__(self.topic, self.kind)  # type: ignore[misc]
        return pa.record_batch([columns[name] for name in schema.names], schema=schema)


def batches(
    topic: str, kind: str, entries: Iterable[tuple[int, bytes, dict[bytes, bytes]]], size: int
) -> Iterable[pyarrow.RecordBatch]:
    """Slots, ids and fields of entries of one topic, as batches of about ``size`` transitions."""
    columns = Columns(topic, kind)
    for slot, entry, fields in entries:
        columns.add(slot, entry, fields)
        if len(columns) >= size:
            yield columns.batch()
    if len(columns):
        yield columns.batch()
