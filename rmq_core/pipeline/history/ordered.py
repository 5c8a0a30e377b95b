"""Rows in the order of their message's hash → whole messages, the rows of each in the journal's order.

Spark sorts by one number several times as quickly as by a number and what decides where two are equal; of a message
there are few rows, and most of them come in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rmq_core.pipeline.history.rows import first_rows
from rmq_core.pipeline.history.spooled import Sorter
from rmq_core.pipeline.schemas import STEPS, arrow

if TYPE_CHECKING:
    import pyarrow

AT_ONCE = 40_000
"""Rows that are judged together: each step costs some µs for itself, and then little for every row; and what it looks
at is to stay in the processor's cache."""


def whole_messages(batches: Iterable[pyarrow.RecordBatch], hot: int) -> Iterator[pyarrow.Table | Sorter]:
    """Batches of ``hash`` and `schemas.STEPS`, by ``hash`` → tables of `schemas.STEPS` by message, position and seq;
    of a message with more than ``hot`` rows, which are not held in memory, what sorts them.

    A message may go on in the next batch.
    """
    import numpy as np

    held, whole, more = list[Any](), 0, 0  # rows of messages that have ended in these batches, and behind them
    apart: tuple[int, Sorter] | None = None
    for batch in batches:
        if apart is not None:
            goes_on = int(np.searchsorted(batch.column("hash").to_numpy(), apart[0], side="right"))
            apart[1].add(_steps(batch.slice(0, goes_on)))
            if goes_on == batch.num_rows:
                continue
            yield apart[1]
            apart, batch = None, batch.slice(goes_on)
        if not batch.num_rows:
            continue
        hashes = batch.column("hash").to_numpy()
        start = int(np.searchsorted(hashes, hashes[-1]))
        held.append(batch)
        whole, more = (whole + more + start, batch.num_rows - start) if start else (whole, more + batch.num_rows)
        if whole >= AT_ONCE or more > hot:
            table = _table(held)
            if whole:
                yield _in_order(table.slice(0, whole))
            held, whole = table.slice(whole).to_batches(), 0
        if more > hot:
            apart = int(hashes[-1]), Sorter(arrow(STEPS))
            for each in held:
                apart[1].add(_steps(each))
            held, more = [], 0
    if apart is not None:
        yield apart[1]
    if held:
        yield _in_order(_table(held))


def _steps(batch: Any) -> Any:
    return batch.select([name for name, _, _ in STEPS]).cast(arrow(STEPS))


def _table(batches: list[Any]) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches(batches).combine_chunks()


def _in_order(table: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    hashes, position, seq = (table[name].to_numpy() for name in ("hash", "position", "seq"))
    goes_on = hashes[1:] == hashes[:-1]
    later = (position[1:] > position[:-1]) | ((position[1:] == position[:-1]) & (seq[1:] >= seq[:-1]))
    first = np.concatenate([[True], ~goes_on])
    steps = table.select([name for name, _, _ in STEPS])
    if (goes_on & ~later).any():
        message = np.cumsum(first) - 1
        mixed = np.zeros(message[-1] + 1, dtype=bool)
        mixed[message[1:][goes_on & ~later]] = True
        some = np.flatnonzero(mixed[message])
        order = np.arange(len(hashes))
        order[some] = some[np.lexsort((seq[some], position[some], message[some]))]
        steps = steps.take(pa.array(order))
    if np.array_equal(first_rows(steps), first):
        return steps
    # Two messages have one hash.
    by = ("hash", "topic", "slot", "id", "position", "seq")
    return table.sort_by([(name, "ascending") for name in by]).select(steps.column_names)
