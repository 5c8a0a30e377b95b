"""Days of an archive written anew without what was said of some messages.

A transition stays, so that numbers, counters and windows stay true; what it said of the message goes. A day's new
folder does not count before its note is written, and the notes of all days are one file: readers see all of it, or
nothing. See ``docs/decisions/290-erased-messages-leave-their-places.md``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline.archive.archived import NOTE, Archive, batch_name
from rmq_core.pipeline.archive.compaction import FileSystem, remove_leftovers
from rmq_core.pipeline.archive.staging import staging
from rmq_core.pipeline.durable import keep
from rmq_core.pipeline.files import stays, tree
from rmq_core.pipeline.schemas import EVENTS
from rmq_core.pipeline.small import small
from rmq_core.pipeline.unchanged import Folders, counting, last_of, listing, mark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ERASED = b""
"""Instead of its id."""
PERSONAL = ("body", "basis", "error", "message", "fingerprint")
"""Columns that may tell of a person, beside the id."""
Day = tuple[str, str]
"""Topic and date."""


@dataclass(frozen=True)
class _Rewritten:
    batch: str
    sources: list[str]


def base_of(topic: str) -> Any:
    """The topic of a group's column."""
    from pyspark.sql import functions as F

    return F.substring_index(topic, "@", 1)


def of_messages(events: DataFrame, gone: DataFrame, how: str) -> DataFrame:
    """Events joined with messages (``of``: a topic, ``gone``: an id; where there is a column ``within``: a slot, null:
    any)."""
    from pyspark.sql import functions as F

    same = (base_of("topic") == F.col("of")) & (F.col("id") == F.col("gone"))
    if "within" in gone.columns:
        same &= gone["within"].isNull() | events["slot"].isNull() | (gone["within"] == events["slot"])
    return events.join(F.broadcast(gone), same, how)


def those(gone: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Marks the events of these messages, for `write`."""
    return lambda events: of_messages(events, gone, "left").withColumn("hit", gone["gone"].isNotNull())


def of_days(kept: Archive, days: list[Day]) -> DataFrame:
    """What is archived of these days."""
    planned = _planned(kept, days)
    return kept.read([_folder(kept, day, source) for day, each in planned.items() for source in each.sources])


def write(
    kept: Archive,
    days: list[Day],
    marked: Callable[[DataFrame], DataFrame],
    check: Callable[[], None],
    erasure: str | None = None,
) -> list[Any]:
    """Writes the folders, which do not count yet; returns their notes. ``kept``: pinned. ``marked``: adds to events
    whether they are ``hit``, and may change bodies. ``check``: raises where another job has the archive, or had it
    since. ``erasure``: for which."""
    from pyspark.sql import functions as F

    planned = _planned(kept, days)
    names = small(
        kept.session, [(*day, each.batch) for day, each in planned.items()], "topic string, date string, batch string"
    )
    events = of_days(kept, days)
    hit = F.col("hit")
    redacted = marked(events).withColumn("id", F.when(hit, F.lit(ERASED)).otherwise(F.col("id")))
    for name in PERSONAL:
        redacted = redacted.withColumn(name, F.when(~hit, F.col(name)))
    placed = redacted.select(*(name for name, _, _ in EVENTS)).join(F.broadcast(names), ["topic", "date"])
    ordered = placed.sortWithinPartitions("topic", "date", "slot", "position", "seq")
    writer = ordered.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    with staging(kept, check) as staged:
        writer.partitionBy("topic", "date", "batch").parquet(staged.folder)
        staged.put()
    now_ms = int(time.time() * 1000)
    notes = []
    for day, each in planned.items():
        sources = {source: mark(kept.session, _folder(kept, day, source)) for source in each.sources}
        made, first = mark(kept.session, _folder(kept, day, each.batch)), each.batch.partition("-")[0]
        notes.append((*day, each.batch, first, last_of(each.batch), now_ms, json.dumps(sources), made, erasure))
    return notes


def freed_bytes(kept: Archive, notes: list[Any]) -> int:
    """By how much the files of days that were written anew are smaller than what they replace; 0 where they are not."""

    def size(day: Day, batch: str) -> int:
        return sum(size for _, size, _ in tree(kept.session, _folder(kept, day, batch)))

    freed = 0
    for topic, date, batch, *_, sources, _made, _erasure in notes:
        day = (topic, date)
        freed += sum(size(day, source) for source in json.loads(sources)) - size(day, batch)
    return max(0, freed)


def commit(kept: Archive, notes: list[Any]) -> None:
    """From now on the new folders count, also after the machine has lost its power."""
    small(kept.session, notes, NOTE).coalesce(1).write.mode("append").json(kept.compacted)
    keep(kept.session, kept.compacted)


def sweep(kept: Archive, check: Callable[[], None]) -> None:
    """Removes what does not count of all days that were ever written anew. Raises `PipelineError` where it stays."""
    several = FileSystem(kept)
    notes: dict[Day, list[Any]] = {}
    for row in kept.compaction_notes():
        notes.setdefault((row.topic, row.date), []).append(row)
    days: dict[Day, list[str]] = {}
    for topic, date, batch in several.folders():
        days.setdefault((topic, date), []).append(batch)
    for (topic, date), known in notes.items():
        here = days.get((topic, date), [])
        for batch in remove_leftovers(several, topic, date, here, known, 0, check):
            raise PipelineError(stays(_folder(kept, (topic, date), batch)))


def _planned(kept: Archive, days: list[Day]) -> dict[Day, _Rewritten]:
    """Of each day the name of its new folder, and the folders that go into it."""
    here, notes, until = listing(kept.session, kept.events), kept.compaction_notes(), batch_name(kept.until or 0)
    found = {}
    for topic, date in days:
        of_topic: Folders = counting(here[topic], [note for note in notes if note.topic == topic], until)
        sources = sorted(place.partition("/")[2] for place in of_topic if place.startswith(f"{date}/"))
        first, _, turn = sources[0].partition("-")[0].partition("e")
        # Of two that come as far the one with the greater name counts.
        name = f"{first}e{int(turn or 0) + 1:06d}-{max(map(last_of, sources))}"
        found[topic, date] = _Rewritten(name, sources)
    return found


def _folder(kept: Archive, day: Day, batch: str) -> str:
    return f"{kept.events}/topic={day[0]}/date={day[1]}/batch={batch}"
