"""Whether an archive still holds what it held when the books were closed, file by file, without reading a row.

Somebody may have lost files of it, edited them or copied folders; what a closing state says of its history is then not
to be believed. Folders that a compaction has replaced are followed through its note.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rmq_core.pipeline.files import tree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Folders = dict[str, str]
"""Of one topic: "<date>/<batch>" → the mark of its files."""


def listing(session: SparkSession, events: str) -> dict[str, Folders]:
    """The folders of every topic below ``events``."""
    files: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, size, changed_ms in tree(session, events):
        parts = path.split("/")
        if len(parts) == 4 and parts[0].startswith("topic=") and not parts[3].startswith(("_", ".")):
            topic, date, batch = (part.partition("=")[2] for part in parts[:3])
            files[topic, f"{date}/{batch}"].append(f"{parts[3]} {size} {changed_ms}")
    found: dict[str, Folders] = defaultdict(dict)
    for (topic, folder), lines in files.items():
        found[topic][folder] = _mark(lines)
    return dict(found)


def marks(session: SparkSession, path: str) -> Folders:
    """Of the files of every folder below a path, by the folder's place there."""
    found: dict[str, list[str]] = defaultdict(list)
    for place, size, changed_ms in tree(session, path):
        folder, _, name = place.rpartition("/")
        if folder and not name.startswith(("_", ".")):
            found[folder].append(f"{name} {size} {changed_ms}")
    return {folder: _mark(lines) for folder, lines in found.items()}


def changed(topics: Mapping[str, Mapping[str, set[str]]], recorded: Folders, now: Folders) -> list[str]:
    """Those of the topics of which what was recorded is not what there is now. ``topics``: by topic the folders that it
    has something in, by table; ``""``: by any other."""
    before, after = _by_topic(recorded), _by_topic(now)

    def of_topic(topic: str, several: Mapping[str, Folders]) -> Folders:
        folders = topics[topic]
        found = {}
        for place, known in (several.get("", {}) | several.get(topic, {})).items():
            folder, _, table = place.partition("/")
            if folder in folders.get(table.partition("/")[0], folders[""]):
                found[place] = known
        return found

    return [topic for topic in topics if of_topic(topic, before) != of_topic(topic, after)]


def _by_topic(several: Folders) -> dict[str, Folders]:
    """``""``: of tables that are not parted by topics."""
    found: dict[str, Folders] = defaultdict(dict)
    for place, known in several.items():
        found[place.partition("topic=")[2]][place] = known
    return found


def mark(session: SparkSession, folder: str) -> str:
    """Of the files in one folder."""
    names = [(path, size, changed) for path, size, changed in tree(session, folder) if not path.startswith(("_", "."))]
    return _mark([f"{path} {size} {changed}" for path, size, changed in names])


def _mark(lines: list[str]) -> str:
    return hashlib.blake2b("\n".join(sorted(lines)).encode(), digest_size=8).hexdigest()


def last_of(batch: str) -> str:
    """The last batch in a folder; the names sort."""
    return batch.rpartition("-")[2]


def counting(folders: Folders, notes: list[Any], until: str) -> Folders:
    """Those folders of a topic that readers read up to that batch. ``notes``: of its compactions."""
    newest = _newest(notes)
    found = {}
    for folder, known in folders.items():
        date, _, batch = folder.partition("/")
        whole = newest.get(date)
        if (whole and batch == whole.batch) or (
            "-" not in batch and batch <= until and (whole is None or batch > whole.last)
        ):
            found[folder] = known
    return found


def is_unchanged(recorded: Folders, until: str, now: Folders, notes: list[Any]) -> bool:
    """Whether the folders of a topic that were recorded are those that count now, up to the same batch."""
    newest, expected = _newest(notes), {}
    for recorded_folder, known in recorded.items():
        date, _, batch = recorded_folder.partition("/")
        while (whole := newest.get(date)) and batch != whole.batch and last_of(batch) <= whole.last:
            by = [note for note in notes if note.date == date and batch in json.loads(note.sources or "{}")]
            if not by or json.loads(by[0].sources)[batch] != known:
                return False
            batch, known = by[0].batch, by[0].made
        expected[f"{date}/{batch}"] = known
    return expected == {
        folder: known
        for folder, known in counting(now, notes, until).items()
        if folder in expected or "-" not in folder or last_of(folder.partition("/")[2]) <= until
    }


def _newest(notes: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for note in notes:
        if note.date not in found or reach(found[note.date]) < reach(note):
            found[note.date] = note
    return found


def reach(note: Any) -> tuple[str, str]:
    """What sorts the compactions of a day: how far they come; of two that come as far the one that was rewritten last
    (see `redacted`)."""
    return str(note.last), str(note.batch)
