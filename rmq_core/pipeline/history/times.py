"""How long messages took: lateness and end to end."""

from __future__ import annotations

from typing import Any

from rmq_core.pipeline.buckets import MINUTE_MS
from rmq_core.pipeline.history.rows import Rows
from rmq_core.pipeline.history.steps import tables
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS


def times(rows: Rows, left_out: Any) -> dict[str, Any]:
    """Per topic, minute, and whether an archive holds it, ``lateness``: delivered − due, and ``end_to_end``: done −
    sent, ms; as often as it happened. ``left_out``: rows of messages of which not enough is known.
    """
    import numpy as np
    import pyarrow as pa

    known = tables()
    at = np.flatnonzero((known.timed[rows.step] | rows.head) & ~left_out)
    step, message, ms, due_ms = rows.step[at], rows.message[at], rows.position[at] >> SEQUENCE_BITS, rows.due_ms[at]
    is_sent, arrives = known.sent[step], known.arrives[step]
    heads = np.flatnonzero(rows.head[at])
    if len(heads):
        records = rows.records[rows.record_of[at[heads]]]
        ms[heads], is_sent[heads], arrives[heads] = records["sent_ms"], records["sent_ms"] >= 0, records["arrived"] > 0
    index = np.arange(len(at))
    begin = np.searchsorted(message, message)

    def earlier(where: Any) -> Any:
        """The last of those before each row, of the same message; -1: none."""
        reached = np.maximum.accumulate(np.where(where, index, -1))
        found = np.concatenate([[-1], reached[:-1]]) if len(reached) else reached
        return np.where(found >= begin, found, -1)

    due, sent, previous = earlier(due_ms >= 0), earlier(is_sent), earlier(np.ones(len(at), dtype=bool))
    news = ~rows.old[at]
    # A retry is late by design: only the first delivery since the message was given a time counts; and that time must
    # be this message's, not one of an earlier message of the same id.
    first = known.taken[step] & (previous >= 0) & arrives[previous] & (due >= 0) & (due >= sent) & news
    done = known.acked[step] & (sent >= 0) & news
    topics = rows.table["topic"].combine_chunks().take(pa.array(rows.starts)).dictionary_encode()
    counts = first | done
    known_minutes = ms[counts] // MINUTE_MS
    low = int(known_minutes.min()) if len(known_minutes) else 0
    keys = np.zeros(len(at), dtype=np.int64)
    keys[counts] = (known_minutes - low) * 2 * len(topics.dictionary)
    keys += 2 * topics.indices.to_numpy()[message] + ~rows.tail[at]
    distinct, groups = np.unique(keys[counts], return_inverse=True)
    group = np.zeros(len(at), dtype=np.int64)
    group[counts] = groups
    total = len(distinct)
    minutes, of_topic = np.divmod(distinct, 2 * max(1, len(topics.dictionary)))

    def grouped(where: Any, values: Any) -> Any:
        of = group[where]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=total))])
        ordered = values[np.argsort(of, kind="stable")]
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(ordered, pa.int64()))

    return {
        "topic": topics.dictionary.take(pa.array(of_topic // 2)),
        "archived": pa.array(of_topic % 2 == 1),
        "minute_ms": pa.array((minutes + low) * MINUTE_MS),
        "lateness": grouped(first, np.maximum(ms[first] - due_ms[due[first]], 0)),
        "end_to_end": grouped(done, np.maximum(ms[done] - ms[sent[done]], 0)),
    }
