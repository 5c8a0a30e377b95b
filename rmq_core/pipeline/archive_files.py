"""The files of an archive that count, for pandas, PyArrow, DuckDB and whoever else reads Parquet; without Spark.

An archive also holds what a job has not finished, and what a compaction has replaced and others still read: whoever
reads all files reads some twice.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline.unchanged import counting

DIGITS = 12
LOOKS = 5
UNFINISHED = "."
"""What folders begin with in which a batch is before it is whole."""


def archive_files(
    path: str,
    topics: Collection[str] | None = None,
    since: datetime | date | None = None,
    until: datetime | date | None = None,
) -> list[str]:
    """The Parquet files that hold every archived transition once, in order of topic and day.

    ``topics``: only of these; groups are topics, too. ``since``, ``until``: only the days (UTC) that have something of
    this time; a moment without a zone is in UTC. Files are of whole days, so what is in them is to be filtered by
    ``at``. Topic and day are in their paths (``topic=…/date=…``). Raises `PipelineError`.
    """
    first, last = _day(since), _day(until)
    found = []
    for name, date_, batch, file in _counting(path, topics):
        if (not first or date_ >= first) and (not last or date_ <= last):
            found.append((name, date_, batch, file))
    return [file for *_, file in sorted(found)]


def lacks_checkpoint(begun: Collection[str]) -> bool:
    """Whether an archive that has events, and no batch that is whole, has lost its checkpoint. ``begun``: the batches
    that were; the first of all may not be whole yet."""
    return set(begun) != {"0"}


def without_checkpoint(path: str) -> str:
    """What is said of it."""
    return (
        f"the archive {path} has events, but its checkpoint, which says which of them count, is gone or has lost files:"
        " bring it back from a backup"
    )


def _day(moment: datetime | date | None) -> str | None:
    if isinstance(moment, datetime):
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    return None if moment is None else f"{moment:%Y-%m-%d}"


def _counting(path: str, topics: Collection[str] | None) -> list[tuple[str, str, str, str]]:
    """Topic, date, batch and path of each file that counts."""
    from pyarrow import fs

    try:
        files, root = fs.FileSystem.from_uri(path) if "://" in path else (fs.LocalFileSystem(), path)
        commits = [int(name) for name in _names(files, f"{root}/checkpoint/commits") if name.isdigit()]
        if not commits:
            begun = [name for name in _names(files, f"{root}/checkpoint/offsets") if name.isdigit()]
            has_events = any(name.startswith("topic=") for name in _names(files, f"{root}/events"))
            if has_events and lacks_checkpoint(begun):
                raise PipelineError(without_checkpoint(path))
            return []
        until = f"{max(commits):0{DIGITS}d}"
        notes = _notes(files, f"{root}/compacted")
        roots = (
            [f"{root}/events"] if topics is None else [f"{root}/events/topic={name}" for name in sorted(set(topics))]
        )
        selectors = [fs.FileSelector(each, allow_not_found=True, recursive=True) for each in roots]
        here = [each for selector in selectors for each in files.get_file_info(selector)]
    except (OSError, ValueError) as error:  # as of a file system that this machine has no library for
        raise PipelineError(f"the archive {path} cannot be read: {error}") from None
    folders: dict[str, dict[str, list[str]]] = {}
    for each in here:
        parts = each.path.rsplit("/", 4)[1:]
        if f"/events/{UNFINISHED}" in each.path:
            continue
        if each.is_file and parts[0].startswith("topic=") and not parts[3].startswith(("_", ".")):
            topic, date_, batch = (part.partition("=")[2] for part in parts[:3])
            file = path + each.path.removeprefix(root.rstrip("/")) if "://" in path else each.path
            folders.setdefault(topic, {}).setdefault(f"{date_}/{batch}", []).append(file)
    found = []
    for topic, several in folders.items():
        counted = counting(dict.fromkeys(several, ""), [note for note in notes if note.topic == topic], until)
        found += [(topic, *folder.split("/"), file) for folder in counted for file in several[folder]]
    return found  # type: ignore[return-value]


def noted(file: str, text: str | bytes) -> dict[str, Any]:
    """What a line of a note of an archive says. Raises `PipelineError` where that is damaged."""
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise PipelineError(damaged_note(file))
    return said


def damaged_note(file: str) -> str:
    """What to say of it."""
    return f"{file}, in which the archive notes what it needs to be read, is damaged: bring it back from a backup"


def _names(files: Any, folder: str) -> list[str]:
    from pyarrow import fs

    return [each.base_name for each in files.get_file_info(fs.FileSelector(folder, allow_not_found=True))]


def _notes(files: Any, folder: str) -> list[Any]:
    """Of each compaction its topic, date, folder and the last batch in it."""
    for look in range(LOOKS):
        names = [name for name in _names(files, folder) if name.endswith(".json")]
        try:
            return [note for name in names for note in _read(files, folder, name)]
        except FileNotFoundError:  # several were made one just now, and what they said is in that
            if look == LOOKS - 1:
                raise
    raise AssertionError("unreachable")


def _read(files: Any, folder: str, name: str) -> list[Any]:
    with files.open_input_stream(f"{folder}/{name}") as stream:
        return [
            SimpleNamespace(**noted(f"{folder}/{name}", line)) for line in stream.read().splitlines() if line.strip()
        ]
