"""Rows of an archive as the job leaves them, written by hand: without Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rmq_core.pipeline.schemas import EVENTS, arrow


def write_archive(archive: Path, topic: str, batch: int, rows: list[dict[str, Any]]) -> None:
    """One batch. What a row does not name is null; `at` is in seconds since the epoch."""
    schema = pa.schema([field for field in arrow(EVENTS) if field.name not in ("topic", "date")])
    days: dict[str, list[dict[str, Any]]] = {}
    for n, row in enumerate(rows):
        at = datetime.fromtimestamp(row["at"], UTC)
        known = dict.fromkeys(schema.names) | {"slot": 0, "seq": 0, "n": batch * 1000 + n} | row | {"at": at}
        days.setdefault(f"{at:%Y-%m-%d}", []).append(known)
    for day, some in days.items():
        folder = archive / "events" / f"topic={topic}" / f"date={day}" / f"batch={batch:012d}"
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(some, schema), folder / "part-0.parquet")  # type: ignore[no-untyped-call]
    commits = archive / "checkpoint" / "commits"
    commits.mkdir(parents=True, exist_ok=True)
    (commits / str(batch)).touch()
