"""Journals → Parquet, one batch after the other, each noted in the checkpoint before and after it is written."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from rmq_core.errors import PipelineError
from rmq_core.pipeline.archive import checkpoint
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.schemas import EVENTS, ddl
from rmq_core.pipeline.sources.journal import JournalStream
from rmq_core.pipeline.sources.offsets import START, Offsets, number_of
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.planned import planned
from rmq_core.pipeline.tuning import FEW_ENTRIES, few_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOOK_S = 0.5
LOST = "the archive's lock went to another job; this one stopped, nothing is lost"


def write_batches(
    kept: Archive, options: SourceOptions, write: Callable[[DataFrame, int], None], lost: threading.Event
) -> Iterator[int]:
    """Writes what the journals hold now, behind what is archived; gives the rows of each batch as soon as it is whole.

    One that was begun and never ended comes first, and ends where it was to end. ``lost``: set when another job
    archives; then this raises `PipelineError`. A stream of Spark's would do the same, and takes seconds to begin.
    """
    read = JournalStream(options).read  # of one that knows nothing yet: it goes to every task
    stream = JournalStream(options)
    stream.prepareForTriggerAvailableNow()
    while True:
        last = kept.last_committed()
        number, start = 0 if last is None else last + 1, kept.committed_offsets()
        begun = checkpoint.begun(kept.session, kept.checkpoint, number)
        end = stream.latestOffset(start, None) if begun is None else begun
        partitions = stream.partitions(start, end)
        if begun is None:
            if not partitions:
                return
            checkpoint.begin(kept.session, kept.checkpoint, number, end)
        rows = 0
        if partitions:
            few = few_rows(kept.session) if _entries(start, end) <= FEW_ENTRIES else nullcontext()
            with few, _stopped_by(lost, kept.session):
                rows = _written(planned(kept.session, partitions, read, ddl(EVENTS)), write, number)
        if lost.is_set():
            raise PipelineError(LOST)
        checkpoint.commit(kept.session, kept.checkpoint, number)
        yield rows


def _written(batch: DataFrame, write: Callable[[DataFrame, int], None], number: int) -> int:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    seen = Observation("archived")
    write(batch.observe(seen, F.count(F.lit(1)).alias("rows")), number)
    return int(seen.get["rows"])


def _entries(start: Offsets, end: Offsets) -> int:
    """How many lie between; about, where numbers started again."""
    return sum(
        abs(number_of(last) - number_of(start.get(topic, {}).get(slot, START)))
        for topic, slots in end.items()
        for slot, last in slots.items()
    )


@contextmanager
def _stopped_by(lost: threading.Event, session: SparkSession) -> Iterator[None]:
    """What Spark does inside ends when another job archives, and when this one is broken off."""
    tag, done = f"rmq-archive-{uuid.uuid4().hex}", threading.Event()

    def look() -> None:
        while not done.wait(LOOK_S):
            if lost.is_set():
                session.interruptTag(tag)
                return

    looking = threading.Thread(target=look, name="archive-lost", daemon=True)
    session.addTag(tag)
    looking.start()
    try:
        yield
    except BaseException as error:
        session.interruptTag(tag)
        if lost.is_set():
            raise PipelineError(LOST) from error
        raise
    finally:
        done.set()
        looking.join()
        session.removeTag(tag)
