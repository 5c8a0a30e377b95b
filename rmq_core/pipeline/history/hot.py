"""One message with very many transitions: judged piece by piece, so that its history need not fit into memory.

What a piece leaves of the message (`carried.folded`) stands in front of the next one, as a closing state stands in
front of what is new. So the same is said of it as if all of it had been looked at together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rmq_core.pipeline.history import carried
from rmq_core.pipeline.history.carried import Closing
from rmq_core.pipeline.history.copies import traced
from rmq_core.pipeline.history.impossible import wrongs
from rmq_core.pipeline.history.outcome import batch, messages, names_of
from rmq_core.pipeline.history.rows import Rows, first_rows
from rmq_core.pipeline.history.spooled import Spool
from rmq_core.pipeline.history.steps import FLAG_BITS, LATER, LIVE, STEP_BITS, TAIL
from rmq_core.pipeline.history.times import times
from rmq_core.pipeline.schemas import HISTORIES, arrow

if TYPE_CHECKING:
    import pyarrow


def in_pieces(pieces: Iterable[pyarrow.Table], closing: Closing | None) -> Iterator[pyarrow.RecordBatch]:
    """Tables of `schemas.STEPS`, each by message, position and seq, and one behind the other → rows of
    `schemas.HISTORIES`. More messages than one only where they have one hash."""
    several: dict[tuple[Any, ...], _Hot] = {}
    for piece in pieces:
        first = first_rows(piece).nonzero()[0].tolist()
        for start, end in zip(first, [*first[1:], piece.num_rows], strict=True):
            name = tuple(piece[column][start].as_py() for column in ("topic", "slot", "id"))
            if name not in several:
                several[name] = _Hot(closing)
            several[name].add(piece.slice(start, end - start))
    for each in several.values():
        yield from each.judged()


class _Hot:
    """What is known of one message. Three things are said of it, of three parts of its history: what must be of what
    is not later than the snapshot, what is closed of what is archived, and of all of it how long it took."""

    def __init__(self, closing: Closing | None) -> None:
        self.closing = closing
        self.unsure = False
        self.every, self.seen, self.kept = _Fold(), _Fold(), _Fold()
        self.live: list[Any] = []
        self.times = Spool(arrow(HISTORIES))

    def add(self, piece: Any) -> None:
        """The next rows."""
        import numpy as np
        import pyarrow as pa

        step = piece["step"].to_numpy()
        flags, live = step >> FLAG_BITS, (step & ((1 << FLAG_BITS) - 1)) >> STEP_BITS == LIVE
        if live.any():
            self.live.append(piece.filter(pa.array(live)))
            piece, flags = piece.filter(pa.array(~live)), flags[~live]
        if not piece.num_rows:
            return
        if (rows := self.every.add(piece)) is None:
            return
        wrong, none = wrongs(rows), np.zeros(len(rows.step), dtype=bool)
        known = self.closing.known if self.closing else frozenset[str]()
        self.unsure |= bool(carried.unsure(rows, wrong, known).any())
        self.times.add(batch(times(rows, none)))
        self.seen.follow(self.every, piece, flags & LATER == 0)
        if self.closing is not None:
            self.kept.follow(self.every, piece, flags & TAIL == 0)

    def judged(self) -> Iterator[pyarrow.RecordBatch]:
        """What is said of it."""
        import numpy as np
        import pyarrow as pa

        unsure = np.array([self.unsure])
        if self.unsure:
            self.times.close()
        else:
            yield from self.times.batches()
        several = [*([self.seen.table] if self.seen.table is not None else []), *self.live]
        if several:
            rows = Rows(pa.concat_tables(several).combine_chunks())
            yield from messages(rows, wrongs(rows), traced(rows), unsure)
        if self.unsure and self.seen.apart:  # what is not judged may yet need a look at the archive
            yield batch(names_of(Rows(self.every.table), unsure) | {"unsure": unsure})
        if self.closing is not None and self.kept.table is not None:
            rows = Rows(self.kept.table)
            yield batch(carried.closed(rows, wrongs(rows), traced(rows), unsure, self.closing.number))


class _Fold:
    """What stands for the rows up to here; ``table`` is None where there were none."""

    def __init__(self) -> None:
        self.table: Any = None
        self.apart = False

    def add(self, piece: Any) -> Rows | None:
        """Takes them in; returns them, and what stood for those before. None: they only say that it had ended."""
        import pyarrow as pa

        both = piece if self.table is None else pa.concat_tables([self.table, piece]).combine_chunks()
        current = carried.newest(both, first_rows(both))
        if not current.num_rows:
            return None
        rows = Rows(current)
        self.table = carried.folded(rows, wrongs(rows), traced(rows, gone=True))
        return rows

    def follow(self, every: _Fold, piece: Any, where: Any) -> None:
        """Takes in those of the rows, which ``every`` has taken in: as long as they are all there are, it is the same
        work."""
        import pyarrow as pa

        if not self.apart and where.all():
            self.table = every.table
            return
        self.apart = True
        if where.any():
            self.add(piece.filter(pa.array(where)))
