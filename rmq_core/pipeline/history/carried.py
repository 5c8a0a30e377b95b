"""What a closing state carries of a message into the next run: rows of `schemas.STEPS` that stand for its history.

One row for each copy that is somewhere, none for what has ended; the last of them, the *head*, also tells of the
message as a whole. Their ``position`` is below 0 and says which closing wrote them: of several the newest counts. What
the columns of a step have no place for is packed into ``carried``; where that is empty the message has ended since.

- ``score``, ``exact``, ``priority``, ``content`` are the copy's, ``failed`` is how often it failed,
  ``at_ms`` when last;
- ``life`` is that of the message's last transition, ``due_ms`` of a head when it was last to be delivered;
- packed: ``head``; ``queue`` (letter) in which it last waited; ``arrived``: nothing happened since it was given its
  time; how many copies there are; the last transition (``step``, ``at``); ``sent_ms``; the first ``wrong`` transition
  (a place in `wrongs.WRONG`) and the copies in front of it; where content and last failure of the copy are recorded.

Within a run, the same is carried from one piece of a very long history to the next (`folded`); then also of what has
ended, and ``head`` has more bits (`rows.KNOWN` …).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rmq_core.pipeline.history.copies import Trace
from rmq_core.pipeline.history.impossible import Wrongs
from rmq_core.pipeline.history.rows import ACKED, ENDED, FOLDED, KNOWN, TOUCHED, TRASHED, Rows, layout
from rmq_core.pipeline.history.steps import carried_step, low, tables
from rmq_core.pipeline.schemas import COPIES, NO_CONTENT, STEPS, arrow
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS

GENERATION_BITS = 40
"""Positions of carried rows are the number of their closing, less 2^40: before everything that happens."""

_LETTER_OF = {"in_flight": "p", "dead": "d", "trash": "t"}
_TRASH, _BARE = -1, 3
"""The ``seq`` of rows that are of no copy; a head is the last."""


@dataclass(frozen=True)
class Closing:
    """``number``: of the closing that is being made. ``known``: topics whose past an earlier one carries."""

    number: int
    known: frozenset[str] = frozenset()


def generation(number: int) -> int:
    """The position of the rows of the closing with that number."""
    return number - (1 << GENERATION_BITS)


def newest(table: Any, first: Any) -> Any:
    """The rows without what older closings carried, and of messages that ended since without all of it.

    ``first``: whether a row is the first of its message.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if table["carried"].null_count == table.num_rows:
        return table
    is_carried = pc.is_valid(table["carried"]).to_numpy(zero_copy_only=False)
    full = pc.greater(pc.binary_length(table["carried"]), 0).fill_null(False).to_numpy(zero_copy_only=False)
    position, message = table["position"].to_numpy(), np.cumsum(first) - 1
    least = np.iinfo(np.int64).min
    latest = np.maximum.reduceat(np.where(is_carried, position, least), np.flatnonzero(first))
    return table.filter(pa.array(~is_carried | (full & (position == latest[message]))))


