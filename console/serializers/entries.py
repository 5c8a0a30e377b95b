"""Entries of streams as JSON, content masked for those who may not read it."""

from __future__ import annotations

from typing import Any

from console.serializers.follow_ups import Sees, headers_json
from console.serializers.messages import content_json, preview_of
from rmq_core.model.entry import Entry
from rmq_core.model.text import encodable

PREVIEW_BYTES = 200


def entry_row(entry: Entry, payload: bool) -> dict[str, Any]:
    """A line of a list."""
    return {
        "id": entry.id,
        "slot": entry.slot,
        "at_ms": entry.at_ms,
        "size": size_of(entry),
        "preview": _preview(entry) if payload else None,
        "field_count": len(entry.fields),
        "header_count": len(entry.headers),
    }


def entry_json(entry: Entry, payload: bool, sees: Sees) -> dict[str, Any]:
    """Everything about one."""
    found = entry_row(entry, payload)
    if not payload:
        hidden = ("content", "content_base64", "fields", "fields_base64", "headers", "slot_basis")
        return found | dict.fromkeys(hidden) | {"truncated": False}
    shown = content_json(entry.content)
    texts, others = {}, {}
    for name, raw in entry.fields.items():
        each = content_json(raw)
        if each["text"] is None:
            others[encodable(name)] = each["base64"]
        else:
            texts[encodable(name)] = each["text"]
    return found | {
        "content": shown["text"],
        "content_base64": shown["base64"] if shown["text"] is None else None,
        "truncated": shown["truncated"],
        "fields": texts,
        "fields_base64": others,
        "headers": headers_json(entry.headers, sees),
        "slot_basis": None if entry.slot_basis is None else preview_of(entry.slot_basis),
    }


def size_of(entry: Entry) -> int:
    """Bytes of its content, or of its fields and their names."""
    return len(entry.content) + sum(len(name.encode(errors="replace")) + len(raw) for name, raw in entry.fields.items())


def full_content(entry: Entry) -> bytes:
    """The content byte for byte; of one with fields, its fields as lines."""
    if not entry.fields:
        return entry.content
    return b"".join(name.encode(errors="replace") + b"=" + raw + b"\n" for name, raw in entry.fields.items())


def _preview(entry: Entry) -> str:
    if not entry.fields:
        return preview_of(entry.content[:PREVIEW_BYTES])
    pairs = (f"{encodable(name)}={preview_of(raw[:PREVIEW_BYTES])}" for name, raw in entry.fields.items())
    return " ".join(pairs)[:PREVIEW_BYTES]
