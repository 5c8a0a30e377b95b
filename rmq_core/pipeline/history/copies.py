"""What is known of each copy of a message: its score, content and failures, followed back through its history.

A copy waits, is in flight, is dead or lies in the trash, and its values come from where it was before. So each is
looked for from the end backwards: the transition that put the copy where it is, then the one that had put it where it
came from, until the one that sent it, or what a closing state knows of it. All messages go a step back at once; most
need one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rmq_core.pipeline.history.rows import Rows
from rmq_core.pipeline.history.steps import tables
from rmq_core.pipeline.schemas import COPIES, NO_CONTENT, UNSAID

WAITING, IN_FLIGHT, DEAD, TRASH, NOWHERE = range(5)
_KINDS = (("s", WAITING), ("r", WAITING), ("p", IN_FLIGHT), ("d", DEAD), ("t", TRASH))


class Trace(NamedTuple):
    """Per message the rows that say of one copy its ``score``, ``priority`` and content (``said``), and of its
    ``first`` and ``last`` failure; -1: none does. ``failures``: how many there were."""

    score: Any
    priority: Any
    said: Any
    first: Any
    last: Any
    failures: Any


def _kinds(letters: Any) -> Any:
    """Per row, which kind of copy a letter of a route (its low bits) stands for."""
    import numpy as np

    table = np.full(32, NOWHERE)
    for letter, kind in _KINDS:
        table[ord(letter) & 31] = kind
    return table[letters]


def traced(rows: Rows) -> dict[str, Trace]:
    """Per copy, the rows that tell of it, in each message that has it."""
    import numpy as np

    known, step, end = tables(), rows.step, rows.end
    origin = _kinds(known.origin[step])
    target = np.where(known.known[step], _kinds(known.target[step]), NOWHERE)
    # A send that merges gives the one that waits another content, and perhaps another score; it comes from there.
    merged = known.new[step] & known.merges[step]
    target, origin = np.where(merged, WAITING, target), np.where(merged, WAITING, origin)
    origin = np.where(rows.afresh, NOWHERE, origin)
    before = [np.maximum.accumulate(np.where(target == kind, rows.index, -1)) for kind in range(NOWHERE)]
    found: dict[str, Trace] = {}
    for kind, copy in enumerate(COPIES):
        total = len(end)
        score, priority, said, first, last = (np.full(total, -1, dtype=np.int64) for _ in range(5))
        trace = Trace(score, priority, said, first, last, failures=np.zeros(total, dtype=np.int64))
        which = np.flatnonzero((rows.copies_left[copy] > 0) & (end >= 0))
        at, kinds = end[which], np.full(len(which), kind)
        while len(which):
            row = np.full(len(which), -1)
            for each in range(NOWHERE):
                mine = kinds == each
                row[mine] = before[each][at[mine]]
            within = row >= rows.begin[np.maximum(at, 0)]
            which, row = which[within], row[within]
            _first(trace.score, which, row, (target[row] == kind) & (rows.score[row] > 0))
            _first(trace.priority, which, row, rows.priority[row] >= 0)
            _first(trace.said, which, row, rows.content[row] != NO_CONTENT)
            failed = rows.failed[row] > 0
            _first(trace.last, which, row, failed)
            trace.first[which[failed]] = row[failed]
            trace.failures[which[failed]] += rows.failed[row[failed]]
            kinds, at = origin[row], row - 1
            on = (kinds != NOWHERE) & (row > rows.begin[row])
            which, at, kinds = which[on], at[on], kinds[on]
        found[copy] = trace
    return found


def columns_of(rows: Rows, traces: dict[str, Trace]) -> dict[str, Any]:
    """The columns of `schemas.HISTORIES` that tell of each copy."""
    import numpy as np
    import pyarrow as pa

    def column(values: Any, at: Any, type: Any) -> Any:
        return pa.array(values[np.maximum(at, 0)], type, mask=at < 0)

    found: dict[str, Any] = {}
    for copy, trace in traces.items():
        said = np.where(rows.content[np.maximum(trace.said, 0)] == UNSAID, -1, trace.said)
        exact = rows.exact[np.maximum(trace.score, 0)]
        found |= {
            f"{copy}_score": column(rows.score, trace.score, pa.int64()),
            f"{copy}_exact": pa.array(exact, pa.float64(), mask=(trace.score < 0) | np.isnan(exact)),
            f"{copy}_priority": column(rows.priority, trace.priority, pa.int64()),
            f"{copy}_content": column(rows.content, said, pa.int64()),
            f"{copy}_content_at": column(rows.content_at, said, pa.int64()),
            f"{copy}_content_seq": column(rows.content_seq, said, pa.int32()),
            f"{copy}_failures": pa.array(trace.failures.astype(np.int32)),
            f"{copy}_first_failed_ms": column(rows.first_failed_ms, trace.first, pa.int64()),
            f"{copy}_failed_ms": column(rows.failed_ms, trace.last, pa.int64()),
            f"{copy}_failed_at": column(rows.failed_at, trace.last, pa.int64()),
            f"{copy}_failed_seq": column(rows.failed_seq, trace.last, pa.int32()),
        }
    return found


def _first(known: Any, which: Any, row: Any, where: Any) -> None:
    """Notes rows for messages of which none is noted yet."""
    take = where & (known[which] < 0)
    known[which[take]] = row[take]
