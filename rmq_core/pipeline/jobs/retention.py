"""Forgets what an archive has held for longer than its topics want (``Topic.archive_for_ms``).

Of days that are over for so long, and that a reconciliation has closed the books on, the transitions of messages that
had ended keep their places and say no more whose they were (`redacted`): numbers, counters and windows stay true, and
there is no gap. What was not over then stays as it is, until it is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rmq_core.model.topic import Topic
from rmq_core.pipeline import files, unchanged
from rmq_core.pipeline.archive import redacted
from rmq_core.pipeline.archive.archived import Archive, batch_name
from rmq_core.pipeline.archive_files import noted
from rmq_core.pipeline.history import accounts
from rmq_core.pipeline.history.replay import MARKS, MESSAGE, replay
from rmq_core.pipeline.sources.decoding import DAY_MS
from rmq_core.pipeline.state import versions
from rmq_core.pipeline.state.closing import FORMAT as OF_STATES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FOLDER = "forgotten"
FORMAT = 1


@dataclass(frozen=True)
class Forgotten:
    """What was done for one topic: of how many ``days`` before ``before`` how many ``transitions``, and by how many
    bytes their files became smaller."""

    topic: str
    before: str
    days: int
    transitions: int
    freed_bytes: int = 0


def forget(
    kept: Archive,
    topics: Collection[Topic],
    now_ms: int | None = None,
    *,
    check: Callable[[], None] = lambda: None,
) -> list[Forgotten]:
    """Does it for topics that ask for it, once a day at most; nothing over Spark Connect. ``check``: raises where
    another job has the archive, or had it since."""
    asking = [topic for topic in topics if topic.archive_for_ms]
    if not asking or not files.seen_here(kept.session):
        return []
    now_ms = int(time.time() * 1000) if now_ms is None else now_ms
    pinned, done = kept.pinned(), _done(kept)
    closed = versions.closed(kept.session, f"{kept.path}/state", OF_STATES)
    here = unchanged.listing(kept.session, kept.events)
    notes = pinned.compaction_notes()
    found = []
    for topic in asking:
        # What can still be brought back from the trash is not over.
        before = _date(now_ms - max(topic.archive_for_ms, topic.undo_ms + DAY_MS))
        for name in (each for each in sorted(here) if each.partition("@")[0] == topic.name):
            if done.get(name, "") >= before or name not in closed:
                continue
            of_topic = [note for note in notes if note.topic == name]
            folders = unchanged.counting(here[name], of_topic, batch_name(pinned.until or 0))
            several = [(date, unchanged.last_of(batch)) for date, _, batch in (each.partition("/") for each in folders)]
            limit = min([before, *(date for date, last in several if last > closed[name])])
            if days := sorted({date for date, _ in several if date < limit}):
                found.append(_of_topic(pinned, name, days, limit, check))
    if found:
        _note(kept, found)
    return found


def _of_topic(kept: Archive, name: str, days: list[str], before: str, check: Callable[[], None]) -> Forgotten:
    from pyspark.sql import functions as F

    paths = [f"{kept.events}/topic={name}/date={day}" for day in days]
    events = kept.read(paths)
    lively = accounts.with_lives(events)
    left = replay(lively).where("id IS NOT NULL").select(*MESSAGE, F.lit(True).alias("open"))
    left = left.distinct().localCheckpoint()
    told = (F.length("id") > 0) & ~F.col("event").isin(*MARKS)

    def marked(several: DataFrame) -> DataFrame:
        known = several.join(F.broadcast(left), [*MESSAGE], "left")
        return known.withColumn("hit", told & F.col("open").isNull()).drop("open")

    rows = marked(events).where("hit").groupBy("date").agg(F.count("*").alias("n")).collect()
    counts = {row.date: row.n for row in rows}
    freed = 0
    if counts:
        notes = redacted.write(kept, [(name, day) for day in sorted(counts)], marked, check)
        freed = redacted.freed_bytes(kept, notes)
        check()
        redacted.commit(kept, notes)
    return Forgotten(name, before, len(counts), sum(counts.values()), freed)


def records(kept: Archive) -> list[dict[str, Any]]:
    """What was done when, the oldest first: ``at_ms``, ``topics`` (as `Forgotten`)."""
    folder = f"{kept.path}/{FOLDER}"
    names = [f"{folder}/{name}" for name in sorted(kept.files(folder)) if name.endswith(".json")]
    return [noted(file, files.read_text(kept.session, file) or "{}") for file in names]


def _done(kept: Archive) -> dict[str, str]:
    """Per topic, before which day all was forgotten that was over."""
    return {each["topic"]: str(each["before"]) for record in records(kept) for each in record["topics"]}


def _note(kept: Archive, found: list[Forgotten]) -> None:
    at_ms = int(time.time() * 1000)
    text = json.dumps({"format": FORMAT, "at_ms": at_ms, "topics": [asdict(each) for each in found]})
    files.write_text(kept.session, f"{kept.path}/{FOLDER}/{at_ms:015d}.json", text)


def _date(at_ms: int) -> str:
    import numpy as np

    return str(np.datetime64(at_ms // DAY_MS, "D"))
