"""Takes a finished run's report into the database: its summary, its table of topics, and the findings up to a limit.

The report itself stays in its folder; what is beyond the limit is only there, and the page says so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import transaction

from console.models import Finding, Reconciliation
from console.models.pipeline import WITHOUT
from console.serializers.text import csv_lines, json_lines
from console.usecases.runs import run_places
from console.usecases.runs.causes import CAUSE_MAX, cause_of
from console.usecases.runs.engine_repairs import KINDS
from rmq_core.model.ids import id_to_text
from rmq_core.model.text import shown
from rmq_core.model.topic import MAX_SLOTS

FINDINGS_MOST = 100_000
REPEATED_MOST = 1_000
"""Of a run that found what the one before had found, for nothing had moved."""
TOPICS_MOST = 5_000
ROWS_AT_ONCE = 2_000
SUMMARY_MOST = 4_000_000
LOG_SHOWN = 40_000
SENT_AT_ONCE = 500
REPAIRS = (*KINDS, "none")


class BadReport(Exception):
    """The report is not as it should be; the text says what is wrong."""


def take_in(run: Reconciliation, beat: Callable[[], Any] = lambda: None) -> None:
    """Fill in what the report says; `beat` is called now and then. Raises `BadReport`."""
    folder = run_places.report_of(run)
    run.summary = _summary(folder) | {name: each for name, each in run.summary.items() if name == WITHOUT}
    run.complete = bool(run.summary.get("complete", False))
    run.tables = [row for _, row in zip(range(TOPICS_MOST), _rows(folder / "topics"), strict=False)]
    counts = run.summary.get("counts")
    numbers = counts.values() if isinstance(counts, dict) else ()
    total, listed = sum(each for each in numbers if type(each) is int), 0
    most = REPEATED_MOST if run.summary.get("same_as") else FINDINGS_MOST
    run.found.all().delete()
    for batch in _batches(folder / "findings"):
        room = most - listed
        if room <= 0:
            break
        made = [_finding(run, row) for row in batch[:room]]
        with transaction.atomic():
            Finding.objects.bulk_create(made, batch_size=500)
        listed += len(made)
        beat()
    run.listed, run.findings = listed, max(total, listed)


def rows_of(run: Reconciliation) -> Iterator[dict[str, Any]]:
    """Every finding of the report, also those that are not in the database."""
    for batch in _batches(run_places.report_of(run) / "findings"):
        for row in batch:
            yield {
                "kind": str(row.get("kind") or ""),
                "topic": str(row.get("topic") or ""),
                "slot": row.get("slot"),
                "id": _ident(row.get("id")),
                "evidence": _evidence(row.get("evidence")),
                "repair": str(row.get("repair") or "none"),
            }


def log_text(run: Reconciliation) -> str:
    """The end of what the run printed."""
    path = run_places.log_of(run)
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - LOG_SHOWN))
        return file.read().decode(errors="replace")


def download(run: Reconciliation, form: str) -> Iterator[str]:
    """Every finding of the report, some at a time. Raises `BadReport`."""
    rows = rows_of(run)
    first = list(islice(rows, SENT_AT_ONCE))  # a report that cannot be read is refused before anything is sent
    return _pieces(first, rows, form)


def _pieces(some: list[dict[str, Any]], rest: Iterator[dict[str, Any]], form: str) -> Iterator[str]:
    columns = ("kind", "topic", "slot", "id", "repair", "evidence")
    if form == "csv":
        yield csv_lines([columns])
    while some:
        yield _piece(some, form, columns)
        some = list(islice(rest, SENT_AT_ONCE))


def _piece(rows: list[dict[str, Any]], form: str, columns: tuple[str, ...]) -> str:
    if form == "jsonl":
        return json_lines(rows)
    return csv_lines(
        [json_lines([row[name]]).strip() if name == "evidence" else row[name] for name in columns] for row in rows
    )


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / "summary.json"
    try:
        if path.stat().st_size > SUMMARY_MOST:
            raise BadReport("the report's summary is too large")
        found = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda _: None)
    except FileNotFoundError:
        raise BadReport("the run has left no report") from None
    except ValueError:
        raise BadReport("the report's summary is not JSON") from None
    if not isinstance(found, dict):
        raise BadReport("the report's summary is not an object")
    return found


def _finding(run: Reconciliation, row: dict[str, Any]) -> Finding:
    repair = str(row.get("repair") or "none")
    slot, evidence = row.get("slot"), _evidence(row.get("evidence"))
    return Finding(
        run=run,
        kind=shown(str(row.get("kind") or "unknown"), 60),
        topic=shown(str(row.get("topic") or ""), 100),
        slot=slot if type(slot) is int and 0 <= slot < MAX_SLOTS else None,
        # Of what was erased the id is gone; what can be repaired has one, if only the empty one.
        ident=_ident(row.get("id")) or (id_to_text(b"") if row.get("id") == b"" and repair in KINDS else ""),
        evidence=evidence,
        cause=shown(cause_of(evidence), CAUSE_MAX),
        repair=repair if repair in REPAIRS else "none",
    )


def _ident(raw: Any) -> str | None:
    if raw is None or raw == b"":
        return None
    return id_to_text(bytes(raw)) if isinstance(raw, bytes | bytearray) else shown(str(raw))


def _evidence(given: Any) -> dict[str, Any]:
    try:
        found = json.loads(given, parse_constant=str) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return {"text": shown(str(given))}
    return found if isinstance(found, dict) else {} if found is None else {"value": found}


def _batches(folder: Path) -> Iterator[list[dict[str, Any]]]:
    if not folder.exists():
        return
    import pyarrow
    from pyarrow import dataset

    try:
        for batch in dataset.dataset(folder, format="parquet").to_batches(batch_size=ROWS_AT_ONCE):
            if batch.num_rows:
                yield batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise BadReport(f"the report's {folder.name} cannot be read: {str(error).splitlines()[0]}") from None


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    for batch in _batches(folder):
        for row in batch:
            yield {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    """As JSON can hold it."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return float(value)
        case bytes():
            return id_to_text(value)
        case list() | tuple():
            return [_plain(each) for each in value]
        case dict():
            return {str(name): _plain(each) for name, each in value.items()}
    return value
