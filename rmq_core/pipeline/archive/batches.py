"""Journals → Parquet, one batch after the other, each noted in the checkpoint before and after it is written."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from rmq_core.errors import PipelineError, RMQError
from rmq_core.pipeline.archive import checkpoint
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.archive.lock import LOST, ArchiveLock
from rmq_core.pipeline.archive.staging import REPLACED, staging
from rmq_core.pipeline.durable import move
from rmq_core.pipeline.schemas import EVENTS, ddl
from rmq_core.pipeline.sources.journal import JournalStream
from rmq_core.pipeline.sources.offsets import START, Offsets, between
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.planned import planned
from rmq_core.pipeline.tuning import FEW_ENTRIES, few_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOOK_S = 0.5
Writer = Callable[["DataFrame", int], None]


def write_batches(
    kept: Archive, options: SourceOptions, writer: Callable[[str], Writer], lock: ArchiveLock
) -> Iterator[int]:
    """Writes what the journals hold now, behind what is archived; gives the rows of each batch as soon as it is whole.

    One that was begun and never ended comes first, and ends where it was to end. A stream of Spark's would do the same,
    and takes seconds to begin. Raises `PipelineError` when another job archives; whenever this one learns of that, it
    takes nothing away of what the other one has made.
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
        if begun is None and not partitions:
            return
        lock.check()
        if begun is None and not checkpoint.begin(kept.session, kept.checkpoint, number, end):
            raise PipelineError(LOST)
        rows = 0
        if partitions:
            few = few_rows(kept.session) if _entries(start, end) <= FEW_ENTRIES else nullcontext()
            with few, _stopped_by(lock, kept.session), staging(kept, lock.check) as staged:
                rows = _written(planned(kept.session, partitions, read, ddl(EVENTS)), writer(staged.folder), number)
                staged.check()
                for place in staged.places():
                    _put(kept, number, staged.folder, place)
        lock.check()
        if not checkpoint.commit(kept.session, kept.checkpoint, number):
            raise PipelineError(LOST)
        checkpoint.forget(kept.session, kept.checkpoint, number)
        yield rows


def _written(batch: DataFrame, write: Writer, number: int) -> int:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    seen = Observation("archived")
    write(batch.observe(seen, F.count(F.lit(1)).alias("rows")), number)
    return int(seen.get["rows"])


def _put(kept: Archive, number: int, folder: str, place: str) -> None:
    """Spark itself would remove what is there before it puts something in its place: of a job that stood still for so
    long that another one has ended its batch, what journals hold no longer. And a task whose files were swept away has,
    to Spark, written nothing."""
    made, path = f"{folder}/{place}", f"{kept.events}/{place}"
    if move(kept.session, made, path):
        return
    # Of the one that was killed before the batch was whole; or of one that has just ended it, and then it stays.
    before = f"{folder}/{REPLACED}/{place}"
    if checkpoint.is_whole(kept.session, kept.checkpoint, number) or not move(kept.session, path, before):
        raise PipelineError(LOST)
    if checkpoint.is_whole(kept.session, kept.checkpoint, number):
        move(kept.session, before, path)
        raise PipelineError(LOST)
    if not move(kept.session, made, path):
        raise PipelineError(LOST)


def _entries(start: Offsets, end: Offsets) -> int:
    """How many lie between; about, where numbers started again."""
    return sum(
        between(start.get(topic, {}).get(slot, START), last)
        for topic, slots in end.items()
        for slot, last in slots.items()
    )


@contextmanager
def _stopped_by(lock: ArchiveLock, session: SparkSession) -> Iterator[None]:
    """What Spark does inside ends when another job archives, and when this one is broken off."""
    tag, done = f"rmq-archive-{uuid.uuid4().hex}", threading.Event()

    def look() -> None:
        while not done.wait(LOOK_S):
            if lock.lost.is_set():
                session.interruptTag(tag)
                return

    looking = threading.Thread(target=look, name="archive-lost", daemon=True)
    session.addTag(tag)
    looking.start()
    try:
        yield
    except Exception:
        session.interruptTag(tag)
        with suppress(RMQError):  # the server is away: then that is what went wrong
            lock.is_mine()
        if lock.lost.is_set():  # and so it found its files gone
            raise PipelineError(LOST) from None
        raise
    except BaseException:
        session.interruptTag(tag)
        raise
    finally:
        done.set()
        looking.join()
        session.removeTag(tag)
