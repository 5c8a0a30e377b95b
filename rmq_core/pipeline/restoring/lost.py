"""What a server has lost, slot by slot: which lives of it are to be put back, and which cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmq_core.model.topic import Journal, Topic
from rmq_core.pipeline.archive.archived import deleted_since
from rmq_core.pipeline.findings import gaps, repair_data
from rmq_core.pipeline.history.accounts import lives
from rmq_core.pipeline.history.replay import MARKS, MESSAGE, SLOT
from rmq_core.pipeline.reading import History
from rmq_core.pipeline.restoring.told import told
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.ledgers import ledger_call, read_ledger
from rmq_core.pipeline.sources.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

USED = ("taken", "cancelled", "dropped", "requeued", "lapsed", "outdated")


@dataclass(frozen=True)
class LeftOut:
    """A slot that lost something, and gets nothing back: ``reason`` and ``advice`` as of a journal's gap."""

    topic: str
    slot: int
    reason: str
    advice: str


def redefined(archived: list[Topic], here: Mapping[str, Topic], deletions: Mapping[str, int]) -> tuple[LeftOut, ...]:
    """All slots of topics that somebody has defined as something else since they were lost: what the archive has fits
    into none of their slots. Where one was deleted on purpose, what it had before is not missed."""
    gone = deleted_since(archived, deletions)
    return tuple(
        LeftOut(each.name, slot, "redefined", gaps.ADVICE["redefined"])
        for each in archived
        if (now := here.get(each.name)) and (now.kind, now.slots) != (each.kind, each.slots)
        if each.name not in gone
        for slot in range(each.slots)
    )


def lacking() -> Column:
    """Whether the archive has fewer numbers of the life it has come to than it has read; of columns of `lives` and
    `gaps.REACHED`."""
    from pyspark.sql import functions as F

    here = (F.col("from_position") <= F.col("reached")) & (
        F.col("next_from").isNull() | (F.col("next_from") > F.col("reached"))
    )
    return here & (F.col("reached_n") - gaps.since_in_life() + 1 > F.coalesce("vouched", F.lit(0)))


def candidates(
    options: SourceOptions, topics: list[Topic], history: History
) -> tuple[DataFrame, int, tuple[LeftOut, ...]]:
    """Copies to put back (columns of `repair_data.copies`), how many slots have lost nothing, and those left out."""
    from pyspark.sql import functions as F

    assert history.archive is not None
    session, known = history.session, told(history)
    reached = small(session, history.archive.reached(deletions=history.deletions), gaps.REACHED)
    seen = "topic string, slot int, journaled long, off boolean, used boolean"
    live = small(session, live_slots(options, topics), seen)
    there = lives(known.sums).join(F.broadcast(reached), [*SLOT], "full").join(live, [*SLOT], "inner")
    lacks = lacking()
    damage = F.coalesce(
        F.when(F.col("life").isNull() & F.col("reached_n").isNotNull(), "slot").when(lacks, "file"), "reason"
    )
    bare = gaps.begins_behind().alias("bare")
    rows = there.select(
        *SLOT, "life", "last_n", "journaled", "off", "used", "next_wiped", damage.alias("damage"), bare
    ).collect()
    lost, alone, left_out = decide(_with_forks(history, known.news, [row.asDict() for row in rows]))
    replayed, events = known.open(lost)
    since = small(session, [(*slot, max(gone)) for *slot, gone in lost], "topic string, slot int, last int")
    news = _news(known.news.join(F.broadcast(since), [*SLOT]).where("life > last"))
    fresh = replayed.join(news, [*MESSAGE], "left").where("stock IS NULL OR NOT stock")
    for copy in ("waiting", "in_flight"):
        fresh = fresh.withColumn(copy, F.when(F.coalesce("arrived", F.lit(False)), 0).otherwise(F.col(copy)))
    return repair_data.copies(fresh, events), alone, left_out


def _with_forks(history: History, news: DataFrame, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, where what is `doubled` says whether a server that lost its end gave numbers twice (`forked`)."""
    if not any(row["damage"] == "doubled" for row in rows):
        return rows
    doubled = [(row["topic"], row["slot"], row["life"], "doubled") for row in rows if row["damage"] == "doubled"]
    holes = small(history.session, doubled, "topic string, slot int, life int, reason string")
    forks = small(history.session, history.state.forks() if history.state else [], gaps.FORKS)
    told_twice = gaps.forked(news, holes, forks).where("reason = 'forked'").select(*SLOT, "life").collect()
    forked = {(row.topic, row.slot, row.life) for row in told_twice}
    return [row | ({"damage": "forked"} if (row["topic"], row["slot"], row["life"]) in forked else {}) for row in rows]


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
            reason = present["damage"]
            if any(row["damage"] == "forked" for row in known):
                # An older dump was put back: what came between it and the loss is gone, and nobody can say what else.
                left_out.append(LeftOut(topic, slot, "forked", gaps.ADVICE["forked"]))
                continue
            alone += 1
            if reason in ("file", "slot") and present["journaled"] < (present["last_n"] or 0):
                left_out.append(LeftOut(topic, slot, reason, gaps.ADVICE[reason]))
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


def live_slots(options: SourceOptions, topics: list[Topic]) -> list[tuple[str, int, int, bool, bool]]:
    """Per topic and slot, what it has journaled, whether its journal is off, and whether something was put back and
    something else happened: what is missing may have ended since.
    """
    with options.connection() as connection:
        found = []
        for topic in topics:
            calls = [ledger_call(options.keyspace.slot(topic.name, slot)) for slot in range(topic.slots)]
            replies = connection.run(calls)
            for slot, reply in enumerate(replies):
                ledger = read_ledger(reply)
                counted = ledger["counters"]
                used = counted["restored"] > 0 and any(counted[name] for name in USED)
                found.append((topic.name, slot, ledger["journaled"], topic.journal is Journal.OFF, used))
    return found
