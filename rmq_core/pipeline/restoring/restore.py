"""Archive → queues: every copy of a message that was accepted and has not ended goes back to where it was.

A slot is restored where its journal has started again since, or the server knows less of it than the archive, and only
where what is archived tells everything; the others are left out, and it is said why. What came since stays: of an id
that was sent again only the dead letter comes back. Each copy is put back by a script that looks first, so a restore
that was interrupted, or runs twice, does no harm. What was in flight waits again, ready, at its former place.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rmq_core.client.rmq import RMQ
from rmq_core.errors import PipelineError
from rmq_core.model.group import is_group_name
from rmq_core.model.topic import Journal, Topic
from rmq_core.pipeline.archive import data_set
from rmq_core.pipeline.archive.archived import Archive, deleted_since
from rmq_core.pipeline.archive.lock import ArchiveLock, RestoreLock
from rmq_core.pipeline.findings import gaps
from rmq_core.pipeline.history.replay import MESSAGE, SLOT
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.reading import History, load
from rmq_core.pipeline.restoring import rehearsal as of_rehearsal
from rmq_core.pipeline.restoring.arrivals import Reached, reached
from rmq_core.pipeline.restoring.lost import LeftOut, candidates, redefined
from rmq_core.pipeline.restoring.put_back import COLUMNS, PRESENT, RESTORED, RESULT, WITHOUT_CONTENT, putter
from rmq_core.pipeline.restoring.rehearsal import Rehearsal
from rmq_core.pipeline.restoring.under_way import under_way
from rmq_core.pipeline.sentences import plain_errors, with_retries
from rmq_core.pipeline.sources.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES = ("read", "restore")


@dataclass(frozen=True)
class Restored:
    """What a run did, in copies of messages: put back, there already, and those whose content no journal holds (mode
    ``events``; they stay away). ``topics``: defined again; ``deleted``: they stay so, for somebody deleted them on
    purpose. ``slots_alone``: slots that have lost nothing. ``left_out``: see `LeftOut`. ``streams``: topics whose
    entries the archive has and that are not put back. ``counts``: by topic, how many copies there are to put back
    waiting, retrying, in flight and dead, and how many stay away ``without_content``. ``into``: the other namespace.
    ``as_of_ms``: the moment of a rehearsal that was interrupted, and that this one, which named none, went on with.
    """

    restored: int
    present: int
    without_content: int
    topics: tuple[str, ...]
    slots_alone: int
    left_out: tuple[LeftOut, ...] = ()
    deleted: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    into: str | None = None
    as_of_ms: int | None = None

    def sentences(self) -> list[str]:
        """What a person must know beside the numbers."""
        said = [f"topic {name} stays deleted: somebody deleted it on purpose" for name in self.deleted]
        said += [
            f"left out: topic {name} is a stream: neither it nor its entries and groups are put back yet; what its"
            " journal told of them is in the archive"
            for name in self.streams
        ]
        several: dict[tuple[str, str], list[int]] = {}
        for each in self.left_out:
            several.setdefault((each.topic, each.reason), []).append(each.slot)
        for (topic, reason), slots in sorted(several.items()):
            which = _ranges(sorted(slots))
            advice = gaps.ADVICE.get(reason, "")
            why = "it is another one here" if reason == "redefined" else "its history is not whole"
            said.append(f"left out: topic {topic}, slot {which}: {why} ({reason}). {advice}")
        if self.as_of_ms is not None:
            then = of_rehearsal.text(self.as_of_ms)
            said.append(f"it went on with the rehearsal of {then}; what is there now needs another namespace")
        if self.without_content:
            said.append(f"{self.without_content} stay away: no journal holds their content (mode events; see --inline)")
        return said


def _ranges(numbers: list[int]) -> str:
    """Of numbers that ascend: 0-3, 7."""
    found: list[list[int]] = []
    for each in numbers:
        if found and each == found[-1][-1] + 1:
            found[-1][1:] = [each]
        else:
            found.append([each])
    return ", ".join("-".join(map(str, each)) for each in found)


def restore(
    session: SparkSession,
    options: SourceOptions,
    path: str,
    *,
    progress: Progress = QUIET,
    dry_run: bool = False,
    inline: bool = False,
    rehearsal: Rehearsal | None = None,
) -> Restored:
    """Restores what the archive at ``path`` says was there when the server lost it. Raises `PipelineError`.

    ``dry_run``: only counts. ``inline``: takes a message whose content was not journaled for one that is its id.
    ``rehearsal``: instead, all that was there at a moment, into a namespace of another name.
    """
    lock = nullcontext() if dry_run else RestoreLock(options)
    if rehearsal is not None:
        into = replace(options, namespace=rehearsal.into)
        # Nothing else is put there meanwhile: neither by its own restore, nor out of a third namespace.
        other = nullcontext() if dry_run or rehearsal.into == options.namespace else RestoreLock(into)
        with lock as held, other, plain_errors("the rehearsal stopped"):
            return with_retries(lambda: _rehearse(session, options, path, progress, held, inline, rehearsal))
    with lock as held, plain_errors("the restore stopped"):
        defined: list[str] = []  # over all tries: the second finds what the first has defined
        found = with_retries(lambda: _restore(session, options, path, progress, held, inline, defined))
        if not dry_run and not options.topics:
            with_retries(lambda: _note(options))
        return found


def _note(options: SourceOptions) -> None:
    """So that the console knows of it, whoever has restored."""
    with options.connection() as connection:
        connection.run([("SET", options.keyspace.restored, _now_ms(options))])


def _restore(
    session: SparkSession,
    options: SourceOptions,
    path: str,
    progress: Progress,
    lock: ArchiveLock | None,
    inline: bool,
    defined: list[str],
) -> Restored:
    kept, since_ms, dry_run = Archive(session, path), _now_ms(options), lock is None
    with progress.stage("read", session):
        deletions = options.deletions()
        archived = [topic for topic in kept.definitions() if not options.topics or topic.name in options.topics]
        streams = tuple(topic.name for topic in archived if topic.is_stream)
        everything = [topic for topic in archived if not topic.is_stream]
        if streams and not everything:
            return Restored(0, 0, 0, (), 0, streams=streams)
        if not everything or kept.last_committed() is None:
            gone = [name for name in _deleted_topics(kept) if not options.topics or name in options.topics]
            if gone:
                return Restored(0, 0, 0, (), 0, (), tuple(sorted(gone)))
            raise PipelineError(f"the archive {path} holds nothing to restore")
        here = {topic.name: topic for topic in replace(options, topics=()).definitions()}
        data_set.check_restorable(options, kept, [here[each.name] for each in everything if each.name in here])
        deleted = deleted_since(everything, deletions) - here.keys()
        deleted |= _deleted_topics(kept) - here.keys() - {each.name for each in everything}
        if options.topics:
            deleted &= set(options.topics)
        other = redefined(everything, here, deletions)
        apart = deleted | {each.topic for each in other}
        topics = [here.get(each.name, each) for each in everything if each.name not in apart]
        if not topics:
            return Restored(0, 0, 0, (), 0, other, tuple(sorted(deleted)), streams)
        defined += [each.name for each in topics if each.name not in here and not dry_run]
        topics = topics if dry_run else _define(options, topics)
        names = [each.name for each in topics]
        known = [name for name in names if name in here or not dry_run]
        before = {} if dry_run else reached(options, [topic for topic in topics if topic.journal is not Journal.OFF])
        journal = _journal(session, options, known)  # first: what is archived meanwhile must be in one of both
        history = History(session, names, kept.pinned(), journal, deletions)
        wanted, alone, left_out = candidates(options, topics, history)
    found = Restored(0, 0, 0, tuple(defined), alone, (*other, *left_out), tuple(sorted(deleted)), streams)
    return _put(session, options, topics, wanted, found, since_ms, before, progress, lock, inline=inline)


def _rehearse(
    session: SparkSession,
    options: SourceOptions,
    path: str,
    progress: Progress,
    lock: ArchiveLock | None,
    inline: bool,
    rehearsal: Rehearsal,
) -> Restored:
    kept, since_ms, dry_run = Archive(session, path), _now_ms(options), lock is None
    with progress.stage("read", session):
        target, at_ms, goes_on = of_rehearsal.check(options, kept, rehearsal)
        archived = of_rehearsal.topics_of(kept, options, rehearsal.at_ms)
        topics = [topic for topic in archived if not topic.is_stream]
        if not topics or kept.last_committed() is None:
            raise PipelineError(f"the archive {path} holds nothing to restore")
        wanted, left_out = of_rehearsal.candidates(session, options, topics, kept, at_ms)
        if not dry_run:
            of_rehearsal.note(target, options.namespace, at_ms)
        topics, new = (topics, ()) if dry_run else of_rehearsal.defined(target, topics)
    streams = tuple(topic.name for topic in archived if topic.is_stream)
    as_of_ms = at_ms if goes_on and rehearsal.at_ms is None else None
    found = Restored(0, 0, 0, new, 0, left_out, (), streams, into=rehearsal.into, as_of_ms=as_of_ms)
    return _put(session, target, topics, wanted, found, since_ms, {}, progress, lock, inline=inline)


def _put(
    session: SparkSession,
    options: SourceOptions,
    topics: list[Topic],
    wanted: DataFrame,
    found: Restored,
    since_ms: int,
    before: dict[tuple[str, int], Reached],
    progress: Progress,
    lock: ArchiveLock | None,
    *,
    inline: bool,
) -> Restored:
    """Puts copies (of `repair_data.copies`) into queues; returns ``found`` with what was done."""
    from pyspark.sql import functions as F

    with progress.stage("restore", session) as step:
        if lock is None:  # a dry run
            counts = _by_topic(_counted(wanted, inline=inline))
            known = (n for each in counts.values() for state, n in each.items() if state != WITHOUT_CONTENT)
            return replace(
                found, counts=counts, without_content=_all(counts, WITHOUT_CONTENT), restored=sum(known), topics=()
            )
        # By hash: no slot is one task's alone. So many tasks: by its size Spark would take one for all.
        hashes = [F.xxhash64(*SLOT).alias("of_slot"), F.xxhash64(*MESSAGE).alias("of_message")]
        tasks = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
        rows = wanted.select(*hashes, *COLUMNS).repartition(tasks, "of_message")
        rows = rows.sortWithinPartitions("of_slot", "of_message").select(*COLUMNS)
        with under_way(options, topics, lock) as name:
            put = rows.mapInArrow(putter(options, topics, since_ms, before, name, inline=inline), RESULT)
            counts = _by_topic(put.groupBy("topic", "what").agg(F.sum("copies").alias("copies")))
        restored, present = (sum(each.pop(what, 0) for each in counts.values()) for what in (RESTORED, PRESENT))
        step.rows = restored
    unknown = _all(counts, WITHOUT_CONTENT)
    return replace(found, counts=counts, without_content=unknown, restored=restored, present=present)


def _counted(copies: DataFrame, *, inline: bool) -> DataFrame:
    """How many copies there are in each state, and of how many nobody knows the content, as `put_back.RESULT`."""
    from pyspark.sql import functions as F

    unknown = F.lit(False) if inline else F.col("body").isNull()
    retrying = (F.col("copy") == "waiting") & (F.col("queue") == "r")
    state = F.when(unknown, WITHOUT_CONTENT).when(retrying, "retrying").otherwise(F.col("copy"))
    return copies.groupBy("topic", state.alias("what")).agg(F.count("*").alias("copies"))


def _by_topic(counted: DataFrame) -> dict[str, dict[str, int]]:
    """Of rows of `put_back.RESULT`."""
    counts: dict[str, dict[str, int]] = {}
    for row in counted.orderBy("topic", "what").collect():
        counts.setdefault(row.topic, {})[row.what] = row.copies
    return counts


def _all(counts: dict[str, dict[str, int]], what: str) -> int:
    return sum(each.get(what, 0) for each in counts.values())


def _deleted_topics(kept: Archive) -> set[str]:
    """Groups are none: they come back with their stream."""
    return {name for name in kept.deletions() if not is_group_name(name)}


def _now_ms(options: SourceOptions) -> int:
    """The server's clock."""
    with options.connection() as connection:
        ((seconds, _),) = connection.run([("TIME",)])
    return int(seconds) * 1000


def _define(options: SourceOptions, topics: list[Topic]) -> list[Topic]:
    """Defines the topics that the server has lost, whose journals then begin with nothing; all as they are now."""
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
        return [client.define(topic) for topic in topics]


def _journal(session: SparkSession, options: SourceOptions, names: list[str]) -> DataFrame:
    """The news that the server's journals have."""
    if not names:
        return load(session, replace(options, topics=()), "rmq_journal").where("false")
    return load(session, replace(options, topics=tuple(names)), "rmq_journal").localCheckpoint()
