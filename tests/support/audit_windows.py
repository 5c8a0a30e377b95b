"""Audit windows of a topic, as reconciliations leave them beside an archive, written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rmq_core.pipeline.buckets import SIZES, bucket_of
from rmq_core.pipeline.trends import FORMAT, INDEX

Happened = tuple[str, int, str, int, int]
"""Size, start (ms), name, of a time its ms (else -1), and how often."""


def write_windows(
    archive: Path, topic: str, parts: list[list[Happened]], span: tuple[int, int], at_ms: int, unproved: int = 0
) -> None:
    """``parts``: what each run has added; ``span``: since when and until when it is complete."""
    folders = [f"00000000000{n}-x" for n in range(len(parts))]
    for folder, rows in zip(folders, parts, strict=True):
        columns = list(zip(*sorted(rows), strict=True))
        buckets = [-1 if ms < 0 else bucket_of(ms) for ms in columns[3]]
        table = pa.table(
            {
                **{"size": columns[0], "start_ms": pa.array(columns[1], pa.int64()), "name": columns[2]},
                **{"bucket": pa.array(buckets, pa.int32()), "n": pa.array(columns[4], pa.int64())},
            }
        )
        path = archive / "state" / folder / "windows" / f"topic={topic}"
        path.mkdir(parents=True)
        pq.write_table(table, path / "part-0.parquet")  # type: ignore[no-untyped-call]
    assert {row[0] for rows in parts for row in rows} <= SIZES.keys()
    known = {"folders": folders, "since_ms": span[0], "complete_ms": span[1], "unproved": unproved}
    (archive / INDEX).write_text(json.dumps({"format": FORMAT, "at_ms": at_ms, "topics": {topic: known}}))