def unsure(rows: Rows, wrong: Wrongs, known: frozenset[str]) -> Any:
    """Per message, whether what is known of it does not suffice, and the archive must be asked.

    ``known``: topics whose past a closing state has; what it does not have of them has ended. Who begins with anything
    but a send, comes back from the trash, or does what cannot be, did something before.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    total = len(rows.starts)
    if not known or not total:
        return np.zeros(total, dtype=bool)
    table, happened = tables(), rows.happened
    topic = rows.table["topic"].combine_chunks().take(pa.array(rows.starts))
    of_known = pc.is_in(topic, pa.array(sorted(known))).to_numpy(zero_copy_only=False)
    none = len(rows.step)
    first = np.minimum.reduceat(np.where(happened, rows.index, none), rows.starts)
    there = first < none
    begins = there & table.begins[rows.step[np.minimum(first, none - 1)]]
    had = rows.any(rows.head)
    new_wrong = wrong.there & ~rows.head[np.maximum(wrong.row, 0)]
    into = np.maximum.accumulate(np.where(table.to_trash[rows.step] | rows.told(TRASHED), rows.index, -1))
    out_of_nothing = table.from_trash[rows.step] & (into < rows.starts[rows.message])
    return of_known & there & ((~had & ~begins) | new_wrong | rows.any(out_of_nothing))


def closed(rows: Rows, wrong: Wrongs, traces: dict[str, Trace], left_out: Any, number: int) -> dict[str, Any]:
    """What is carried of the messages that something happened to. ``left_out``: those of which nothing is known.

    Columns: ``topic``, ``slot``, ``id``, and ``closing``, the rest of a step.
    """
    import numpy as np
    import pyarrow as pa

    touched = (rows.any(rows.happened & ~rows.old) | rows.any_told(TOUCHED)) & ~left_out
    counted = np.logical_or.reduce([(rows.copies_left[copy] != 0) & (rows.end >= 0) for copy in COPIES])
    is_open = touched & (counted | wrong.there)
    ended = np.flatnonzero(touched & ~is_open & (rows.any_told(KNOWN) | rows.any(rows.old)))
    found, columns = _carried([_Part(rows, number, ended), *_parts(rows, number, is_open, wrong, traces)])
    return found | {"closing": pa.StructArray.from_arrays(list(columns.values()), names=list(columns))}


def folded(rows: Rows, wrong: Wrongs, traces: dict[str, Trace]) -> Any:
    """What stands for these rows in front of those that come later in the same run: a table of `schemas.STEPS`."""
    import numpy as np
    import pyarrow as pa

    known, every = tables(), np.ones(len(rows.starts), dtype=bool)
    flags = np.full(len(every), FOLDED, dtype=np.uint8)
    for flag, there in (
        (KNOWN, rows.any_told(KNOWN) | rows.any(rows.old)),
        (ACKED, (rows.before(rows.counted(known.acked, ACKED)) + rows.counted(known.acked, ACKED))[rows.end] > 0),
        (ENDED, (rows.before(rows.counted(known.ends, ENDED)) + rows.counted(known.ends, ENDED))[rows.end] > 0),
        (TRASHED, rows.any(known.to_trash[rows.step] | rows.told(TRASHED))),
        (TOUCHED, rows.any(rows.happened & ~rows.old) | rows.any_told(TOUCHED)),
    ):
        flags |= np.where(there, flag, 0).astype(np.uint8)
    found, columns = _carried(_parts(rows, _LAST, every, wrong, traces, flags))
    every_column = found | columns
    schema = arrow(STEPS)
    return pa.table([every_column[name] for name in schema.names], schema=schema)


_LAST = (1 << GENERATION_BITS) - 1
"""What is folded is newer than whatever an earlier run has closed."""


def _parts(
    rows: Rows, number: int, which: Any, wrong: Wrongs, traces: dict[str, Trace], flags: Any = None
) -> list[_Part]:
    """The rows of messages that are open. ``flags``: of their heads; None: `rows.KNOWN`."""
    import numpy as np

    flags = np.full(len(rows.starts), KNOWN, dtype=np.uint8) if flags is None else flags
    last_copy = np.full(len(rows.starts), -1)
    for place, copy in enumerate(COPIES):
        last_copy[traces[copy].has] = place
    parts = []
    if (trash := traces.get("trash")) is not None:
        some = np.flatnonzero(which & trash.has)
        parts.append(_Part(rows, number, some, "trash", trash, np.zeros(len(some), dtype=np.uint8), wrong))
    for place, copy in enumerate(COPIES):
        some = np.flatnonzero(which & traces[copy].has)
        heads = np.where(last_copy[some] == place, flags[some], 0)
        parts.append(_Part(rows, number, some, copy, traces[copy], heads, wrong))
    bare = np.flatnonzero(which & (last_copy < 0))
    return [*parts, _Part(rows, number, bare, head=flags[bare], wrong=wrong)]


def _carried(parts: list[_Part]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The names of the messages, and the rest of a step."""
    import numpy as np
    import pyarrow as pa

    table = parts[0].rows.table
    which = pa.array(np.concatenate([part.rows.starts[part.which] for part in parts]))
    found = {name: table[name].combine_chunks().take(which) for name in ("topic", "slot", "id")}
    return found, {name: pa.concat_arrays([part.columns[name] for part in parts]) for name in parts[0].columns}


