"""One message in an archive, without Spark: what happened to it, also when nothing else remembers it any more.

An archive is sorted by topic and day, not by id, so a look goes back day by day from the newest, and reads of each file
the ids alone, until it has found something or its time is over; another look goes on where it ended.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from rmq_core.errors import PipelineError
from rmq_core.journal.opening import PLACES
from rmq_core.pipeline.archive_files import archive_files

LONGEST_S = 3.0
"""Of one look; the day that it is at is always finished."""
ROWS_MOST = 1_000
"""Of one message, the newest; one that is sent again and again has more than anybody reads."""
_COLUMNS = (
    *("slot", "n", "seq", "at", "event", "origin", "target", "receipt", "due_ms", "priority", "failures", "error"),
    *("message", "worker", "host", "basis"),
)


@dataclass(frozen=True)
class ArchivedStep:
    """One transition, in the words of the journal's reader."""

    topic: str
    slot: int
    n: int
    seq: int
    at_ms: int
    event: str
    id: bytes
    origin: str
    target: str
    receipt: int | None
    due_ms: int | None
    priority: int | None
    failures: int | None
    error: str | None
    message: str | None
    worker: str | None
    host: str | None
    basis: bytes | None


@dataclass(frozen=True)
class Look:
    """`steps`: of the days ``first`` to ``last`` (both None: there was no day), oldest first. ``before``: there is more
    of days before this one; None: everything was looked at."""

    steps: list[ArchivedStep]
    first: date | None
    last: date | None
    before: date | None


def look(archive: str, topic: str, ident: bytes, before: date | None = None, longest_s: float = LONGEST_S) -> Look:
    """What an archive knows of an id, from the newest day (or that before ``before``) back to when it was sent.

    Raises `PipelineError`."""
    if not ident or ("://" not in archive and not Path(archive).is_dir()):  # no id: of all that were erased
        return Look([], None, None, None)
    until = None if before is None else before - timedelta(days=1)
    days = [(day, list(files)) for day, files in groupby(archive_files(archive, [topic], until=until), _day)]
    steps: list[ArchivedStep] = []
    ends = time.monotonic() + longest_s
    looked: list[date] = []
    while days and (not looked or time.monotonic() < ends) and not _is_whole(steps):
        day, files = days.pop()
        looked.append(day)
        steps += [step for file in files for step in _steps(file, topic, ident)]
    steps.sort(key=lambda step: (step.at_ms, step.slot, step.n, step.seq))
    first, last = (looked[-1], looked[0]) if looked else (None, None)
    return Look(steps[-ROWS_MOST:], first, last, first if days else None)


def _is_whole(steps: list[ArchivedStep]) -> bool:
    """Whether a send is among them: what was before that is another life of the same id."""
    return any(step.origin == "new" and step.event == "sent" for step in steps)


def _day(file: str) -> date:
    try:
        return date.fromisoformat(file.rpartition("/date=")[2].partition("/")[0])
    except ValueError:
        raise PipelineError(f"the archive's file {file} is of no day: it is nothing of ours, move it out") from None


def _steps(file: str, topic: str, ident: bytes) -> list[ArchivedStep]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    try:
        rows = ds.dataset(file, format="parquet")
        mine = pc.field("id") == pa.scalar(ident, pa.binary())
        # The ids alone first: of most files nothing else is read. On one thread, as others work here, too.
        if not rows.count_rows(filter=mine, use_threads=False):
            return []
        known = [name for name in _COLUMNS if name in rows.schema.names]  # an older release wrote fewer
        found = rows.to_table(known, filter=mine, use_threads=False).to_pylist()
    except FileNotFoundError:  # a compaction took it meanwhile; what it held is elsewhere
        raise PipelineError("the archive is being rewritten just now; try again") from None
    except (OSError, pa.ArrowException) as error:
        raise PipelineError(f"the archive's file {file} cannot be read: {error}") from None
    return [_step(dict.fromkeys(_COLUMNS) | row, topic, ident) for row in found]


def _step(row: dict[str, Any], topic: str, ident: bytes) -> ArchivedStep:
    at = row.pop("at")
    places = {name: PLACES.get(row[name], row[name]) for name in ("origin", "target")}
    return ArchivedStep(topic=topic, id=ident, at_ms=round(at.timestamp() * 1000), **(row | places))
