"""Editing an archive's Parquet files by hand, as nobody should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rmq_core.pipeline.schemas import EVENTS, arrow

_FOLDERS = frozenset({"topic", "date"})
_SCHEMA = pa.schema([field for field in arrow(EVENTS) if field.name not in _FOLDERS])


def files(archive: Path, topic: str) -> list[Path]:
    """The files with a topic's transitions."""
    return sorted((archive / "events" / f"topic={topic}").rglob("*.parquet"))


def rewrite(file: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Replaces a file's rows by what ``change`` makes of them."""
    rows = pq.ParquetFile(file).read().to_pylist()  # type: ignore[no-untyped-call]
    table = pa.Table.from_pylist(change(rows), schema=_SCHEMA)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)  # Hadoop's checksum
    pq.write_table(table, file)  # type: ignore[no-untyped-call]


def add(archive: Path, topic: str, slot: int, *changes: tuple[str, str, bytes]) -> None:
    """One more transition each (event, route, id) in the last entry of a slot."""

    def of_slot(file: Path) -> list[tuple[int, int]]:
        rows = pq.ParquetFile(file).read(["slot", "position", "seq"]).to_pylist()  # type: ignore[no-untyped-call]
        return [(row["position"], row["seq"]) for row in rows if row["slot"] == slot]

    def longer(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        last = max((row for row in rows if row["slot"] == slot), key=lambda row: (row["position"], row["seq"]))
        plain = last | {name: None for name, _, _ in EVENTS[_FIRST_FACT:]}
        return rows + [
            plain | {"seq": last["seq"] + more, "event": event, "origin": route[0], "target": route[1], "id": id}
            for more, (event, route, id) in enumerate(changes, start=1)
        ]

    rewrite(max((file for file in files(archive, topic) if of_slot(file)), key=lambda file: max(of_slot(file))), longer)


_FIRST_FACT = [name for name, _, _ in EVENTS].index("score")


def remove_entry(archive: Path, topic: str, slot: int, n: int) -> None:
    """As if one entry of a slot had never been archived."""
    for file in files(archive, topic):
        rewrite(file, lambda rows: [row for row in rows if (row["slot"], row["n"]) != (slot, n)])
