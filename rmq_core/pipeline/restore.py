"""Archive → queues: every copy of a message that was accepted and has not ended goes back to where it was.

A slot is restored where its journal has started again since, or the server knows less of it than the archive, and only
where what is archived tells everything; the others are left out, and it is said why. What came since stays: of an id
that was sent again only the dead letter comes back. Each copy is put back by a script that looks first, so a restore
that was interrupted, or runs twice, does no harm. What was in flight waits again, ready.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rmq_core.client.rmq import RMQ
from rmq_core.errors import PipelineError
from rmq_core.model.group import is_group_name
from rmq_core.model.topic import Journal, Topic
from rmq_core.pipeline import data_set, gaps, repair_data
from rmq_core.pipeline.accounts import accounts, lives, with_lives
from rmq_core.pipeline.archived import Archive
from rmq_core.pipeline.progress import QUIET, Progress
from rmq_core.pipeline.put_back import RESULT, putter
from rmq_core.pipeline.reading import load, together
from rmq_core.pipeline.replay import MARKS, MESSAGE, SLOT, replay
from rmq_core.pipeline.sentences import plain_errors, with_retries
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.journal import JournalSource
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.sources.queues import ledger_call, read_ledger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES = ("read", "restore")
USED = ("taken", "cancelled", "dropped", "requeued", "lapsed", "outdated")


@dataclass(frozen=True)
class LeftOut:
    """A slot that lost something, and gets nothing back: ``reason`` and ``advice`` as of a journal's gap."""

    topic: str
    slot: int
    reason: str
    advice: str


@dataclass(frozen=True)
class Restored:
    """What a run did, in copies of messages: put back, there already, and those whose content no journal holds (mode
    ``events``; they stay away). ``topics``: defined again; ``deleted``: they stay so, for somebody deleted them on
    purpose. ``slots_alone``: slots that have lost nothing. ``left_out``: see `LeftOut`. ``streams``: topics whose
    entries the archive has and that are not put back.
    """

    restored: int
    present: int
    without_content: int
    topics: tuple[str, ...]
    slots_alone: int
    left_out: tuple[LeftOut, ...] = ()
    deleted: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """What a person must know beside the numbers."""
        said = [f"topic {name} stays deleted: somebody deleted it on purpose" for name in self.deleted]
        said += [
            f"left out: topic {name} is a stream, whose entries and groups are not put back yet; the archive keeps them"
            for name in self.streams
        ]
        several: dict[tuple[str, str], list[int]] = {}
        for each in self.left_out:
            several.setdefault((each.topic, each.reason), []).append(each.slot)
        for (topic, reason), slots in sorted(several.items()):
            which = ", ".join(map(str, sorted(slots)))
            advice = gaps.ADVICE.get(reason, "")
            said.append(f"left out: topic {topic}, slot {which}: its history is not whole ({reason}). {advice}")
        if self.without_content:
            said.append(f"{self.without_content} stay away: no journal holds their content (mode events; see --inline)")
        return said


def restore(
    session: SparkSession,
    options: SourceOptions,
    path: str,
    *,
    progress: Progress = QUIET,
    dry_run: bool = False,
    inline: bool = False,
) -> Restored:
    """Restores what the archive at ``path`` says was there when the server lost it. Raises `PipelineError`.

    ``dry_run``: only counts. ``inline``: takes a message whose content was not journaled for one that is its id.
    """
    session.dataSource.register(JournalSource)
    with plain_errors("the restore stopped"):
        defined: list[str] = []  # over all tries: the second finds what the first has defined
        return with_retries(lambda: _restore(session, options, path, progress, dry_run, inline, defined))


def _restore(
    session: SparkSession,
    options: SourceOptions,
    path: str,
    progress: Progress,
    dry_run: bool,
    inline: bool,
    defined: list[str],
) -> Restored:
    from pyspark.sql import functions as F

    kept, since_ms = Archive(session, path), _now_ms(options)
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
        deleted = {each.name for each in everything if each.name in deletions and each.name not in here}
        deleted |= _deleted_topics(kept) - here.keys() - {each.name for each in everything}
        if options.topics:
            deleted &= set(options.topics)
        topics = [here.get(each.name, each) for each in everything if each.name not in deleted]
        defined += [each.name for each in topics if each.name not in here and not dry_run]
        topics = topics if dry_run else _define(options, topics)
        names = [each.name for each in topics]
        known = [name for name in names if name in here or not dry_run]
        events = _events(session, options, kept, known, deletions).where(F.col("topic").isin(names))
        wanted, alone, left_out = candidates(session, options, topics, kept, events)
    with progress.stage("restore", session):
        frame = wanted.localCheckpoint()
        unknown = 0 if inline else frame.where("body IS NULL").count()
        if not inline:
            frame = frame.where("body IS NOT NULL")
        if dry_run:
            return Restored(frame.count(), 0, unknown, (), alone, left_out, tuple(sorted(deleted)), streams)
        names_of = (
            "copy",
            "queue",
            "score",
            "exact",
            "priority",
            "failures",
            "first_failed_ms",
            "failed_ms",
            "failed_at",
        )
        each = frame.groupBy(*MESSAGE).agg(F.collect_list(F.struct(*names_of, "body", "failure")).alias("copies"))
        rows = each.repartition(*SLOT).sortWithinPartitions(*SLOT).mapInArrow(putter(options, topics, since_ms), RESULT)
        done = rows.groupBy().sum("restored", "present", "moved").collect()[0]
    if done[2]:
        raise PipelineError(
            f"{done[2]} messages moved whenever they were looked at: stop whoever sends and takes, and run it again"
        )
    stay = tuple(sorted(deleted))
    return Restored(done[0] or 0, done[1] or 0, unknown, tuple(defined), alone, left_out, stay, streams)


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


