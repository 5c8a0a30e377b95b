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
from rmq_core.pipeline.schemas import COPIES, NO_CONTENT, STORED, UNSAID

WAITING, IN_FLIGHT, DEAD, TRASH, NOWHERE = range(5)
_KINDS = (("s", WAITING), ("r", WAITING), ("p", IN_FLIGHT), ("d", DEAD), ("t", TRASH))


class Trace(NamedTuple):
    """Per message the rows that say of one copy its ``score``, ``priority`` and content (``said``), and of its
    ``first`` and ``last`` failure; -1: none does. ``failures``: how many there were; ``has``: whether it has one."""

    score: Any
    priority: Any
    said: Any
    first: Any
    last: Any
    failures: Any
    has: Any


def _kinds(letters: Any) -> Any:
    """Per row, which kind of copy a letter of a route (its low bits) stands for."""
    import numpy as np

    table = np.full(32, NOWHERE)
    for letter, kind in _KINDS:
        table[ord(letter) & 31] = kind
    return table[letters]


class _Stays:
    """Rows that leave a copy where it waits: it was merged, or given another time. Of millions one behind the other,
    each would be a step back; so those of one copy are taken as one. ``since``: per row, the first of them."""

    def __init__(self, rows: Rows, target: Any, origin: Any) -> None:
        import numpy as np

        self.index, self.waits = rows.index, target == WAITING
        self.there = self.waits & (origin == WAITING) & (rows.failed == 0)
        self.since, self.some = self.index, bool(self.there.any())
        self.known: dict[str, Any] = {}
        if self.some:
            at = np.flatnonzero(self.waits)
            stays, begin = self.there[at], rows.begin[at]
            goes_on = np.zeros(len(at), dtype=bool)
            goes_on[1:] = stays[1:] & stays[:-1] & (begin[1:] == begin[:-1])
            self.since = self.index.copy()
            self.since[at] = at[np.maximum.accumulate(np.where(goes_on, 0, np.arange(len(at))))]

    def last(self, name: str, where: Any, row: Any) -> Any:
        """The last of those up to ``row`` in which something is so; -1: in none. ``name``: of what."""
        import numpy as np

        found = np.where(where[row], row, -1)
        if not self.some:
            return found
        if name not in self.known:
            self.known[name] = np.maximum.accumulate(np.where(self.waits & where, self.index, -1))
        reached = self.known[name][row]
        return np.where(self.since[row] < row, np.where(reached >= self.since[row], reached, -1), found)


def traced(rows: Rows, *, gone: bool = False) -> dict[str, Trace]:
    """Per copy, the rows that tell of it, in each message that has it. ``gone``: also of those that it no longer has,
    and of what went into the trash: something may yet come from there."""
    import numpy as np

    known, step, end = tables(), rows.step, rows.end
    origin = _kinds(known.origin[step])
    target = np.where(known.known[step], _kinds(known.target[step]), NOWHERE)
    # A send that merges gives the one that waits another content, and perhaps another score; it comes from there.
    merged = known.new[step] & known.merges[step]
    target, origin = np.where(merged, WAITING, target), np.where(merged, WAITING, origin)
    origin = np.where(rows.afresh, NOWHERE, origin)
    before = [np.maximum.accumulate(np.where(target == kind, rows.index, -1)) for kind in range(NOWHERE)]
    has = {copy: (rows.copies_left[copy] > 0) & (end >= 0) for copy in COPIES}
    if gone:
        there = zip((*COPIES, "trash"), before, strict=True)
        has = {copy: (end >= 0) & (at[end] >= rows.begin[end]) for copy, at in there}
    scored, ranked, said = rows.score > 0, rows.priority >= 0, rows.content != NO_CONTENT
    stays = _Stays(rows, target, origin)
    found: dict[str, Trace] = {}
    for kind, copy in enumerate(has):
        total = len(end)
        score, priority, says, first, last = (np.full(total, -1, dtype=np.int64) for _ in range(5))
        failures = np.zeros(total, dtype=np.int64)
        trace = found[copy] = Trace(score, priority, says, first, last, failures, has[copy])
        which = np.flatnonzero(has[copy])
        at, kinds = end[which], np.full(len(which), kind)
        while len(which):
            row = np.full(len(which), -1)
            for each in range(NOWHERE):
                mine = kinds == each
                row[mine] = before[each][at[mine]]
            within = row >= rows.begin[np.maximum(at, 0)]
            which, row = which[within], row[within]
            _first(trace.score, which, np.where(target[row] == kind, stays.last("score", scored, row), -1))
            _first(trace.priority, which, stays.last("priority", ranked, row))
            _first(trace.said, which, stays.last("said", said, row))
            failed = rows.failed[row] > 0
            _first(trace.last, which, np.where(failed, row, -1))
            trace.first[which[failed]] = row[failed]
            trace.failures[which[failed]] += rows.failed[row[failed]]
            kinds, row = origin[row], stays.since[row]
            on = (kinds != NOWHERE) & (row > rows.begin[row])
            which, at, kinds = which[on], row[on] - 1, kinds[on]
    return found


def columns_of(rows: Rows, traces: dict[str, Trace]) -> dict[str, Any]:
    """The columns of `schemas.HISTORIES` that tell of each copy."""
    import numpy as np
    import pyarrow as pa

    def column(values: Any, at: Any, type: Any) -> Any:
        return pa.array(values[np.maximum(at, 0)], type, mask=at < 0)

    found: dict[str, Any] = {}
    for copy in COPIES:
        trace = traces[copy]
        content = rows.content[np.maximum(trace.said, 0)]
        said = np.where(np.isin(content, [STORED, UNSAID]), -1, trace.said)
        exact = rows.places[np.maximum(trace.score, 0)]
        found |= {
            f"{copy}_score": column(rows.score, trace.score, pa.int64()),
            f"{copy}_exact": pa.array(exact, pa.float64(), mask=(trace.score < 0) | np.isnan(exact)),
            f"{copy}_priority": column(rows.priority, trace.priority, pa.int64()),
            f"{copy}_content": column(rows.content, said, pa.int64()),
            f"{copy}_stored": pa.array((trace.said >= 0) & (content == STORED)),
            f"{copy}_content_at": column(rows.content_at, said, pa.int64()),
            f"{copy}_content_seq": column(rows.content_seq, said, pa.int32()),
            f"{copy}_failures": pa.array(trace.failures.astype(np.int32)),
            f"{copy}_first_failed_ms": column(rows.first_failed_ms, trace.first, pa.int64()),
            f"{copy}_failed_ms": column(rows.failed_ms, trace.last, pa.int64()),
            f"{copy}_failed_at": column(rows.failed_at, trace.last, pa.int64()),
            f"{copy}_failed_seq": column(rows.failed_seq, trace.last, pa.int32()),
        }
    return found


def _first(known: Any, which: Any, row: Any) -> None:
    """Notes rows (-1: none) for messages of which none is noted yet."""
    take = (row >= 0) & (known[which] < 0)
    known[which[take]] = row[take]
