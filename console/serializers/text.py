"""Values as text that can be sent: compact JSON, JSON Lines, CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from rmq_core.model.text import encodable

FORMULAS = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""What a formula begins with: also in full width, which some languages of a spreadsheet take for the same."""
FORMATS = {"jsonl": "application/x-ndjson", "csv": "text/csv"}


def dumps(value: Any) -> str:
    """Compact JSON, which can be sent whatever texts are in it."""
    return encodable(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV; cells that a spreadsheet would take for a formula are defused."""
    out = io.StringIO()
    csv.writer(out).writerows([_without_formula(cell) for cell in row] for row in rows)
    return encodable(out.getvalue())


def json_lines(values: Iterable[Any]) -> str:
    """Values as JSON Lines."""
    return encodable("".join(_dumped(values)))


def _dumped(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        yield json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


def _without_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in FORMULAS else cell


def row_etag(changed: datetime) -> str:
    """The ETag of a row that says when it was changed."""
    return f'"{changed.isoformat()}"'
