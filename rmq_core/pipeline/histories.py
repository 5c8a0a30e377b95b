"""The histories of messages, many at once: arrays of transitions in, a row per message out, no loop over rows.

A message has at most one copy that waits (store or retry), one in flight (prepare) and one that is dead. Every
transition takes a copy from one of these and puts one into another, so running sums in the journal's order show where
the copies are, and the first transition that could not have happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from rmq_core.journal.entries import EVENTS, PLACES
from rmq_core.pipeline.copies import columns_of
from rmq_core.pipeline.schemas import COPIES, HISTORIES, NO_CONTENT, OWN_CONTENT, PARTS, POOLED, SCORED, STEPS, arrow
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS

if TYPE_CHECKING:
    import pyarrow

UNKNOWN, LIVE = 28, 31
"""Instead of an event: one this version does not know; a row of the live queues."""

WRONG = (None, "delivered_after_success", "ended_twice", "impossible_transition")
_LETTERS = {"waiting": "sr", "in_flight": "p", "dead": "d"}
_LETTERS_BY_BITS = [{ord(letter) & 31: letter for letter in PLACES}.get(bits, "-") for bits in range(32)]
_ENDS = ("acked", "dropped", "cancelled")
_ARRIVALS = ("sent", "merged", "rescheduled")


STEP_BITS, LETTER_BITS = 10, 5
"""A step is one number: the event's place in `EVENTS`, then where it came from and went, the low bits of the letters
of the route; or `LIVE`, and the place in `PARTS`.
"""


class _Tables:
    """What a step is, by its number."""

    def __init__(self) -> None:
        import numpy as np

        steps, low = np.arange(32 << STEP_BITS), (1 << LETTER_BITS) - 1
        self.event, origin, target = steps >> STEP_BITS, (steps >> LETTER_BITS) & low, steps & low
        known = self.event <= UNKNOWN

        def among(values: Any, letters: str) -> Any:
            return known & np.isin(values, [ord(letter) & low for letter in letters])

        def one_of(*names: str) -> Any:
            return np.isin(self.event, [EVENTS.index(name) for name in names])

        merges = one_of("merged")
        self.change, self.leaves = {}, {}
        for copy, letters in _LETTERS.items():
            leaves, comes = among(origin, letters), among(target, letters)
            # A merge changes the score of the one that is there, so nothing comes; merging within a queue is one less.
            minus, plus = leaves & (~comes | merges), comes & ~leaves & ~merges
            self.change[copy] = plus.astype(np.int64) - minus
            self.leaves[copy] = leaves
        self.known, self.waits = known, among(target, "sr")
        self.target, self.origin = target, origin
        self.acked, self.ends, self.taken, self.sent = one_of("acked"), one_of(*_ENDS), one_of("taken"), one_of("sent")
        self.arrives = one_of(*_ARRIVALS)
        self.timed = self.arrives | self.taken | self.acked
        # From nowhere: whatever copies the journal still counts were lost, or a repair has taken stock of the message.
        self.afresh = one_of("restored", "erased") & (origin == ord("-") & low)
        self.new, self.merges = among(origin, "n"), merges
        self.trash = among(origin, "t"), among(target, "t")


@cache
def _tables() -> _Tables:
    return _Tables()


def histories(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Rows of `schemas.STEPS`, sorted by message and then by position and seq → rows of `schemas.HISTORIES`.

    A message may go on in the next batch; the rows of one message must fit into memory.
    """
    import numpy as np
    import pyarrow as pa

    tables = _tables()
    held: list[Any] = []
    for batch in batches:
        starts = np.flatnonzero(_first(batch))
        if len(starts) > 1:
            last = int(starts[-1])
            yield from _judge(tables, pa.Table.from_batches([*held, batch.slice(0, last)]).combine_chunks())
            held = [batch.slice(last)]
        elif batch.num_rows:
            held.append(batch)
    if held:
        yield from _judge(tables, pa.Table.from_batches(held).combine_chunks())


def _first(rows: Any) -> Any:
    """Whether a row is the first of its message (the first row of all is)."""
    import numpy as np
    import pyarrow.compute as pc

    first = np.ones(rows.num_rows, dtype=bool)
    if rows.num_rows > 1:
        same = [pc.equal(rows[name][1:], rows[name][:-1]) for name in ("id", "slot", "topic")]
        first[1:] = ~pc.and_(pc.and_(same[0], same[1]), same[2]).to_numpy(zero_copy_only=False)
    return first


