"""Small files → large ones, behind the back of readers: a folder counts once the note says that it is whole."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from rmq_core.pipeline.archived import Archive
from rmq_core.pipeline.files import java_path
from rmq_core.pipeline.schemas import EVENTS, ddl

FOLDERS_MOST = 8
"""A day of a topic is compacted when it has more folders than that."""

ROWS_PER_FILE = 5_000_000


def compact(kept: Archive, most: int = FOLDERS_MOST) -> int:
    """Compacts what needs it; returns how many days of topics. Nothing over Spark Connect: it cannot delete folders."""
    if not hasattr(kept.session, "_jsparkSession") or (last := kept.last_committed()) is None:
        return 0
    files = _FileSystem(kept)
    days: dict[tuple[str, str], list[str]] = defaultdict(list)
    for topic, date, batch in files.folders():
        days[topic, date].append(batch)
    whole = {(row.topic, row.date, row.batch) for row in kept.compactions()}
    done = 0
    for (topic, date), batches in sorted(days.items()):
        files.remove_leftovers(topic, date, batches, whole)
        usable = sorted(
            each for each in batches if _last(each) <= last and ("-" not in each or (topic, date, each) in whole)
        )
        newest = [each for each in usable if "-" in each]
        covered = max((_last(each) for each in newest), default=-1)
        plain = [each for each in usable if "-" not in each and int(each) > covered]
        if len(plain) <= most:
            continue
        _merge(kept, topic, date, [*newest[-1:], *plain])
        done += 1
        whole = {(row.topic, row.date, row.batch) for row in kept.compactions()}
        files.remove_leftovers(topic, date, batches, whole)
    return done


def _last(batch: str) -> int:
    return int(batch.rpartition("-")[2])


def _merge(kept: Archive, topic: str, date: str, batches: list[str]) -> None:
    folder = f"{kept.events}/topic={topic}/date={date}"
    first, last = batches[0].partition("-")[0], batches[-1].rpartition("-")[2]
    merged = f"{first}-{last}"
    columns = tuple(each for each in EVENTS if each[0] not in {"topic", "date"})
    frame = kept.session.read.schema(ddl(columns)).parquet(*(f"{folder}/batch={batch}" for batch in batches))
    ordered = frame.coalesce(1).sortWithinPartitions("slot", "position", "seq")
    ordered.write.mode("overwrite").option("maxRecordsPerFile", ROWS_PER_FILE).parquet(f"{folder}/batch={merged}")
    note = kept.session.createDataFrame(
        [(topic, date, merged, first, last)], "topic string, date string, batch string, first string, last string"
    )
    # Notes are only ever added: the one that comes furthest counts, and covers the folders of the others.
    note.coalesce(1).write.mode("append").json(kept.compacted)


class _FileSystem:
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

    def remove_leftovers(self, topic: str, date: str, batches: list[str], whole: set[tuple[str, str, str]]) -> None:
        """What a whole compacted folder covers, and compacted folders that were never finished."""
        covered = max((_last(batch) for t, d, batch in whole if (t, d) == (topic, date)), default=-1)
        for batch in batches:
            if (topic, date, batch) not in whole and ("-" in batch or int(batch) <= covered):
                self._fs.delete(self._path(f"{self._root.toString()}/topic={topic}/date={date}/batch={batch}"), True)
