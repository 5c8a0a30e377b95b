"""What is known of the slots' lives for a restore: a closing state, as far as there is one, and what came since.

Of what a state covers only the messages that were open are known, at the end of the slot's life. So topics of which it
covers lives that were over already are read from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmq_core.pipeline.history import accounts
from rmq_core.pipeline.history.replay import MESSAGE, SLOT, ms_of, replay
from rmq_core.pipeline.reading import History
from rmq_core.pipeline.schemas import COPIES
from rmq_core.pipeline.small import small
from rmq_core.pipeline.sources.decoding import DAY_MS
from rmq_core.pipeline.tuning import light_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Told:
    """``news``: the events that no closing state covers; ``sums``: the accounts of all lives; ``covered``: the life of
    each slot that the state tells of."""

    history: History
    news: DataFrame
    sums: DataFrame
    covered: dict[tuple[str, int], int]
    starts: accounts.Starts

    def open(self, gone: list[tuple[str, int, list[int]]]) -> tuple[DataFrame, DataFrame]:
        """The messages that were open at the end of lives (`schemas.HISTORIES`), and the events that tell of their
        contents and failures. ``gone``: topic, slot, lives."""
        from pyspark.sql import functions as F

        session, state = self.history.session, self.history.state
        lives = F.broadcast(small(session, gone, "topic string, slot int, gone array<int>"))

        def of_lives(events: DataFrame) -> DataFrame:
            return events.join(lives, [*SLOT]).where("array_contains(gone, life)").drop("gone")

        events, carried = of_lives(self.news), state.carried() if state else None
        if state is None or carried is None:
            return _open(replay(events)), events
        covered = [(topic, slot) for topic, slot, several in gone if self.covered.get((topic, slot)) in several]
        carried = carried.join(F.broadcast(small(session, covered, "topic string, slot int")), [*SLOT], "left_semi")
        with light_rows(session):
            found = replay(events, None, carried, state.closing).where("closing IS NULL").localCheckpoint()
        messages = _open(found)
        unsure = F.broadcast(found.where("unsure").select(*MESSAGE).distinct())
        if names := [row.topic for row in unsure.select("topic").distinct().collect()]:
            past = self.history.past(names)
            assert past is not None
            past = of_lives(accounts.with_lives(past.join(unsure, [*MESSAGE], "left_semi"), self.starts))
            again = replay(past.unionByName(events.join(unsure, [*MESSAGE], "left_semi")))
            messages = messages.join(unsure, [*MESSAGE], "left_anti").unionByName(_open(again))
            with light_rows(session):
                messages = messages.localCheckpoint()
        written = self._written(messages)
        return messages, events if written is None else events.drop("life").unionByName(written)

    def _written(self, messages: DataFrame) -> DataFrame | None:
        """What is covered of the days on which these contents and failures were written."""
        from pyspark.sql import functions as F

        places = F.array(*(F.col(f"{copy}_{what}_at") for copy in COPIES for what in ("content", "failed")))
        each = messages.select("topic", F.explode(places).alias("at")).where("at IS NOT NULL")
        day = F.floor(ms_of(F.col("at")) / DAY_MS).cast("int").alias("day")
        days = each.select("topic", day).distinct().collect()
        return self.history.past({row.topic for row in days}, {row.day for row in days}) if days else None


def told(history: History) -> Told:
    """Reads what is new, and the state's sums."""
    scratch: dict[str, str] = {}
    while True:
        history.open(scratch)
        known = history.state.table("accounts") if history.state else None
        if known is None:
            news = accounts.with_lives(history.news())
            return Told(history, news, accounts.accounts(news), {}, {})
        rows = known.select(*SLOT, "life").collect()
        covered, over = {(row.topic, row.slot): row.life for row in rows}, set[str]()
        if len(covered) < len(rows):
            several = known.groupBy(*SLOT).count().where("count > 1")
            over = {row.topic for row in several.select("topic").distinct().collect()}
        starts = accounts.starts(known)
        news = accounts.with_lives(history.news(), starts)
        new = accounts.accounts(news).localCheckpoint()
        if again := {*over, *accounts.overlapping(known, new)}:
            scratch |= dict.fromkeys(again, "twice")
            continue
        return Told(history, news, accounts.added(known, new), covered, starts)


def _open(messages: DataFrame) -> DataFrame:
    return messages.where("waiting > 0 OR in_flight > 0 OR dead > 0")
