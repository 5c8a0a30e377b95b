"""Histories × queues → suspects: what is new on top of what the closing state carries.

Of a few messages that does not suffice: they had ended, and now do something, or lie somewhere. Their history is looked
up in the archive, which is read once for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rmq_core.model.topic import Journal, Topic, TopicKind
from rmq_core.pipeline.findings import gaps, verdicts
from rmq_core.pipeline.history import accounts
from rmq_core.pipeline.history.carried import Closing
from rmq_core.pipeline.history.in_order import Slots
from rmq_core.pipeline.history.replay import MESSAGE, SLOT, ms_of, replay
from rmq_core.pipeline.reading import History, StoredTables
from rmq_core.pipeline.schemas import COPIES
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.decoding import DAY_MS
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.pipeline.tuning import light_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Limits(Protocol):
    """What is read, and how late a delivery may be before that counts (of `reconcile.Inputs`)."""

    @property
    def options(self) -> SourceOptions: ...

    @property
    def stuck_ms(self) -> int: ...

    @property
    def overdue_ms(self) -> int: ...


@dataclass
class Judged:
    """What the topics are judged by. ``readers``, ``reached``: see `gaps`. ``every``: also messages that are plainly in
    order are stored."""

    topics: list[Topic]
    limits: Limits
    kept: StoredTables
    readers: DataFrame | None = None
    reached: DataFrame | None = None
    every: bool = True


class Repeated(Exception):
    """Running numbers came a second time, so what is known of these topics cannot be added to."""

    def __init__(self, topics: list[str]) -> None:
        super().__init__(", ".join(topics))
        self.topics = topics


def _defined(judged: Judged) -> list[tuple[str, str | None, bool, int]]:
    """Rows of `gaps.DEFINED`; of a topic that is being defined anew just now it is not known."""
    now = {topic.name: topic.shape for topic in judged.limits.options.journaled()}

    def row(topic: Topic) -> tuple[str, str | None, bool, int]:
        shape = topic.shape if now.get(topic.name) == topic.shape else None
        return topic.name, shape, topic.journal is not Journal.OFF, topic.created_ms

    return [row(topic) for topic in judged.topics]


def _slots(judged: Judged, whole: DataFrame) -> Slots | None:
    """What messages are left out by; None: all are wanted."""
    if judged.every:
        return None
    lives = {(row.topic, row.slot): row.life for row in whole.select(*SLOT, "life").collect()}
    within = {topic.name: None if topic.paused else judged.limits.overdue_ms for topic in judged.topics}
    timed = frozenset(topic.name for topic in judged.topics if topic.kind.value in verdicts.OF_TIME)
    ranked = frozenset(topic.name for topic in judged.topics if topic.kind is TopicKind.PRIORITY)
    return Slots(lives, within, timed, ranked)


def judge(judged: Judged, snapshot: DataFrame, history: History) -> None:
    """Stores ``slot_ledgers``, ``accounts``, ``holes``, ``whole``, ``events``, ``news``, ``messages`` and ``suspects``;
    where the books are closed, also ``new_accounts``. Raises `Repeated`."""
    from pyspark.sql import functions as F

    kept, state = judged.kept, history.state
    slot_ledgers = kept.keep("slot_ledgers", verdicts.slot_ledgers(snapshot))
    known = state.table("accounts") if state else None
    if known is not None:
        known = kept.keep("known_accounts", known)
    starts = accounts.starts(known) if known is not None else None
    lively = accounts.with_lives(kept.put("events", history.news()), starts)
    new = kept.keep(
        "new_accounts", accounts.accounts(lively, twice=True, groups=any(topic.is_group for topic in judged.topics))
    )
    every = new.where("NOT closed").drop("closed")
    if known is not None:
        if repeated := accounts.overlapping(known, every):
            raise Repeated(repeated)
        every = kept.keep("accounts", accounts.added(known, every))
    slots = accounts.slots(kept.put("accounts", every))
    forks = small(history.session, state.forks() if state else [], gaps.FORKS)
    defined_as = small(history.session, _defined(judged), gaps.DEFINED)
    holes = kept.keep("holes", gaps.holes(slots, slot_ledgers, judged.readers, judged.reached, defined_as))
    if kept.has_rows("holes"):  # else what tells some of them from others need not be planned
        holes = kept.put("holes", kept.keep("forked_holes", gaps.forked(lively, holes, forks)))
    whole = kept.keep(
        "whole",
        slots.where("complete")
        .join(slot_ledgers, [*SLOT])
        .join(holes, [*SLOT], "left_anti")
        .select(*SLOT, "life", "lost_lives", "begin", "end"),
    )
    streams = [topic.name for topic in judged.topics if topic.is_stream]
    until = lively.join(F.broadcast(whole.select(*SLOT, "end")), [*SLOT], "left")
    news = kept.put("news", until.withColumn("later", F.coalesce(F.col("position") > F.col("end"), F.lit(False))))
    defined = small(
        history.session,
        [
            (topic.name, topic.kind.value, topic.journal.value, topic.visibility_timeout_ms, topic.paused)
            for topic in judged.topics
        ],
        "topic string, kind string, journal string, visibility_timeout_ms long, paused boolean",
    )

    def suspicious(messages: DataFrame) -> DataFrame:
        return verdicts.suspicious(messages, whole, defined, judged.limits.stuck_ms, judged.limits.overdue_ms)

    carried = history.carried()
    closing = state.closing if state else None
    queued = news.where(~F.col("topic").isin(streams))
    with light_rows(history.session):
        messages = kept.write("messages", replay(queued, snapshot, carried, closing, _slots(judged, whole)))
    suspects = kept.write_seldom("suspects", suspicious(messages.where("closing IS NULL")))
    if state is None or not state.known:
        return
    doubtful = (
        messages.where("unsure")
        .select(*MESSAGE)
        .union(suspects.where("life IS NULL AND misplaced IS NOT NULL").select(*MESSAGE))
        .where(F.col("topic").isin([*state.known]))
        .distinct()
    )
    topics = [row.topic for row in doubtful.select("topic").distinct().collect()]
    if not topics:
        return
    doubtful = kept.write("doubtful", doubtful)
    past = history.past(topics)
    assert past is not None
    some = F.broadcast(doubtful)
    past = accounts.with_lives(past.join(some, [*MESSAGE], "left_semi"), starts)
    old = past.withColumn("old", F.lit(True)).withColumn("later", F.lit(False))
    again = old.unionByName(news.drop("end").join(some, [*MESSAGE], "left_semi").withColumn("old", F.lit(False)))
    seen = snapshot.join(some, [*MESSAGE], "left_semi")
    with light_rows(history.session):
        more = kept.write("more_messages", replay(again, seen, None, Closing(state.closing.number)))
    kept.put("messages", messages.join(some, [*MESSAGE], "left_anti").unionByName(more))
    kept.put(
        "suspects",
        suspects.join(some, [*MESSAGE], "left_anti").unionByName(suspicious(more.where("closing IS NULL"))),
    )


def told(judged: Judged, history: History) -> DataFrame:
    """The events that say what is to be put back: those that are judged, and of what the closing state covers those
    days on which contents and failures of misplaced messages were written."""
    from pyspark.sql import functions as F

    suspects = judged.kept.read("suspects")
    news = judged.kept.read("news").where("NOT later").drop("later", "end", "life")
    if history.state is None or not history.state.known:
        return news
    places = F.array(*(F.col(f"{copy}_{what}_at") for copy in COPIES for what in ("content", "failed")))
    wanted = suspects.where("misplaced IS NOT NULL").select("topic", F.explode(places).alias("at"))
    day = F.floor(ms_of(F.col("at")) / DAY_MS).cast("int").alias("day")
    days = wanted.where("at IS NOT NULL").select("topic", day).distinct().collect()
    past = history.past({row.topic for row in days}, {row.day for row in days}) if days else None
    return news if past is None else news.unionByName(past)
