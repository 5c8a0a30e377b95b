"""Rows of `schemas.HISTORIES`: what is said of messages whose histories are judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rmq_core.journal.entries import EVENTS
from rmq_core.pipeline.history import carried
from rmq_core.pipeline.history.copies import Trace, columns_of
from rmq_core.pipeline.history.impossible import Wrongs, as_struct
from rmq_core.pipeline.history.in_order import Slots, in_order
from rmq_core.pipeline.history.rows import Rows
from rmq_core.pipeline.history.steps import LETTERS_BY_BITS, LIVE, NAMES, STEP_BITS, tables
from rmq_core.pipeline.schemas import COPIES, HISTORIES, NO_CONTENT, OWN_CONTENT, PARTS, POOLED, SCORED, arrow

if TYPE_CHECKING:
    import pyarrow


def names_of(rows: Rows, which: Any) -> dict[str, Any]:
    """The columns that name some of the messages."""
    import pyarrow as pa

    at = pa.array(rows.starts[which])
    return {name: rows.table[name].combine_chunks().take(at) for name in ("topic", "slot", "id")}


def messages(
    rows: Rows, wrong: Wrongs, traces: dict[str, Trace], unsure: Any, slots: Slots | None = None
) -> Iterator[pyarrow.RecordBatch]:
    """Those messages of which something is left or wrong; of the others, only the times count. ``slots``: what is left
    and plainly in order there is not wanted, either (`in_order`)."""
    import numpy as np
    import pyarrow as pa

    if not len(rows.step):
        return
    known, end = tables(), rows.end

    def picked(values: Any, at: Any, kind: Any) -> Any:
        return pa.array(values[np.maximum(at, 0)], kind, mask=at < 0)

    names = pa.array([name if name in EVENTS else "unknown" for name in NAMES])
    letters = pa.array(LETTERS_BY_BITS)
    columns = names_of(rows, np.ones(len(rows.starts), dtype=bool))
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
    noted += [columns[name].is_valid() for name in OWN_CONTENT.values()]  # of nobody, perhaps
    seen = [np.asarray(each) for each in (*noted, columns["has_body"], columns["has_failed"])]
    kept = np.logical_or.reduce([*left, *seen, unsure])
    if slots is not None:
        kept &= ~in_order(columns, slots)
    if kept.any():
        yield batch({name: column.filter(pa.array(kept)) for name, column in columns.items()})


def batch(columns: dict[str, Any]) -> pyarrow.RecordBatch:
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