def _events(
    session: SparkSession, options: SourceOptions, kept: Archive, names: list[str], deletions: dict[str, int]
) -> DataFrame:
    """What is archived, and the news that the server's journals have beyond it."""
    if not names:
        return together(kept, load(session, replace(options, topics=()), "rmq_journal").where("false"), deletions)
    journal = load(session, replace(options, topics=tuple(names)), "rmq_journal").localCheckpoint()
    return together(kept, journal, deletions)


def candidates(
    session: SparkSession, options: SourceOptions, topics: list[Topic], kept: Archive, events: DataFrame
) -> tuple[DataFrame, int, tuple[LeftOut, ...]]:
    """Copies to put back (columns of `repair_data.copies`), how many slots have lost nothing, and those left out."""
    from pyspark.sql import functions as F

    lively = with_lives(events)
    reached = small(session, kept.reached(), gaps.REACHED)
    seen = "topic string, slot int, journaled long, off boolean, used boolean"
    live = small(session, _live(options, topics), seen)
    there = lives(accounts(lively)).join(F.broadcast(reached), [*SLOT], "full").join(live, [*SLOT], "inner")
    here = (F.col("from_position") <= F.col("reached")) & (
        F.col("next_from").isNull() | (F.col("next_from") > F.col("reached"))
    )
    lacks = here & (F.col("reached_n") - F.col("since") + 1 > F.coalesce("vouched", F.lit(0)))
    damage = F.coalesce(
        F.when(F.col("life").isNull() & F.col("reached_n").isNotNull(), "slot").when(lacks, "file"), "reason"
    )
    bare = gaps.begins_behind().alias("bare")
    rows = there.select(
        *SLOT, "life", "last_n", "journaled", "off", "used", "next_wiped", damage.alias("damage"), bare
    ).collect()
    lost, alone, left_out = decide([row.asDict() for row in rows])
    state = small(session, lost, "topic string, slot int, gone array<int>")
    both = lively.join(F.broadcast(state), [*SLOT])
    replayed = replay(both.where("array_contains(gone, life)").drop("gone"))
    replayed = replayed.where("waiting > 0 OR in_flight > 0 OR dead > 0")
    news = _news(both.where("life > array_max(gone)"))
    fresh = replayed.join(news, [*MESSAGE], "left").where("stock IS NULL OR NOT stock")
    for copy in ("waiting", "in_flight"):
        fresh = fresh.withColumn(copy, F.when(F.coalesce("arrived", F.lit(False)), 0).otherwise(F.col(copy)))
    return repair_data.copies(fresh, both.where("array_contains(gone, life)")), alone, left_out


def decide(rows: list[dict[str, Any]]) -> tuple[list[tuple[str, int, list[int]]], int, tuple[LeftOut, ...]]:
    """Of all lives of all slots: which of them are to be put back, how many slots need nothing, which cannot get what
    they lost."""
    slots: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        slots.setdefault((row["topic"], row["slot"]), []).append(row)
    lost, alone, left_out = [], 0, []
    for (topic, slot), several in sorted(slots.items()):
        known = sorted((row for row in several if row["life"] is not None), key=lambda row: int(row["life"]))
        if not known or known[0].get("bare"):
            left_out.append(LeftOut(topic, slot, "slot", gaps.ADVICE["slot"]))
            continue
        present = known[-1]
        emptied = present["journaled"] < present["last_n"]
        gone = [row for row in known if row["next_wiped"]] + ([present] if emptied else [])
        if not gone:
            alone += 1
            if present["damage"] in ("file", "slot") and present["journaled"] < (present["last_n"] or 0):
                left_out.append(LeftOut(topic, slot, present["damage"], gaps.ADVICE[present["damage"]]))
            continue
        # Whether it came back since, or was sent again, the news must tell.
        news = None if emptied or present in gone else present["damage"]
        damage = next((row["damage"] for row in gone if row["damage"]), None) or (news if news != "off" else None)
        if present["used"] and (present["off"] or news == "off"):
            damage = damage or "unwatched"
        if damage:
            left_out.append(LeftOut(topic, slot, damage, gaps.ADVICE.get(damage, "")))
        else:
            lost.append((topic, slot, [int(row["life"]) for row in gone]))
    return lost, alone, tuple(left_out)


def _news(events: DataFrame) -> DataFrame:
    """What happened since to messages: ``arrived``, they were sent again; ``stock``: they were put back already."""
    from pyspark.sql import functions as F

    stock = (F.col("event") == "erased") & (F.col("origin") == "-")
    back = (F.col("event") == "restored") & F.col("origin").isin("-", "t")
    changes = events.where(~F.col("event").isin(*MARKS))
    return changes.groupBy(*MESSAGE).agg(
        F.max(F.col("origin") == "n").alias("arrived"), F.max(stock | back).alias("stock")
    )


def _live(options: SourceOptions, topics: list[Topic]) -> list[tuple[str, int, int, bool, bool]]:
    """Per topic and slot, what it has journaled, whether its journal is off, and whether something was put back and
    something else happened: what is missing may have ended since.
    """
    with options.connection() as connection:
        found = []
        for topic in topics:
            calls = [ledger_call(options.keyspace, topic.name, slot) for slot in range(topic.slots)]
            replies = connection.run(calls)
            for slot, reply in enumerate(replies):
                ledger = read_ledger(reply)
                counted = ledger["counters"]
                used = counted["restored"] > 0 and any(counted[name] for name in USED)
                found.append((topic.name, slot, ledger["journaled"], topic.journal is Journal.OFF, used))
    return found
