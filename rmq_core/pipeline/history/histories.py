"""The histories of messages, many at once: arrays of transitions in, a row per message out, no loop over rows.

A message has at most one copy that waits (store or retry), one in flight (prepare) and one that is dead. Every
transition takes a copy from one of these and puts one into another, so running sums in the journal's order show where
the copies are, and the first transition that could not have happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from rmq_core.journal.entries import EVENTS
from rmq_core.pipeline.history import carried
from rmq_core.pipeline.history.copies import Trace, columns_of, traced
from rmq_core.pipeline.history.impossible import Wrongs, as_struct, wrongs
from rmq_core.pipeline.history.ordered import whole_messages
from rmq_core.pipeline.history.rows import Rows, first_rows
from rmq_core.pipeline.history.steps import LETTERS_BY_BITS, LIVE, NAMES, STEP_BITS, tables
from rmq_core.pipeline.history.times import times
from rmq_core.pipeline.schemas import COPIES, HISTORIES, NO_CONTENT, OWN_CONTENT, PARTS, POOLED, SCORED, arrow

if TYPE_CHECKING:
    import pyarrow


SETTLED_SHARE = 0.25
"""Where fewer messages are settled, it is not worth while to leave them out."""


@dataclass(frozen=True)
class Closing:
    """``number``: of the closing that is being made. ``known``: topics whose past an earlier one carries."""

    number: int
    known: frozenset[str] = frozenset()


def histories(batches: Iterable[pyarrow.RecordBatch], closing: Closing | None = None) -> Iterator[pyarrow.RecordBatch]:
    """Rows as `ordered.whole_messages` reads them → rows of `schemas.HISTORIES`."""
    for table in whole_messages(batches):
        yield from _judge(table, closing)


def judge(closing: Closing | None) -> Any:
    """`histories`, as Spark calls it."""
    return partial(histories, closing=closing)


def _judge(table: Any, closing: Closing | None) -> Iterator[pyarrow.RecordBatch]:
    import numpy as np

    current = carried.newest(table, first_rows(table))
    if not current.num_rows:
        return
    rows = Rows(current)
    wrong = wrongs(rows)
    unsure = carried.unsure(rows, wrong, closing.known if closing else frozenset())
    doubtful = unsure[rows.message]
    yield _batch(times(rows, doubtful))
    settled = _settled(rows, wrong, unsure)
    if settled.mean() > SETTLED_SHARE:
        left = ~settled[rows.message]
        if not left.any():
            return
        rows, unsure, doubtful = rows.only(left), unsure[~settled], doubtful[left]
        wrong = wrongs(rows)
    seen = rows.only(~rows.later)
    same = seen is rows
    traces = traced(seen)
    yield from _messages(seen, wrong if same else wrongs(seen), traces, doubtful[~rows.later][seen.starts])
    if not same and unsure.any():  # what is not judged may yet need a look at the archive
        yield _batch(_names(rows, unsure) | {"unsure": np.ones(unsure.sum(), dtype=bool)})
    if closing is not None:
        live = tables().event[rows.step] == LIVE
        cut = ~rows.tail & (~live if rows.tail.any() or not same else True)
        whole = rows.only(cut)
        if len(whole.step):
            left_out = doubtful[cut][whole.starts] if whole is not rows else unsure
            if whole is not seen:
                wrong, traces = wrongs(whole), traced(whole)
            yield _batch(carried.closed(whole, wrong, traces, left_out, closing.number))


def _settled(rows: Rows, wrong: Wrongs, unsure: Any) -> Any:
    """Per message, whether all of it is archived, new and in order, and nothing is left: only its times count."""
    import numpy as np

    apart = rows.tail | rows.later | rows.old | ~rows.happened
    found = ~(wrong.there | unsure | rows.any(apart)) & (rows.end >= 0)
    for copy in COPIES:
        found &= rows.copies_left[copy] == 0
    return np.asarray(found)


def _names(rows: Rows, which: Any) -> dict[str, Any]:
    """The columns that name some of the messages."""
    import pyarrow as pa

    at = pa.array(rows.starts[which])
    return {name: rows.table[name].combine_chunks().take(at) for name in ("topic", "slot", "id")}


def _messages(rows: Rows, wrong: Wrongs, traces: dict[str, Trace], unsure: Any) -> Iterator[pyarrow.RecordBatch]:
    """Those messages of which something is left or wrong; of the others, only the times count."""
    import numpy as np
    import pyarrow as pa

    if not len(rows.step):
        return
    known, end = tables(), rows.end

    def picked(values: Any, at: Any, kind: Any) -> Any:
        return pa.array(values[np.maximum(at, 0)], kind, mask=at < 0)

    names = pa.array([name if name in EVENTS else "unknown" for name in NAMES])
    letters = pa.array(LETTERS_BY_BITS)
    columns = _names(rows, np.ones(len(rows.starts), dtype=bool))
    columns |= {copy: pa.array(rows.copies_left[copy], pa.int32(), mask=end < 0) for copy in COPIES}
    columns |= {
        "event": names.take(pa.array(known.event[carried.last_steps(rows)], pa.int32(), mask=end < 0)),
        "life": picked(rows.life, end, pa.int32()),
        "position": picked(rows.position, end, pa.int64()),
        "wrong": as_struct(wrong, names),
        "queue": letters.take(pa.array(carried.rows_queue(rows, rows.waits), pa.int32(), mask=rows.waits < 0)),
        **_places(rows),
        **columns_of(rows, traces),
        "unsure": pa.array(unsure),
    }
    left = [(rows.copies_left[copy] > 0) & (end >= 0) for copy in COPIES]
    noted = [columns[name].is_valid() for name in ("wrong", "in_store", "in_retry", "in_prepare", "in_dead")]
    seen = [np.asarray(each) for each in (*noted, columns["has_body"], columns["has_failed"])]
    kept = pa.array(np.logical_or.reduce([*left, *seen, unsure]))
    yield _batch({name: column.filter(kept) for name, column in columns.items()})


def _batch(columns: dict[str, Any]) -> pyarrow.RecordBatch:
    """Rows of the result; a column that is not given is null."""
    import pyarrow as pa

    schema, total = arrow(HISTORIES), len(columns["topic"])
    return pa.record_batch(
        [columns[each.name] if each.name in columns else pa.nulls(total, each.type) for each in schema], schema=schema
    )


def _places(rows: Rows) -> dict[str, Any]:
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
