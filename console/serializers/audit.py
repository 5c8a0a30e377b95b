"""The audit as JSON."""

from __future__ import annotations

from typing import Any

from console.clock import ms_of
from console.models import AuditEntry
from console.models.audit import LABELS


def entry_json(entry: AuditEntry) -> dict[str, Any]:
    """A line of the list."""
    return {
        "id": entry.pk,
        "at_ms": ms_of(entry.at),
        "who": entry.username,
        "action": entry.action,
        "action_label": str(LABELS.get(entry.action, entry.action)),
        "topic": entry.topic,
        "result": entry.result,
        "result_label": entry.get_result_display(),
        "asked": entry.asked,
        "done": entry.done,
        "reason": entry.reason,
        "via": entry.via,
        "address": entry.address,
    }


def detail_json(entry: AuditEntry) -> dict[str, Any]:
    """All of an entry."""
    return {**entry_json(entry), "query": entry.query, "detail": entry.detail}
