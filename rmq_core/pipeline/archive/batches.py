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
from rmq_core.pipeline.durable import create, move
from rmq_core.pipeline.files import files, folders, remove, seen_here, tree
from rmq_core.pipeline.schemas import EVENTS, ddl
from rmq_core.pipeline.sources.journal import JournalStream
from rmq_core.pipeline.sources.offsets import START, Offsets, between
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.planned import planned
from rmq_core.pipeline.tuning import FEW_ENTRIES, few_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOOK_S = 0.5
STAGING = ".spark-staging-"
"""Where a batch is until it is whole, as Spark calls its own; one that is there before a job begins is of one that was
killed."""
MARK = "_begun"
"""In it, as long as nobody has swept it away."""
REPLACED = "_replaced"
"""In it, what one that was killed had put into place already."""

Writer = Callable[["DataFrame", int], None]


def sweep(kept: Archive) -> None:
    """Removes what a job that was killed has left; nothing over Spark Connect: it cannot delete folders."""
    if seen_here(kept.session):
        for name in folders(kept.session, kept.events):
            if name.startswith(STAGING):
                _bring_back(kept, f"{kept.events}/{name}/{REPLACED}")
                remove(kept.session, f"{kept.events}/{name}")


def _bring_back(kept: Archive, replaced: str) -> None:
    """What a job has put aside, and was killed before it saw that this is another one's, and whole."""
    last = kept.last_committed()
    for place in sorted({path.rpartition("/")[0] for path, _, _ in tree(kept.session, replaced)}):
        number = place.rpartition("/batch=")[2]
        if number.isdigit() and last is not None and int(number) <= last:
            move(kept.session, f"{replaced}/{place}", f"{kept.events}/{place}")


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
            with few, _stopped_by(lock, kept.session), _staging(kept, number, lock) as folder:
                rows = _written(planned(kept.session, partitions, read, ddl(EVENTS)), writer(folder), number)
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


@contextmanager
def _staging(kept: Archive, number: int, lock: ArchiveLock) -> Iterator[str]:
    """A folder of this job's own, from which a batch goes to its places once it is whole.

    Spark itself would remove what is there before it puts something in its place: of a job that stood still for so long
    that another one has ended its batch, what journals hold no longer. And a task whose files were swept away has, to
    Spark, written nothing.
    """
    folder = f"{kept.events}/{STAGING}{uuid.uuid4().hex}"
    create(kept.session, f"{folder}/{MARK}", "")
    try:
        yield folder
        lock.check()
        _check_mark(kept, folder)
        found = {path.rpartition("/")[0] for path, _, _ in tree(kept.session, folder)}
        for place in sorted(each for each in found if each.startswith("topic=")):
            _put(kept, number, folder, place)
    except Exception:
        _check_mark(kept, folder)  # whatever went wrong follows from that
        raise
    finally:
        remove(kept.session, folder)


def _check_mark(kept: Archive, folder: str) -> None:
    """Raises `PipelineError` where the folder was swept away by one that had the lease, and may have given it back."""
    if MARK not in files(kept.session, folder):
        raise PipelineError(LOST)


def _put(kept: Archive, number: int, folder: str, place: str) -> None:
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