class _Rows:
    """The columns of some whole messages, and where each message begins."""

    def __init__(self, tables: _Tables, table: Any) -> None:
        import numpy as np

        first = _first(table)
        column = {name: table[name].to_numpy() for name, _, _ in STEPS if name not in ("topic", "id")}
        self.step, self.position, self.life = column["step"], column["position"], column["life"]
        self.score, self.due_ms = column["score"], column["due_ms"]
        self.priority, self.failures = column["priority"], column["failures"]
        self.exact, self.content, self.failed = column["exact"], column["content"], column["failed"]
        self.seq, self.at_ms = column["seq"], column["at_ms"]
        self.index = np.arange(len(first))
        self.starts = np.flatnonzero(first)
        self.message = np.cumsum(first) - 1
        fresh = first.copy()
        fresh[1:] |= self.life[1:] != self.life[:-1]
        fresh |= tables.afresh[self.step]
        # A new life begins with nothing: what was there before does not carry over.
        self.begin = np.maximum.accumulate(np.where(fresh, self.index, 0))
        self.afresh = tables.afresh[self.step]

    def before(self, change: Any) -> Any:
        """The running sum in front of each row, within its life."""
        import numpy as np

        total = np.cumsum(change) - change
        return total - total[self.begin]

    def last(self, where: Any) -> Any:
        """Per message the last row of those; -1: none."""
        import numpy as np

        return np.maximum.reduceat(np.where(where, self.index, -1), self.starts)


def _judge(tables: _Tables, table: Any) -> Iterator[pyarrow.RecordBatch]:
    """Those messages of which something is left or wrong; of the others, only the times count."""
    import numpy as np
    import pyarrow as pa

    rows = _Rows(tables, table)
    step = rows.step
    change = {copy: tables.change[copy][step] for copy in COPIES}
    before = {copy: rows.before(change[copy]) for copy in COPIES}
    known = tables.known[step]
    end = rows.last(known)

    def picked(values: Any, at: Any, kind: Any) -> Any:
        return pa.array(values[np.maximum(at, 0)], kind, mask=at < 0)

    waits = rows.last(tables.waits[step] & (rows.score > 0))
    names = pa.array([*EVENTS, *["unknown"] * (LIVE - len(EVENTS) + 1)])
    letters = pa.array(_LETTERS_BY_BITS)
    event = tables.event[step]
    columns: dict[str, Any] = {name: table[name].combine_chunks().take(rows.starts) for name in ("topic", "slot", "id")}
    columns |= {copy: picked(before[copy] + change[copy], end, pa.int32()) for copy in COPIES}
    columns |= {
        "event": names.take(picked(event, end, pa.int32())),
        "life": picked(rows.life, end, pa.int32()),
        "position": picked(rows.position, end, pa.int64()),
        "wrong": _wrong(tables, rows, change, before, names, letters),
        "queue": letters.take(picked(tables.target[step], waits, pa.int32())),
        **_places(rows),
    }
    left = [change[copy][end] + before[copy][end] > 0 for copy in COPIES]
    columns |= columns_of(tables, rows, end, [each & (end >= 0) for each in left])
    noted = [columns[name].is_valid() for name in ("wrong", "in_store", "in_retry", "in_prepare", "in_dead")]
    seen = [np.asarray(each) for each in (*noted, columns["has_body"], columns["has_failed"])]
    kept = pa.array(np.logical_or.reduce([*(each & (end >= 0) for each in left), *seen]))
    yield _batch({name: column.filter(kept) for name, column in columns.items()})
    yield _batch(_times(tables, rows, columns["topic"]))


def _batch(columns: dict[str, Any]) -> pyarrow.RecordBatch:
    """Rows of the result; a column that is not given is null."""
    import pyarrow as pa

    schema, total = arrow(HISTORIES), len(columns["topic"])
    return pa.record_batch(
        [columns[each.name] if each.name in columns else pa.nulls(total, each.type) for each in schema], schema=schema
    )


