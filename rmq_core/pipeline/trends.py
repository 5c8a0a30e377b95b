"""Reading audit windows without Spark: what a topic did minute by minute, hour by hour, day by day.

``<archive>/windows.json`` says, topic by topic, in which folders they are, and until when they are complete; a
reconciliation writes it last. Whoever reads adds the rows up::

    from rmq_core.pipeline.trends import trend
    trend("var/archive", "rebooking", "hour", since_ms, until_ms)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rmq_core.errors import PipelineError
from rmq_core.pipeline.buckets import COUNTED, KEPT_MS, SIZES, TIMES, ms_in

FORMAT = 1
INDEX = "windows.json"
QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True)
class Window:
    """What happened from ``start_ms`` on, for the length of a window: per name of `COUNTED` how often; per name of
    `TIMES` the `QUANTILES` in ms, None where nothing was measured. ``complete``: all that happened then is in it."""

    start_ms: int
    counts: dict[str, int]
    times: dict[str, tuple[int, int, int] | None]
    complete: bool


@dataclass(frozen=True)
class Trend:
    """The windows of a topic, without those in which nothing happened, in order. From ``since_ms`` until
    ``complete_ms`` a window that is not there is 0; before and behind that nobody knows. ``unproved``: slots whose
    journal does not tell everything, so that figures may be too low."""

    topic: str
    size: str
    since_ms: int
    complete_ms: int
    unproved: int
    windows: list[Window]


@dataclass(frozen=True)
class Known:
    """From ``since_ms`` until ``complete_ms`` all that happened in a topic is in its windows."""

    since_ms: int
    complete_ms: int
    unproved: int


def known(archive: str) -> dict[str, Known]:
    """By topic, without reading a window. Raises `PipelineError`."""
    with _whole(archive):
        return {
            name: Known(int(each["since_ms"]), int(each["complete_ms"]), int(each["unproved"]))
            for name, each in _index(archive).get("topics", {}).items()
        }


def trend(archive: str, topic: str, size: str, since_ms: int, until_ms: int) -> Trend | None:
    """The windows of a topic that begin between two moments (without the latter); None: there are none of it. Raises
    `PipelineError`."""
    with _whole(archive):
        index = _index(archive)
        topics = {**index.get("topics", {})}
        if topic not in topics:
            return None
        found = topics[topic]
        oldest_ms = int(index["at_ms"]) - KEPT_MS[size] if size in KEPT_MS else 0
        first_ms, complete_ms = max(int(found["since_ms"]), oldest_ms), int(found["complete_ms"])
        unproved, folders = int(found["unproved"]), [*found["folders"]]
    sums: dict[int, dict[tuple[str, int], int]] = {}
    for row in _rows(archive, topic, size, since_ms, until_ms, folders):
        window = sums.setdefault(row["start_ms"], {})
        key = row["name"], row["bucket"]
        window[key] = window.get(key, 0) + row["n"]
    several = [_window(start_ms, sums[start_ms], start_ms + SIZES[size] <= complete_ms) for start_ms in sorted(sums)]
    return Trend(topic, size, first_ms, complete_ms, unproved, several)


def table(archive: str, topic: str) -> Any:
    """All windows of a topic as a table of PyArrow (`windows.WINDOWS`), to be written as Parquet, or for pandas and
    DuckDB; parts of a window are to be added up. Raises `PipelineError`."""
    import pyarrow as pa

    found_in = _index(archive).get("topics", {}).get(topic, {"folders": []})
    several = [each.to_table() for each in _datasets(archive, topic, found_in["folders"])]
    if not several:
        return None
    found = pa.concat_tables(several)
    return found.append_column("topic", pa.array([topic] * found.num_rows))


@contextmanager
def _whole(archive: str) -> Iterator[None]:
    """What is read of the index in it is what was written there, else that is said."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        words = f"bring its {INDEX} back from a backup ({type(error).__name__}: {error})"
        raise PipelineError(f"the windows of the archive {archive} are damaged: {words}") from None


def _index(archive: str) -> dict[str, Any]:
    from pyarrow import fs

    try:
        files, path = fs.FileSystem.from_uri(archive) if "://" in archive else (fs.LocalFileSystem(), archive)
        said: dict[str, Any] = json.loads(_text(files, path) or f'{{"format": {FORMAT}}}')
    except (OSError, ValueError) as error:  # as of a file system that this machine has no library for
        raise PipelineError(f"the windows of the archive {archive} cannot be read: {error}") from None
    if not isinstance(said, dict) or "format" not in said:
        raise PipelineError(f"the windows of the archive {archive} are damaged: bring its {INDEX} back from a backup")
    if said.get("format") != FORMAT:
        raise PipelineError(f"the windows of the archive {archive} are of a later release")
    return said


def _text(files: Any, path: str) -> bytes | None:
    """The index; None: there is none. Just when it is replaced it has another name, under which it is whole."""
    for name in (INDEX, f"{INDEX}.part", INDEX):
        try:
            with files.open_input_stream(f"{path}/{name}") as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            continue
    return None


def _datasets(archive: str, topic: str, folders: list[str]) -> list[Any]:
    from pyarrow import dataset

    found = []
    for folder in folders:
        path = f"{archive}/state/{folder}/windows/topic={topic}"
        try:
            found.append(dataset.dataset(path, format="parquet", exclude_invalid_files=False))
        except FileNotFoundError:
            continue  # nothing new of this topic
    return found


def _rows(
    archive: str, topic: str, size: str, since_ms: int, until_ms: int, folders: list[str]
) -> list[dict[str, Any]]:
    from pyarrow import dataset

    start = dataset.field("start_ms")
    wanted = (dataset.field("size") == size) & (start >= since_ms) & (start < until_ms)
    try:
        return [
            row
            for each in _datasets(archive, topic, folders)
            for row in each.to_table(["start_ms", "name", "bucket", "n"], filter=wanted).to_pylist()
        ]
    except OSError as error:
        raise PipelineError(f"the windows of topic {topic} in the archive {archive} cannot be read: {error}") from None


def _window(start_ms: int, sums: dict[tuple[str, int], int], complete: bool) -> Window:
    counts = {name: sums.get((name, -1), 0) for name in COUNTED}
    times = {}
    for name in TIMES:
        buckets = sorted((bucket, n) for (of, bucket), n in sums.items() if of == name)
        times[name] = quantiles(buckets) if buckets else None
    return Window(start_ms, counts, times, complete)


def quantiles(buckets: list[tuple[int, int]]) -> tuple[int, int, int]:
    """Of so many times in each bucket, in order."""
    total, found = sum(n for _, n in buckets), []
    for quantile in QUANTILES:
        seen = 0
        for bucket, n in buckets:
            seen += n
            if seen >= quantile * total:
                found.append(ms_in(bucket))
                break
    return found[0], found[1], found[2]
