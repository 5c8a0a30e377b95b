"""Adding up what is new and what was known: the report's figures, and the next closing state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmq_core.pipeline.history import accounts, figures
from rmq_core.pipeline.jobs import report
from rmq_core.pipeline.reading import History, StoredTables
from rmq_core.pipeline.sources.decoding import SEQUENCE_BITS
from rmq_core.pipeline.state import windows
from rmq_core.pipeline.state.closing import WHY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def written(kept: StoredTables, history: History, folder: str, run: str) -> dict[str, Any]:
    """Writes the report's table of topics, and closes the books (`tell` says so); returns what was read, for the
    summary."""
    state = history.state
    ends = kept.keep("new_ends", figures.ends(kept.read("events")))
    sketches = kept.keep("new_sketches", figures.sketches(kept.read("messages")))

    def known(name: str) -> DataFrame | None:
        return state.table(name) if state else None

    table = figures.topics(
        kept.read("accounts"),
        figures.added_ends(known("ends"), ends),
        figures.added_sketches(known("sketches"), sketches),
        figures.held_by_slots(kept.read("slot_ledgers")),
    )
    report.write_topics(table, folder)
    new, every = _events(kept)
    if state is None:
        return {"events": new}
    before = kept.read("known_accounts") if state.known else None
    said: dict[str, Any] = {
        "events": new,
        "events_known": every - new,
        "closing_state": state.version if state.known else None,
        "of_run": state.run if state.known else None,
        "from_scratch": {topic: WHY[why] for topic, why in sorted(state.scratch.items())},
        "looked_up": kept.read("doubtful").count() if "doubtful" in kept.frames else 0,
        "closed": None,
    }
    state.check_erased()
    if not state.has_news(history.topics):
        return said
    closed = kept.read("new_accounts").where("closed").drop("closed")
    tables = {
        "messages": kept.read("messages").where("closing IS NOT NULL").select("topic", "slot", "id", "closing.*"),
        "accounts": closed if before is None else accounts.added(before, closed),
        "ends": figures.added_ends(known("ends"), ends.where("archived")),
        "sketches": figures.added_sketches(known("sketches"), sketches.where("archived")),
        "windows": windows.of_news(kept.read("events"), kept.read("messages")),
    }
    holes = kept.read("holes").where("reason = 'forked'").select("topic", "slot", "life").collect()
    forks = [(row.topic, row.slot, row.life) for row in holes]
    return said | {"closed": state.close(history.topics, run, tables, forks)}


def tell(kept: StoredTables, history: History) -> None:
    """Where the windows are now, until when they are complete, and of how many slots the journal does not tell all."""
    state = history.state
    if state is None:
        return
    complete_ms = history.complete_until(kept.read("slot_ledgers"))
    unproved = {row.topic: row["count"] for row in kept.read("holes").groupBy("topic").count().collect()}
    folders = {topic: each.windows for topic, each in (state.others | state.known).items()}
    spans = {topic: (since_ms, complete_ms[topic]) for topic, since_ms in _since(kept).items() if topic in complete_ms}
    windows.write_index(state.archive, folders, spans, unproved)


def _since(kept: StoredTables) -> dict[str, int]:
    """Per topic, when the first happened that is known (ms)."""
    rows = kept.read("accounts").groupBy("topic").min("from_position").collect()
    return {row[0]: row[1] >> SEQUENCE_BITS for row in rows}


def _events(kept: StoredTables) -> tuple[int, int]:
    """How many were read, and how many there are."""
    new = kept.read("new_accounts").where("NOT closed").selectExpr("events AS new", "0L AS every")
    sums = new.union(kept.read("accounts").selectExpr("0L", "events")).groupBy().sum("new", "every").collect()[0]
    return sums[0] or 0, sums[1] or 0
