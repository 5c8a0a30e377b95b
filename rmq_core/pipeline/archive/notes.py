"""The notes of compactions: those that nobody needs any more go, and those that stay become one file.

Readers need the newest of each day. Of older ones a closing state needs those that lead from the folders it was made of
to what became of them; erasures are known by theirs.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from typing import Any

from rmq_core.pipeline import files
from rmq_core.pipeline.archive.archived import NOTE, Archive
from rmq_core.pipeline.archive.compaction import READ_WITHIN_S, FileSystem
from rmq_core.pipeline.durable import keep
from rmq_core.pipeline.small import small
from rmq_core.pipeline.unchanged import reach

COLUMNS = [each.split()[0] for each in NOTE.split(", ")]
FILES_MOST = 32
"""Every job reads all of them."""
Folder = tuple[str, str, str]
"""Topic, date and batch."""


def are_many(kept: Archive, most: int = FILES_MOST) -> bool:
    """Whether it is time; never over Spark Connect, which cannot remove files."""
    return files.seen_here(kept.session) and len(_names(kept)) > most


def tidy(kept: Archive, recorded: Mapping[str, Set[str]], *, read_within_s: float = READ_WITHIN_S) -> None:
    """For a job with the lock. ``recorded``: per topic the folders ("<date>/<batch>") that closing states name."""
    names = _names(kept)
    here = set(FileSystem(kept).folders())
    stay = needed(kept.compaction_notes(), here, recorded, int((time.time() - read_within_s) * 1000))
    # Who reads in between sees some twice, which is as good as once; who misses a file looks again.
    if stay:
        small(kept.session, stay, NOTE).coalesce(1).write.mode("append").json(kept.compacted)
        keep(kept.session, kept.compacted)  # what they replace is gone by now: without them nobody finds the days
    for name in names:
        files.remove(kept.session, f"{kept.compacted}/{name}")


def needed(
    notes: Iterable[Any], here: Set[Folder], recorded: Mapping[str, Set[str]], long_ago_ms: int
) -> list[tuple[Any, ...]]:
    """Rows (`NOTE`) of the notes that stay; without their sources where nobody asks what became of these. ``here``: the
    folders that there are. What is younger than ``long_ago_ms`` a run may name that has not ended yet."""
    days: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for note in notes:
        days[note.topic, note.date].append(note)
    stay = []
    for (topic, date), several in sorted(days.items()):
        several.sort(key=reach)
        followed = {place.partition("/")[2] for place in recorded.get(topic, ()) if place.startswith(f"{date}/")}
        for note in several:
            leads = not followed.isdisjoint(json.loads(note.sources or "{}"))
            if leads:
                followed.add(note.batch)
            leads = leads or (note.at_ms is not None and note.at_ms > long_ago_ms)
            if leads or note is several[-1] or note.erasure or (topic, date, note.batch) in here:
                row = {name: getattr(note, name) for name in COLUMNS}
                stay.append(tuple((row if leads else row | {"sources": None}).values()))
    return list(dict.fromkeys(stay))


def _names(kept: Archive) -> list[str]:
    return [name for name in kept.files(kept.compacted) if name.endswith(".json")]
