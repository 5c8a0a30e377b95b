"""The first transition of a message that could not have happened."""

from __future__ import annotations

from typing import Any, NamedTuple

from rmq_core.pipeline.history.rows import ACKED, ENDED, Rows
from rmq_core.pipeline.history.steps import LETTERS_BY_BITS, tables
from rmq_core.pipeline.schemas import COPIES

WRONG = (None, "delivered_after_success", "ended_twice", "impossible_transition")


class Wrongs(NamedTuple):
    """Per message: the ``row`` (-1: none), of which ``kind`` it is (a place in `WRONG`), and what it says."""

    row: Any
    kind: Any
    position: Any
    step: Any
    before: dict[str, Any]

    @property
    def there(self) -> Any:
        """Which messages have one."""
        return self.row >= 0


def wrongs(rows: Rows) -> Wrongs:
    """What is wrong since the journal last took stock of each message."""
    import numpy as np

    known, step, before = tables(), rows.step, rows.copies_before
    missing, too_many = np.zeros(len(step), dtype=bool), np.zeros(len(step), dtype=bool)
    for copy in COPIES:
        missing |= known.leaves[copy][step] & (before[copy] < 1)
        if copy != "dead":
            too_many |= (rows.change[copy] > 0) & (before[copy] > 0)
    # What was wrong before the journal took stock of the message is settled.
    settled = rows.last(rows.afresh)
    at = np.flatnonzero((missing | too_many) & (rows.index > settled[rows.message]))
    kind = np.full(len(at), 3)
    if len(at):
        ended = rows.before(rows.counted(known.ends, ENDED))[at] > 0
        kind[missing[at] & ended & known.ends[step[at]]] = 2
        acked = rows.before(rows.counted(known.acked, ACKED))[at] > 0
        kind[missing[at] & acked & known.taken[step[at]]] = 1
    messages, first = np.unique(rows.message[at], return_index=True)
    total = len(rows.starts)
    row, what = np.full(total, -1), np.zeros(total, dtype=np.int64)
    row[messages], what[messages] = at[first], kind[first]
    there = np.maximum(row, 0)
    position, steps = np.where(row < 0, -1, rows.position[there]), np.where(row < 0, 0, step[there])
    counts = {copy: before[copy][there] for copy in COPIES}
    heads = np.flatnonzero(rows.head)
    if len(heads):  # what was wrong when the books were closed came before all else
        records = rows.records[rows.record_of[heads]]
        still = (records["wrong"] > 0) & (heads > settled[rows.message[heads]])
        of, records = rows.message[heads[still]], records[still]
        row[of], what[of], position[of] = heads[still], records["wrong"], records["wrong_at"]
        steps[of] = records["wrong_step"]
        for copy in COPIES:
            counts[copy][of] = records[f"b_{copy}"]
    return Wrongs(row, what, position, steps, counts)


def as_struct(found: Wrongs, names: Any) -> Any:
    """The column ``wrong`` of `schemas.HISTORIES`. ``names``: of events."""
    import pyarrow as pa

    known, letters = tables(), pa.array(LETTERS_BY_BITS)
    fields = {
        "position": pa.array(found.position),
        "kind": pa.array(WRONG).take(pa.array(found.kind)),
        "event": names.take(pa.array(known.event[found.step])),
        "origin": letters.take(pa.array(known.origin[found.step])),
        "target": letters.take(pa.array(known.target[found.step])),
        **{f"b_{copy}": pa.array(found.before[copy], pa.int32()) for copy in COPIES},
    }
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=pa.array(~found.there))
