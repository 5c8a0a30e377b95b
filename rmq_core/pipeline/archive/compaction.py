"""Small files → large ones, behind the back of readers: a folder counts once the note says that it is whole."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from rmq_core.pipeline.archive.archived import NOTE, Archive, batch_name
from rmq_core.pipeline.archive.staging import staging
from rmq_core.pipeline.archive.worth import FOLDERS_MOST, Day, Folder
from rmq_core.pipeline.durable import keep
from rmq_core.pipeline.files import java_path, literally, tree
from rmq_core.pipeline.schemas import EVENTS, ddl
from rmq_core.pipeline.small import small
from rmq_core.pipeline.unchanged import mark, reach

ROWS_PER_FILE = 5_000_000
READ_WITHIN_S = 3_600.0
"""So long what a compaction has replaced stays: who began to read before it still needs those files."""


def compact(
    kept: Archive,
    closed: Mapping[str, str] | None = None,
    *,
    most: int = FOLDERS_MOST,
    read_within_s: float = READ_WITHIN_S,
    check: Callable[[], None] = lambda: None,
) -> int:
    """Compacts what is worth it; returns how many days of topics. Nothing over Spark Connect: it cannot delete folders.
    ``closed``: per topic the last batch that the newest closing state covers. ``check``: raises where another job has
    the archive now."""
    if not hasattr(kept.session, "_jsparkSession") or (last := kept.last_committed()) is None:
        return 0
    files, now_ms, known_until = FileSystem(kept), int(time.time() * 1000), batch_name(last)
    days: dict[tuple[str, str], list[str]] = defaultdict(list)
    for topic, date, batch in files.folders():
        days[topic, date].append(batch)
    notes: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in kept.compaction_notes():
        notes[row.topic, row.date].append(row)
    done = 0
    for (topic, date), batches in sorted(days.items()):
        known = sorted(notes[topic, date], key=reach)
        whole, covered = (str(known[-1].batch), str(known[-1].last)) if known else (None, "")
        plain = sorted(each for each in batches if "-" not in each and covered < each <= known_until)
        if len(plain) + bool(whole) > most:
            is_over = date < f"{datetime.now(UTC):%Y-%m-%d}" and plain[-1:] != [known_until]
            day = Day(whole, plain, _folders(kept, topic, date), (closed or {}).get(topic), is_over)
            if several := day.worth(now_ms, most):
                known.append(_merge(kept, topic, date, several, check))
                done += 1
        remove_leftovers(files, topic, date, batches, known, read_within_s, check)
    return done


def _folders(kept: Archive, topic: str, date: str) -> dict[str, Folder]:
    """What is known of the folders of a day."""
    found: dict[str, Folder] = defaultdict(Folder)
    for path, size, changed_ms in tree(kept.session, f"{kept.events}/topic={topic}/date={date}"):
        batch = path.partition("/")[0].partition("=")[2]
        found[batch] = Folder(found[batch].size + size, max(found[batch].changed_ms, changed_ms))
    return found


def remove_leftovers(
    files: FileSystem,
    topic: str,
    date: str,
    batches: list[str],
    notes: list[Any],
    read_within_s: float,
    check: Callable[[], None],
) -> list[str]:
    """Removes what a whole compacted folder has replaced for long enough, and compacted folders that were never
    finished; returns those that it could not."""
    long_ago = (time.time() - read_within_s) * 1000
    old = [reach(row) for row in notes if row.at_ms is None or row.at_ms <= long_ago]
    replaced = max(old, default=("", ""))
    counting = {str(row.batch): reach(row) for row in notes}
    gone = []
    for batch in batches:
        # A plain folder is its own last batch, and has the least name of all that come as far.
        covers = counting.get(batch) if "-" in batch else (batch, "")
        if covers is None or covers < replaced:
            gone.append(batch)
    if gone:
        check()  # what was never finished another one may have made since
    return [batch for batch in gone if not files.remove(topic, date, batch)]


def _merge(kept: Archive, topic: str, date: str, batches: list[str], check: Callable[[], None]) -> Any:
    folder = f"{kept.events}/topic={topic}/date={date}"
    sources = {batch: mark(kept.session, f"{folder}/batch={batch}") for batch in batches}
    first, last = batches[0].partition("-")[0], batches[-1].rpartition("-")[2]
    merged = f"{first}-{last}"
    columns = tuple(each for each in EVENTS if each[0] not in {"topic", "date"})
    frame = literally(kept.session).schema(ddl(columns)).parquet(*(f"{folder}/batch={batch}" for batch in batches))
    ordered = frame.sortWithinPartitions("slot", "position", "seq")  # as many files as Spark reads it in parts
    with staging(kept, check) as staged:  # another one may have made the same folder
        place = f"{staged.folder}/topic={topic}/date={date}/batch={merged}"
        ordered.write.option("maxRecordsPerFile", ROWS_PER_FILE).parquet(place)
        staged.put()
    made = mark(kept.session, f"{folder}/batch={merged}")
    row = (topic, date, merged, first, last, int(time.time() * 1000), json.dumps(sources), made, None)
    note = small(kept.session, [row], NOTE)
    check()  # it may have erased something of what was read here
    # Notes are only ever added: the one that comes furthest counts, and covers the folders of the others.
    note.coalesce(1).write.mode("append").json(kept.compacted)
    keep(kept.session, kept.compacted)
    return note.collect()[0]


class FileSystem:
    """Hadoop's view of the archive's folder, whatever it is on."""

    def __init__(self, kept: Archive) -> None:
        self._session = kept.session
        self._root = self._path(kept.events)
        self._fs = self._root.getFileSystem(kept.session._jsparkSession.sessionState().newHadoopConf())

    def _path(self, text: str) -> Any:
        return java_path(self._session, text)

    def folders(self) -> list[tuple[str, str, str]]:
        """(topic, date, batch) of every folder."""
        found = self._fs.globStatus(self._path(f"{self._root.toString()}/topic=*/date=*/batch=*")) or []
        parts = [status.getPath().toString().rsplit("/", 3)[1:] for status in found]
        return [
            (topic.partition("=")[2], date.partition("=")[2], batch.partition("=")[2]) for topic, date, batch in parts
        ]

    def remove(self, topic: str, date: str, batch: str) -> bool:
        """Deletes a folder; False where something of it stays."""
        path = self._path(f"{self._root.toString()}/topic={topic}/date={date}/batch={batch}")
        return bool(self._fs.delete(path, True)) or not self._fs.exists(path)
