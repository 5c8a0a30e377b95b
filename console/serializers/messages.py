"""Engine objects as JSON for browsers and the API, content masked for those who may not read it.

Ids appear in their text form. An id that *is* the content (an inline message) counts as content.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from rmq_core.model.text import encodable
from rmq_core.model.views import FailureRecord, MessageRow, MessageView, SlotDetail

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
        "preview": None if masked else _preview(row.preview),
        "was": row.was,
    }


def is_inline(row: MessageRow) -> bool:
    """Whether the message is nothing but its id."""
    return row.size == len(row.raw_id) and row.raw_id.startswith(row.preview)


def view_json(view: MessageView, payload: bool) -> dict[str, Any]:
    """Everything about one message; `content` is null where it is masked."""
    found = row_json(view.row, payload)
    found |= {
        "states": list(view.states),
        "version": view.version,
        "headers": headers_json(view.headers) if payload else None,
        "header_count": len(view.headers),
        "failure": failure_json(view.failure, payload),
        "content": content_json(view.content) if payload else None,
    }
    return found


def headers_json(headers: Mapping[str, str]) -> dict[str, str]:
    """As sent, but for lone surrogates, which older releases let in and no reader of JSON need understand."""
    return {encodable(name): encodable(value) for name, value in headers.items()}


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


def slot_json(detail: SlotDetail, now_ms: int, payload: bool) -> dict[str, Any]:
    sample = detail.sample
    counters = sample.counters
    return {
        "slot": sample.slot,
        "at_ms": sample.at_ms,
        "store": sample.store,
        "ready": sample.ready,
        "delayed": sample.delayed,
        "waiting": sample.retry,
        "in_flight": sample.prepare,
        "dead": sample.dead,
        "bodies": sample.bodies,
        "lag_ms": sample.lag_ms(now_ms),
        "next_due_ms": sample.next_due_ms,
        "oldest_taken_ms": sample.oldest_taken_ms,
        "epoch": sample.epoch.lstrip("0") if sample.epoch else None,
        "ledger_gap": sample.ledger_gap,
        "counters": {name: getattr(counters, name) for name in type(counters).__dataclass_fields__},
        "heads": [row_json(row, payload) for row in detail.heads],
        "prepared": [row_json(row, payload) for row in detail.prepared],
    }


def _text(raw: bytes, cut: bool) -> str | None:
    """Decoded where it is UTF-8; a character split by the cut does not count against it."""
    for end in range(len(raw), max(len(raw) - 4, -1) if cut else len(raw) - 1, -1):
        try:
            return raw[:end].decode()
        except UnicodeDecodeError:
            continue
    return None


def _preview(raw: bytes) -> str:
    text = _text(raw, cut=True)
    return text if text is not None else "0x" + raw[:64].hex()
