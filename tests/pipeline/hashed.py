"""Steps as `histories` is given them: in the order of a number of their message."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from rmq_core.pipeline.schemas import STEPS, arrow

HASHED = pa.schema([("hash", pa.int64()), *arrow(STEPS)])


def of_id(row: dict[str, Any]) -> int:
    """A number of its message, of both signs."""
    return zlib.crc32(row["id"]) - 2**31


def hashed(rows: list[dict[str, Any]], hash_of: Callable[[dict[str, Any]], int] = of_id) -> pa.RecordBatch:
    """The rows with ``hash``, by it; those of equal ones stay as they were."""
    known = sorted(({"hash": hash_of(row)} | row for row in rows), key=lambda row: row["hash"])
    return pa.RecordBatch.from_pylist(known, schema=HASHED)
