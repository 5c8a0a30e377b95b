"""What is known of each copy of a message: its score, content and failures, followed back through its history.

A copy waits, is in flight, is dead or lies in the trash, and its values come from where it was before. So each is
looked for from the end backwards: the transition that put the copy where it is, then the one that had put it where it
came from, until the one that sent it. All messages go a step back at once; most need one.
"""

from __future__ import annotations

from typing import Any

from rmq_core.pipeline.schemas import COPIES, NO_CONTENT, UNSAID

WAITING, IN_FLIGHT, DEAD, TRASH, NOWHERE = range(5)
_KINDS = (("s", WAITING), ("r", WAITING), ("p", IN_FLIGHT), ("d", DEAD), ("t", TRASH))


def _kinds(letters: Any) -> Any:
    """Per row, which kind of copy a letter of a route (its low bits) stands for."""
    import numpy as np

    table = np.full(32, NOWHERE)
    for letter, kind in _KINDS:
        table[ord(letter) & 31] = kind
    return table[letters]


def columns_of(tables: Any, rows: Any, end: Any, left: list[Any]) -> dict[str, Any]:
    """The columns of `schemas.HISTORIES` that tell of each copy. ``end``: the last transition of each message.
    ``left``: per copy, which messages have it.
    """
    import numpy as np
    import pyarrow as pa

    step = rows.step
    known = tables.known[step]
    origin, target = _kinds(tables.origin[step]), np.where(known, _kinds(tables.target[step]), NOWHERE)
    # A send that merges gives the one that waits another content, and perhaps another score; it comes from there.
    merged = tables.new[step] & tables.merges[step]
    target, origin = np.where(merged, WAITING, target), np.where(merged, WAITING, origin)
    origin = np.where(rows.afresh, NOWHERE, origin)
    before = [np.maximum.accumulate(np.where(target == kind, rows.index, -1)) for kind in range(NOWHERE)]
    found: dict[str, Any] = {}
    for kind, (copy, having) in enumerate(zip(COPIES, left, strict=True)):
        total = len(end)
        value = {name: np.full(total, -1, dtype=np.int64) for name in ("score", "prio", "said", "first", "last")}
        failures = np.zeros(total, dtype=np.int64)
        which = np.flatnonzero(having)
        at, kinds = end[which], np.full(len(which), kind)
        while len(which):
            row = np.full(len(which), -1)
            for each in range(NOWHERE):
                mine = kinds == each
                row[mine] = before[each][at[mine]]
            within = row >= rows.begin[np.maximum(at, 0)]
            which, row = which[within], row[within]
            _first(value["score"], which, row, (target[row] == kind) & (rows.score[row] > 0))
            _first(value["prio"], which, row, rows.priority[row] >= 0)
            _first(value["said"], which, row, rows.content[row] != NO_CONTENT)
            failed = rows.failed[row] > 0
            _first(value["last"], which, row, failed)
            value["first"][which[failed]] = row[failed]
            failures[which[failed]] += 1
            kinds, at = origin[row], row - 1
            on = (kinds != NOWHERE) & (row > rows.begin[row])
            which, at, kinds = which[on], at[on], kinds[on]

        def column(values: Any, at: Any, type: Any) -> Any:
            return pa.array(values[np.maximum(at, 0)], type, mask=at < 0)

        said = np.where(rows.content[np.maximum(value["said"], 0)] == UNSAID, -1, value["said"])
        exact = rows.exact[np.maximum(value["score"], 0)]
        found |= {
            f"{copy}_score": column(rows.score, value["score"], pa.int64()),
            f"{copy}_exact": pa.array(exact, pa.float64(), mask=(value["score"] < 0) | np.isnan(exact)),
            f"{copy}_priority": column(rows.priority, value["prio"], pa.int64()),
            f"{copy}_content": column(rows.content, said, pa.int64()),
            f"{copy}_content_at": column(rows.position, said, pa.int64()),
            f"{copy}_content_seq": column(rows.seq, said, pa.int32()),
            f"{copy}_failures": pa.array(failures.astype(np.int32)),
            f"{copy}_first_failed_ms": column(rows.at_ms, value["first"], pa.int64()),
            f"{copy}_failed_ms": column(rows.at_ms, value["last"], pa.int64()),
            f"{copy}_failed_at": column(rows.position, value["last"], pa.int64()),
            f"{copy}_failed_seq": column(rows.seq, value["last"], pa.int32()),
        }
    return found


def _first(known: Any, which: Any, row: Any, where: Any) -> None:
    """Notes rows for messages of which none is noted yet."""
    take = where & (known[which] < 0)
    known[which[take]] = row[take]
