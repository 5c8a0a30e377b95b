"""Rows of an outbox, and how it is, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from console.outbox.figures import Figures
from console.outbox.models import OutboxMessage
from console.outbox.rows import Row, id_of, message_of
from console.serializers.follow_ups import headers_json
from console.serializers.messages import content_json
from rmq_core.errors import InvalidMessage
from rmq_core.model.text import shown


def figures_json(figures: Figures) -> dict[str, Any]:
    return asdict(figures)


def outbox_row_json(row: OutboxMessage, payload: bool, now_ms: int) -> dict[str, Any]:
    """A line of a list. Masked: no id, which may be content; of an error its class."""
    return {
        "id": row.pk,
        "topic": shown(row.topic, 100),
        "state": row.state,
        "written_ms": row.written_ms,
        "at_ms": row.at_ms,
        "sending": row.state == OutboxMessage.State.WAITING and row.leased_until_ms > now_ms,
        "tries": row.tries,
        "error": row.error if payload else row.error.partition(":")[0],
        "message": _id_of(row) if payload else None,
        "size": len(row.content),
    }


def outbox_message_json(row: OutboxMessage, payload: bool, now_ms: int) -> dict[str, Any]:
    """All of a row."""
    content = content_json(bytes(row.content)) if payload else {}
    text = content.get("text")
    return outbox_row_json(row, payload, now_ms) | {
        "kind": row.kind,
        "value": row.value,
        "version": row.version,
        "headers": _headers(row) if payload else None,
        "content": text,
        "content_base64": content.get("base64") if text is None else None,
        "truncated": content.get("truncated", False),
    }


def _plain(row: OutboxMessage) -> Row:
    return Row(*(getattr(row, name) for name in Row._fields))


def _id_of(row: OutboxMessage) -> str | None:
    return id_of(_plain(row)) or None


def _headers(row: OutboxMessage) -> dict[str, str] | None:
    try:
        headers = message_of(_plain(row), row.written_ms).headers or {}
        return headers_json(headers, lambda _: True)  # the outbox is for who sees every topic
    except InvalidMessage:
        return None
