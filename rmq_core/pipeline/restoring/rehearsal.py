"""Archive → the queues of another namespace, as they were at a moment: looking at the past, or rehearsing a restore,
without touching what is in use.

Each slot gets what its journal says it held then: of the life it lived at that moment, every copy of every message that
had not ended. A slot whose history is not whole until then is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rmq_core.client.rmq import RMQ
from rmq_core.errors import PipelineError
from rmq_core.model.topic import Topic
from rmq_core.pipeline.archive import data_set
from rmq_core.pipeline.archive.archived import Archive
from rmq_core.pipeline.findings import gaps, repair_data
from rmq_core.pipeline.history.accounts import accounts, lives, with_lives
from rmq_core.pipeline.history.replay import SLOT, ms_of, replay
from rmq_core.pipeline.reading import load, together
from rmq_core.pipeline.restoring.arrivals import reached
from rmq_core.pipeline.restoring.lost import USED, LeftOut, lacking, live_slots
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.ledgers import ledger_call, read_ledger
from rmq_core.pipeline.sources.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DIGITS_MOST = 14
"""Of a moment (ms): until the year 5138; longer ones are no dates any more."""


@dataclass(frozen=True)
class Rehearsal:
    """``into``: the namespace that is filled; ``at_ms``: as it was then, None: as far as the archive and the journals
    of the namespace it holds tell."""

    into: str
    at_ms: int | None = None


def topics_of(kept: Archive, options: SourceOptions, at_ms: int | None) -> list[Topic]:
    """The topics as they were defined then. Streams are none of them."""
    found = kept.definitions(at_ms)
    return [each for each in found if not options.topics or each.name in options.topics]


def check(options: SourceOptions, kept: Archive, rehearsal: Rehearsal) -> tuple[SourceOptions, int, bool]:
    """The options of the namespace that is filled, the moment, and whether a rehearsal that was interrupted goes on; it
    goes on with the moment it had. Raises `PipelineError` where the namespace is in use: nothing may ever have been
    sent to it, or taken from it, or put back into it but by the same rehearsal, so that nobody's messages are mixed up,
    nor those of two moments."""
    into = rehearsal.into
    if into == options.namespace:
        raise PipelineError(f"the namespace {into!r} is the one itself: choose another one to rehearse in")
    data_set.check(options, kept)
    now_ms = max(data_set.end_ms(kept), _reached_ms(options))
    if rehearsal.at_ms is not None and rehearsal.at_ms > now_ms:
        raise PipelineError(f"the moment {text(rehearsal.at_ms)} is still to come")
    at_ms = now_ms if rehearsal.at_ms is None else rehearsal.at_ms
    target = replace(options, namespace=into, topics=())
    with target.connection() as connection:
        (noted,) = connection.run([("GET", target.keyspace.rehearsed)])
        whose, _, noted_ms = noted.decode(errors="replace").partition(" ") if noted else ("", "", "")
        if not noted_ms.isdecimal() or len(noted_ms) > DIGITS_MOST:  # somebody has spoiled it
            whose = ""
        goes_on = whose == options.namespace and (rehearsal.at_ms is None or int(noted_ms) == at_ms)
        filled = False
        for topic in target.definitions():
            calls = [ledger_call(target.keyspace.slot(topic.name, slot)) for slot in range(topic.slots)]
            for reply in connection.run(calls):
                counted = read_ledger(reply)["counters"]
                filled = filled or bool(counted["restored"])
                if counted["sent"] or any(counted[name] for name in USED) or (counted["restored"] and not goes_on):
                    raise PipelineError(
                        f"the namespace {into!r} is in use (topic {topic.name})"
                        + (f": it has {whose!r} as of {text(int(noted_ms))}" if whose else "")
                        + "; choose one that is empty"
                    )
    return target, int(noted_ms) if filled else at_ms, filled


def note(target: SourceOptions, whose: str, at_ms: int) -> None:
    """What is going to be there: of which namespace, and of which moment (ms)."""
    with target.connection() as connection:
        connection.run([("SET", target.keyspace.rehearsed, f"{whose} {at_ms}")])


def _reached_ms(options: SourceOptions) -> int:
    """The server's clock, and no earlier than what its journals tell: a clock may have been set back."""
    with options.connection() as connection:
        ((seconds, micros),) = connection.run([("TIME",)])
    topics = [topic for topic in replace(options, topics=()).definitions() if not topic.is_stream]
    newest = (int(each.newest.partition("-")[0]) for each in reached(options, topics).values())
    return max(int(seconds) * 1000 + int(micros) // 1000, *newest, 0)


def text(at_ms: int) -> str:
    """A moment, as `--at` takes it."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")


def defined(target: SourceOptions, topics: list[Topic]) -> tuple[list[Topic], tuple[str, ...]]:
    """Defines them; returns them as they are there, and the names of those that were not."""
    known = {topic.name for topic in target.definitions()}
    with RMQ(target.url, target.namespace, allow_eviction=True, retry_for_ms=target.retry_for_ms) as client:
        made = [client.define(topic) for topic in topics]
    return made, tuple(topic.name for topic in topics if topic.name not in known)


def candidates(
    session: SparkSession, options: SourceOptions, topics: list[Topic], kept: Archive, at_ms: int | None
) -> tuple[DataFrame, tuple[LeftOut, ...]]:
    """Copies to put back (columns of `repair_data.copies`), and slots that get none."""
    from pyspark.sql import functions as F

    names = [topic.name for topic in topics]
    here = {topic.name: topic for topic in replace(options, topics=()).definitions()}
    asked = tuple(name for name in names if name in here)
    journal = load(session, replace(options, topics=asked), "rmq_journal") if asked else None
    if journal is None:
        journal = load(session, replace(options, topics=()), "rmq_journal").where("false")
    journal = journal.localCheckpoint()  # first: what is archived meanwhile must be in one of both
    kept = kept.pinned()
    every = together(kept, journal, options.deletions(), at_ms=at_ms)
    every = with_lives(every.where(F.col("topic").isin(names)))
    until = every if at_ms is None else every.where(ms_of(F.col("position")) <= at_ms)
    come_to = small(session, kept.reached(at_ms), gaps.REACHED).where(F.col("topic").isin(names))
    all_lives = lives(accounts(every)).join(F.broadcast(come_to), [*SLOT], "full")
    torn = all_lives.where(lacking() | F.col("life").isNull()).select(*SLOT, F.col("life").isNull().alias("all"))
    told = lives(accounts(until)).select(*SLOT, "life", "reason").join(torn.distinct(), [*SLOT], "full")
    damage = F.when(F.col("all"), "slot").when(~F.col("all"), "file").otherwise(F.col("reason"))
    rows = [row.asDict() for row in told.select(*SLOT, "life", damage.alias("damage")).collect()]
    heard = {(row.topic, row.slot) for row in all_lives.select(*SLOT).distinct().collect()}
    lost, left_out = chosen(rows + _unheard(options, [here[name] for name in asked], heard))
    state = small(session, lost, "topic string, slot int, chosen int")
    events = until.join(F.broadcast(state), [*SLOT]).where("life = chosen").drop("chosen")
    replayed = replay(events).where("waiting > 0 OR in_flight > 0 OR dead > 0")
    return repair_data.copies(replayed, events), left_out


def _unheard(options: SourceOptions, topics: list[Topic], heard: set[tuple[str, int]]) -> list[dict[str, Any]]:
    """Slots that have journaled something of which nobody has anything."""
    return [
        {"topic": topic, "slot": slot, "life": 0, "damage": "trimmed"}
        for topic, slot, journaled, _, _ in live_slots(options, topics)
        if journaled and (topic, slot) not in heard
    ]


def chosen(rows: list[dict[str, Any]]) -> tuple[list[tuple[str, int, int]], tuple[LeftOut, ...]]:
    """Of all lives of all slots the last, where its history is whole; and the slots where it is not."""
    slots: dict[tuple[str, int], dict[str, Any]] = {}
    for row in rows:
        known = slots.get((row["topic"], row["slot"]))
        if known is None or row["life"] > known["life"]:
            slots[row["topic"], row["slot"]] = row
    found, left_out = [], []
    for (topic, slot), row in sorted(slots.items()):
        if damage := row["damage"]:
            left_out.append(LeftOut(topic, slot, damage, gaps.ADVICE.get(damage, "")))
        else:
            found.append((topic, slot, int(row["life"])))
    return found, tuple(left_out)
