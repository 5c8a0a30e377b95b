"""The histories of messages, many at once: arrays of transitions in, a row per message out, no loop over rows.

A message has at most one copy that waits (store or retry), one in flight (prepare) and one that is dead. Every
transition takes a copy from one of these and puts one into another, so running sums in the journal's order show where
the copies are, and the first transition that could not have happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from rmq_core.pipeline.history import carried
from rmq_core.pipeline.history.carried import Closing
from rmq_core.pipeline.history.copies import traced
from rmq_core.pipeline.history.hot import in_pieces
from rmq_core.pipeline.history.impossible import Wrongs, wrongs
from rmq_core.pipeline.history.in_order import Slots
from rmq_core.pipeline.history.ordered import whole_messages
from rmq_core.pipeline.history.outcome import batch, messages, names_of
from rmq_core.pipeline.history.rows import Rows, first_rows
from rmq_core.pipeline.history.spooled import Sorter
from rmq_core.pipeline.history.steps import LIVE, tables
from rmq_core.pipeline.history.times import times
from rmq_core.pipeline.schemas import COPIES

if TYPE_CHECKING:
    import pyarrow


SETTLED_SHARE = 0.25
"""Where fewer messages are settled, it is not worth while to leave them out."""
HOT, PIECE = 100_000, 100_000
"""Of a message with more rows than these, so many are judged at once."""


def histories(
    batches: Iterable[pyarrow.RecordBatch],
    closing: Closing | None = None,
    hot: int = HOT,
    piece: int = PIECE,
    slots: Slots | None = None,
) -> Iterator[pyarrow.RecordBatch]:
    """Rows as `ordered.whole_messages` reads them → rows of `schemas.HISTORIES`. ``slots``: see `outcome.messages`."""
    for found in whole_messages(batches, hot):
        if isinstance(found, Sorter):
            yield from in_pieces(found.pieces(piece), closing)
        else:
            yield from _judge(found, closing, slots)


def judge(closing: Closing | None, slots: Slots | None = None) -> Any:
    """`histories`, as Spark calls it."""
    return partial(histories, closing=closing, hot=HOT, piece=PIECE, slots=slots)


def _judge(table: Any, closing: Closing | None, slots: Slots | None) -> Iterator[pyarrow.RecordBatch]:
    import numpy as np

    current = carried.newest(table, first_rows(table))
    if not current.num_rows:
        return
    rows = Rows(current)
    wrong = wrongs(rows)
    unsure = carried.unsure(rows, wrong, closing.known if closing else frozenset())
    doubtful = unsure[rows.message]
    yield batch(times(rows, doubtful))
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
    yield from messages(seen, wrong if same else wrongs(seen), traces, doubtful[~rows.later][seen.starts], slots)
    if not same and unsure.any():  # what is not judged may yet need a look at the archive
        yield batch(names_of(rows, unsure) | {"unsure": np.ones(unsure.sum(), dtype=bool)})
    if closing is not None:
        live = tables().event[rows.step] == LIVE
        cut = ~rows.tail & (~live if rows.tail.any() or not same else True)
        whole = rows.only(cut)
        if len(whole.step):
            left_out = doubtful[cut][whole.starts] if whole is not rows else unsure
            if whole is not seen:
                wrong, traces = wrongs(whole), traced(whole)
            yield batch(carried.closed(whole, wrong, traces, left_out, closing.number))


def _settled(rows: Rows, wrong: Wrongs, unsure: Any) -> Any:
    """Per message, whether all of it is archived, new and in order, and nothing is left: only its times count."""
    import numpy as np

    apart = rows.tail | rows.later | rows.old | ~rows.happened
    found = ~(wrong.there | unsure | rows.any(apart)) & (rows.end >= 0)
    for copy in COPIES:
        found &= rows.copies_left[copy] == 0
    return np.asarray(found)