class _Part:
    """The rows of one copy of some messages."""

    def __init__(
        self,
        rows: Rows,
        number: int,
        which: Any,
        copy: str = "",
        trace: Trace | None = None,
        head: Any = None,
        wrong: Wrongs | None = None,
    ) -> None:
        import numpy as np
        import pyarrow as pa

        self.rows, self.which, total = rows, which, len(which)
        end = rows.end[which]

        def of(values: Any, at: Any, default: Any = -1) -> Any:
            """Their values in the rows of a trace."""
            return np.where(at[which] < 0, default, values[np.maximum(at[which], 0)])

        nothing = np.full(len(rows.starts), -1)
        score, priority, said, first, last = trace[:5] if trace else [nothing] * 5
        waits = rows.waits
        queues = rows_queue(rows, waits)[which]
        if copy == "waiting":
            step = np.where(queues == low("r"), carried_step("r"), carried_step("s"))
        else:
            step = np.full(total, carried_step(_LETTER_OF.get(copy, "-")))
        due_ms = np.full(total, -1)
        packed = pa.array([b""] * total, pa.binary())
        if head is not None:
            assert wrong is not None
            records = np.zeros(total, dtype=layout())
            due, sent, arrived = _given(rows, which)
            due_ms = np.where(head > 0, due, -1)
            records["head"], records["queue"], records["arrived"], records["sent_ms"] = head, queues, arrived, sent
            records["step"], records["at"] = last_steps(rows)[which], rows.position[end]
            records["wrong"], records["wrong_at"] = wrong.kind[which], wrong.position[which]
            records["wrong_step"] = wrong.step[which]
            for name in COPIES:
                records[name], records[f"b_{name}"] = rows.copies_left[name][which], wrong.before[name][which]
            records["content_at"], records["content_seq"] = of(rows.content_at, said), of(rows.content_seq, said)
            records["failed_at"], records["failed_seq"] = of(rows.failed_at, last), of(rows.failed_seq, last)
            records["first_failed_ms"] = of(rows.first_failed_ms, first)
            size = layout().itemsize
            offsets = np.arange(total + 1, dtype=np.int32) * size
            packed = pa.Array.from_buffers(
                pa.binary(), total, [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(records.tobytes())]
            )
        self.columns = {
            "position": pa.array(np.full(total, generation(number)), pa.int64()),
            "seq": pa.array(np.full(total, _seq(copy)), pa.int32()),
            "life": pa.array(rows.life[end], pa.int32()),
            "step": pa.array(step, pa.int32()),
            "score": pa.array(of(rows.score, score), pa.int64()),
            "due_ms": pa.array(due_ms, pa.int64()),
            "priority": pa.array(of(rows.priority, priority), pa.int64()),
            "failures": pa.array(np.full(total, -1), pa.int32()),
            "exact": pa.array(of(rows.places, score, np.nan), pa.float64()),
            "content": pa.array(of(rows.content, said, NO_CONTENT), pa.int64()),
            "failed": pa.array(trace.failures[which] if trace else np.zeros(total), pa.int32()),
            "at_ms": pa.array(of(rows.failed_ms, last), pa.int64()),
            "carried": packed,
        }


def _seq(copy: str) -> int:
    return _TRASH if copy == "trash" else COPIES.index(copy) if copy else _BARE


def rows_queue(rows: Rows, waits: Any) -> Any:
    """Per message the letter (its low bits) of the queue in which it last waited; 0: nobody knows."""
    import numpy as np

    there = np.maximum(waits, 0)
    letter = np.where(waits < 0, 0, tables().target[rows.step[there]])
    if rows.records is not None:
        heads = (waits >= 0) & rows.head[there]
        letter[heads] = rows.records["queue"][rows.record_of[there[heads]]]
    return letter


def last_steps(rows: Rows) -> Any:
    """Per message the step of its last transition, also where the closing state tells of it."""
    import numpy as np

    end = np.maximum(rows.end, 0)
    step = rows.step[end].copy()
    if rows.records is not None:
        heads = (rows.end >= 0) & rows.head[end]
        step[heads] = rows.records["step"][rows.record_of[end[heads]]]
    return step


def _given(rows: Rows, which: Any) -> tuple[Any, Any, Any]:
    """Of messages: when they are to be delivered, if that was said since they were sent; when they were sent; and
    whether nothing happened since they were given their time; as `times` will ask."""
    import numpy as np

    known, step = tables(), rows.step
    is_sent, due, arrives = known.sent[step], (rows.due_ms >= 0) & (known.timed[step] | rows.head), known.arrives[step]
    ms = rows.position >> SEQUENCE_BITS
    if rows.records is not None:
        heads = np.flatnonzero(rows.head)
        records = rows.records[rows.record_of[heads]]
        is_sent[heads], ms[heads], arrives[heads] = records["sent_ms"] >= 0, records["sent_ms"], records["arrived"] > 0
    sent_at, due_at = rows.last(is_sent)[which], rows.last(due)[which]
    last = rows.last(known.timed[step] | rows.head)[which]
    sent = np.where(sent_at < 0, -1, ms[np.maximum(sent_at, 0)])
    due_ms = np.where((due_at < 0) | (due_at < sent_at), -1, rows.due_ms[np.maximum(due_at, 0)])
    return due_ms, sent, (last >= 0) & arrives[np.maximum(last, 0)]