def _wrong(
    tables: _Tables, rows: _Rows, change: dict[str, Any], before: dict[str, Any], names: Any, letters: Any
) -> Any:
    """Per message the first transition that could not have happened."""
    import numpy as np
    import pyarrow as pa

    step = rows.step
    missing, too_many = np.zeros(len(step), dtype=bool), np.zeros(len(step), dtype=bool)
    for copy in COPIES:
        missing |= tables.leaves[copy][step] & (before[copy] < 1)
        if copy != "dead":
            too_many |= (change[copy] > 0) & (before[copy] > 0)
    # What was wrong before the journal took stock of the message is settled.
    settled = rows.last(rows.afresh)[rows.message]
    at = np.flatnonzero((missing | too_many) & (rows.index > settled))
    kind = np.full(len(at), 3)
    ended = rows.before(tables.ends[step].astype(np.int64))[at] > 0
    kind[missing[at] & ended & tables.ends[step[at]]] = 2
    acked = rows.before(tables.acked[step].astype(np.int64))[at] > 0
    kind[missing[at] & acked & tables.taken[step[at]]] = 1
    messages, first = np.unique(rows.message[at], return_index=True)
    row = np.full(len(rows.starts), -1)
    row[messages] = at[first]
    what = np.zeros(len(rows.starts), dtype=np.int64)
    what[messages] = kind[first]
    there = np.maximum(row, 0)
    fields = {
        "position": pa.array(rows.position[there]),
        "kind": pa.array(WRONG).take(pa.array(what)),
        "event": names.take(pa.array(tables.event[step[there]])),
        "origin": letters.take(pa.array(tables.origin[step[there]])),
        "target": letters.take(pa.array(tables.target[step[there]])),
        **{f"b_{copy}": pa.array(before[copy][there], pa.int32()) for copy in COPIES},
    }
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=pa.array(row < 0))


def _times(tables: _Tables, rows: _Rows, topic: Any) -> dict[str, Any]:
    """Per topic ``lateness``: delivered − due, and ``end_to_end``: done − sent, ms; as often as it happened.

    ``topic``: of each message.
    """
    import numpy as np
    import pyarrow as pa

    at = np.flatnonzero(tables.timed[rows.step])
    step, message, ms, due_ms = rows.step[at], rows.message[at], rows.position[at] >> SEQUENCE_BITS, rows.due_ms[at]
    index = np.arange(len(at))
    begin = np.searchsorted(message, message)

    def earlier(where: Any) -> Any:
        """The last of those before each row, of the same message; -1: none."""
        reached = np.maximum.accumulate(np.where(where, index, -1))
        found = np.concatenate([[-1], reached[:-1]]) if len(reached) else reached
        return np.where(found >= begin, found, -1)

    due, sent, previous = earlier(due_ms >= 0), earlier(tables.sent[step]), earlier(np.ones(len(at), dtype=bool))
    # A retry is late by design: only the first delivery since the message was given a time counts.
    first = tables.taken[step] & (previous >= 0) & tables.arrives[step[previous]] & (due >= 0)
    done = tables.acked[step] & (sent >= 0)
    topics = topic.dictionary_encode()
    number = topics.indices.to_numpy()[message]

    def by_topic(where: Any, values: Any) -> Any:
        of = number[where]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(topics.dictionary)))])
        ordered = np.maximum(values, 0)[np.argsort(of, kind="stable")]
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(ordered, pa.int64()))

    return {
        "topic": topics.dictionary,
        "lateness": by_topic(first, ms[first] - due_ms[due[first]]),
        "end_to_end": by_topic(done, ms[done] - ms[sent[done]]),
    }


def _places(rows: _Rows) -> dict[str, Any]:
    """Where the snapshot saw each message: its score per queue, and whether the pools know it."""
    import numpy as np
    import pyarrow as pa

    total = len(rows.starts)
    found: dict[str, Any] = {}
    read_ms = np.full(total, -1)
    for number, part in enumerate(PARTS):
        at = np.flatnonzero(rows.step == (LIVE << STEP_BITS) + number)
        messages = rows.message[at]
        read_ms[messages] = rows.due_ms[at]
        if part in POOLED:
            there = np.zeros(total, dtype=bool)
            there[messages] = True
            found[f"has_{part}"] = pa.array(there)
            if part == "body":
                hashed = np.zeros(total, dtype=np.int64)
                hashed[messages] = rows.content[at]
                found["body_hash"] = pa.array(hashed, mask=~there)
        elif part in OWN_CONTENT:
            hashed = np.full(total, NO_CONTENT)
            hashed[messages] = rows.content[at]
            found[OWN_CONTENT[part]] = pa.array(hashed, mask=hashed == NO_CONTENT)
        elif part in SCORED:
            score = np.full(total, np.iinfo(np.int64).min)
            np.maximum.at(score, messages, rows.score[at])
            found[f"in_{part}"] = pa.array(score, mask=score == np.iinfo(np.int64).min)
            exact = np.full(total, np.nan)
            exact[messages] = rows.exact[at]
            found[f"exact_{part}"] = pa.array(exact, mask=np.isnan(exact))
    return found | {"read_ms": pa.array(read_ms, mask=read_ms < 0)}
