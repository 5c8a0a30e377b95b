"""Engine objects as JSON for browsers and the API, content masked for those who may not read it.

Ids appear in their text form. An id that *is* the content (an inline message) counts as content.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from rmq_core.model.report import Report
from rmq_core.model.text import encodable
from rmq_core.model.views import FailureRecord, MessageRow

CONTENT_SHOWN_BYTES = 64 * 1024
SAFE_INTEGER = 2**53 - 1


def row_json(row: MessageRow, payload: bool) -> dict[str, Any]:
    """A line of a list. Masked: no id that is content, no preview, no words of the failure but its class."""
    masked = not payload
    hide_id = masked and is_inline(row)
    error = row.error
    if error and masked:
        error = error.partition(":")[0]
    return {
        "id": None if hide_id else row.id,
        "slot": row.slot,
        "state": row.state,
        "score_ms": row.score_ms,
        "priority": row.priority,
        "failures": row.failures,
        "retries_left": row.retries_left,
        "error": error,
        "receipt": row.receipt,
        "size": row.size,
        "preview": None if masked else preview_of(row.preview),
        "was": row.was,
        "place": row.place,
    }


def is_inline(row: MessageRow) -> bool:
    """Whether the message is nothing but its id."""
    return row.size == len(row.raw_id) and row.raw_id.startswith(row.preview)


def content_json(content: bytes) -> dict[str, Any]:
    """The first part of a content: as text where it is UTF-8, always as base64 for the hex view."""
    shown = content[:CONTENT_SHOWN_BYTES]
    return {
        "size": len(content),
        "truncated": len(content) > len(shown),
        "text": _text(shown, cut=len(content) > len(shown)),
        "base64": base64.b64encode(shown).decode(),
    }


def failure_json(failure: FailureRecord | None, payload: bool) -> dict[str, Any] | None:
    if failure is None:
        return None
    return {
        "error": failure.error,
        "message": failure.message if payload else None,
        "worker": failure.worker,
        "failures": failure.failures,
        "first_ms": failure.first_ms,
        "last_ms": failure.last_ms,
        "traceback": failure.traceback if payload else None,
    }


def report_json(report: Report, payload: bool) -> dict[str, Any]:
    """What listeners told of a message. Masked: that something was told, and when."""

    def told(value: Any, at_ms: int | None) -> str | None:
        return None if at_ms is None or not payload else encodable(json.dumps(value, ensure_ascii=False))

    return {
        "slot": report.slot,
        "state": report.state,
        "done": report.done,
        "progress": told(report.progress, report.progress_ms),
        "progress_ms": report.progress_ms,
        "lines": [
            {"at_ms": line.at_ms, "attempt": line.attempt, "text": encodable(line.text) if payload else None}
            for line in report.lines
        ],
        "lines_dropped": report.lines_dropped,
        "result": told(report.result, report.result_ms),
        "result_ms": report.result_ms,
    }


def _text(raw: bytes, cut: bool) -> str | None:
    """Decoded where it is UTF-8; a character split by the cut does not count against it."""
    for end in range(len(raw), max(len(raw) - 4, -1) if cut else len(raw) - 1, -1):
        try:
            return raw[:end].decode()
        except UnicodeDecodeError:
            continue
    return None


def preview_of(raw: bytes) -> str:
    """The first bytes of a content as a line of text; hex where it is none."""
    text = _text(raw, cut=True)
    return text if text is not None else "0x" + raw[:64].hex()
