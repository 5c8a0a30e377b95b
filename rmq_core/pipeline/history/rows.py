"""Some whole messages as columns: their transitions, what a closing state carries of them, and rows of live queues."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

from rmq_core.model.holds import HELD_FROM
from rmq_core.model.scores import RETRIED_MAX
from rmq_core.pipeline.history.steps import FLAG_BITS, LATER, OLD, TAIL, low, tables
from rmq_core.pipeline.schemas import COPIES, STEPS


def first_rows(rows: Any) -> Any:
    """Whether a row is the first of its message (the first row of all is)."""
    import numpy as np
    import pyarrow.compute as pc

    first = np.ones(rows.num_rows, dtype=bool)
    if rows.num_rows > 1:
        same = [pc.equal(rows[name][1:], rows[name][:-1]) for name in ("id", "slot", "topic")]
        first[1:] = ~pc.and_(pc.and_(same[0], same[1]), same[2]).to_numpy(zero_copy_only=False)
    return first


@cache
def layout() -> Any:
    """Of what is packed in the column ``carried`` (see the module of that name), as numpy reads it."""
    import numpy as np

    small = [(name, "u1") for name in ("head", "queue", "arrived", "wrong")]
    counts = [(name, "<i4") for name in (*COPIES, *(f"b_{copy}" for copy in COPIES), "step", "wrong_step")]
    places = [(name, "<i4") for name in ("content_seq", "failed_seq")]
    times = ("at", "sent_ms", "wrong_at", "content_at", "failed_at", "first_failed_ms")
    return np.dtype([*small, *counts, *places, *((name, "<i8") for name in times)])


KNOWN, FOLDED, ACKED, ENDED, TRASHED, TOUCHED = 1, 2, 4, 8, 16, 32
"""Bits of a ``head``: a closing state, or the archive's past, knew of the message; it stands for rows of this run
(`carried.folded`), among which, in the same life, the message was acked, or ended; it went into the trash; something
happened that no closing state covers."""


class Rows:
    """The columns of a table of `schemas.STEPS`, sorted by message, and where each message begins.

    ``head``: rows that stand for all that a closing state knows of a message; ``records``: what else it says, and
    ``record_of``: by which of them a head is told. What a transition says of its content and its failure, a row of the
    closing state says of another one: ``content_at``, ``failed_at``, ….
    """

    def __init__(self, table: Any) -> None:
        import numpy as np

        known = tables()
        first = first_rows(table)
        self.table = table
        column = {name: table[name].to_numpy() for name, _, _ in STEPS if name not in ("topic", "id", "carried")}
        flags = column["step"] >> FLAG_BITS
        self.step = column["step"] & ((1 << FLAG_BITS) - 1)
        self.tail, self.later, self.old = (flags & flag > 0 for flag in (TAIL, LATER, OLD))
        self.position, self.seq, self.life = column["position"], column["seq"], column["life"]
        self.score, self.due_ms, self.priority = column["score"], column["due_ms"], column["priority"]
        self.exact, self.content, self.failed = column["exact"], column["content"], column["failed"]
        self.content_at, self.content_seq = self.position, self.seq
        self.failed_at, self.failed_seq = self.position, self.seq
        self.first_failed_ms = self.failed_ms = column["at_ms"]
        self.index = np.arange(len(first))
        self.starts = np.flatnonzero(first)
        self.message = np.cumsum(first) - 1
        self.head = np.zeros(len(first), dtype=bool)
        self.record_of = np.zeros(0, dtype=np.int64)
        self.records: Any = None
        self.change = {copy: known.change[copy][self.step] for copy in COPIES}
        self._told()
        fresh = first.copy()
        fresh[1:] |= self.life[1:] != self.life[:-1]
        self.afresh = known.afresh[self.step]
        fresh |= self.afresh
        # A new life begins with nothing: what was there before does not carry over.
        self.begin = np.maximum.accumulate(np.where(fresh, self.index, 0))

    def _told(self) -> None:
        """Has rows of steps say what is packed in those that are carried."""
        import numpy as np

        column = self.table["carried"]
        if column.null_count == len(column):
            return
        at = np.flatnonzero(tables().carried[self.step])
        packed = column.take(at).combine_chunks()
        records = self.records = np.frombuffer(b"".join(packed.to_pylist()), dtype=layout())
        self.record_of = np.full(len(self.step), -1)
        self.record_of[at] = np.arange(len(at))
        self.head[at] = records["head"] > 0
        for name in ("position", "content_at", "content_seq", "failed_at", "failed_seq", "first_failed_ms"):
            values = getattr(self, name).copy()
            values[at] = records["at" if name == "position" else name]
            setattr(self, name, values)
        heads = at[self.head[at]]
        for copy in COPIES:
            self.change[copy][heads] = records[copy][self.record_of[heads]]

    def told(self, flag: int) -> Any:
        """Which rows are heads with that bit."""
        import numpy as np

        found = np.zeros(len(self.step), dtype=bool)
        if self.records is not None:
            found[self.head] = self.records["head"][self.record_of[self.head]] & flag > 0
        return found

    def any_told(self, flag: int) -> Any:
        """Per message, whether there is such a head."""
        import numpy as np

        return np.zeros(len(self.starts), dtype=bool) if self.records is None else self.any(self.told(flag))

    def counted(self, steps: Any, flag: int) -> Any:
        """Per row 1 where its step is one of ``steps`` (of all there are), or it stands for one; for `before`."""
        import numpy as np

        return (steps[self.step] | self.told(flag)).astype(np.int64)

    def only(self, where: Any) -> Rows:
        """Those of the rows."""
        import pyarrow as pa

        return self if where.all() else Rows(self.table.filter(pa.array(where)))

    def before(self, change: Any) -> Any:
        """The running sum in front of each row, within its life."""
        import numpy as np

        total = np.cumsum(change) - change
        return total - total[self.begin]

    def last(self, where: Any) -> Any:
        """Per message the last row of those; -1: none."""
        import numpy as np

        return np.maximum.reduceat(np.where(where, self.index, -1), self.starts)

    def any(self, where: Any) -> Any:
        """Per message, whether there is such a row."""
        import numpy as np

        return np.logical_or.reduceat(where, self.starts)

    @cached_property
    def happened(self) -> Any:
        """Which rows are transitions."""
        return tables().moves[self.step]

    @cached_property
    def end(self) -> Any:
        """Per message the last row that tells of its history; -1: none."""
        return self.last(tables().known[self.step])

    @cached_property
    def copies_before(self) -> dict[str, Any]:
        """How many copies there were in front of each row."""
        return {copy: self.before(self.change[copy]) for copy in COPIES}

    @cached_property
    def copies_left(self) -> dict[str, Any]:
        """How many copies of each message there are at its end."""
        return {copy: (self.copies_before[copy] + self.change[copy])[self.end] for copy in COPIES}

    @cached_property
    def places(self) -> Any:
        """As ``exact``; where something was taken, or is kept back by a hold, the place that it had in the store."""
        import numpy as np

        known, step = tables(), self.step
        origin, target = known.origin[step], known.target[step]
        waits = known.known[step] & np.isin(target, [low("s"), low("r")]) & (self.score > 0)
        came = np.full(len(step), -1)
        came[1:] = np.maximum.accumulate(np.where(waits, self.index, -1))[:-1]
        aside = (target == low("p")) | ((target == low("r")) & (self.score >= HELD_FROM))
        left = known.moves[step] & (origin == low("s")) & aside & (self.copies_before["waiting"] > 0)
        left &= (came >= self.begin) & (target[came] == low("s")) & (self.score[came] > RETRIED_MAX)
        at = came[left]
        places = self.exact.copy()
        places[left] = np.where(np.isnan(self.exact[at]), self.score[at], self.exact[at])
        return places

    @cached_property
    def waits(self) -> Any:
        """Per message the last row that says in which queue it waits, and where; the closing state's included."""
        import numpy as np

        where = tables().waits[self.step] & (self.score > 0)
        if self.records is not None:
            where[self.head] = self.records["queue"][self.record_of[self.head]] > 0
        return np.asarray(self.last(where))
