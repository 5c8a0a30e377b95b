"""The record of messages as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from console.models import MessageRecord, MessageTransition
from rmq_core.model.ids import id_to_text
from rmq_core.model.states import FORMER


def steps_json(steps: Iterable[MessageTransition], slot: int, payload: bool) -> list[dict[str, Any]]:
    """Steps as pages and the API show them; of errors only the class to those who may not read content."""
    return [
        {
            "at_ms": step.at_ms,
            "event": step.event,
            "from": _state(step.from_state),
            "to": _state(step.to_state),
            "slot": slot,
            "worker": step.worker or None,
            "host": step.host or None,
            "due_ms": step.due_ms,
            "priority": step.priority,
            "failures": step.failures,
            "error": (step.error if payload else step.error.partition(":")[0]) or None,
        }
        for step in steps
    ]


def _state(stored: str) -> str | None:
    """Steps that earlier releases wrote down say states by their former names."""
    return FORMER.get(stored, stored) or None


def record_json(record: MessageRecord, payload: bool) -> dict[str, Any]:
    """A record as pages and the API show it. An id that may be the content is hidden like content."""
    return {
        "id": id_to_text(bytes(record.ident)) if payload else None,
        "slot": record.slot,
        "slot_basis": id_to_text(bytes(record.basis)) if payload and record.basis else None,
        "state": record.state,
        "first_ms": record.first_ms,
        "updated_ms": record.updated_ms,
        "ended_ms": record.ended_ms,
        "due_ms": record.due_ms,
        "priority": record.priority,
        "sends": record.sends,
        "deliveries": record.deliveries,
        "failures": record.failures,
        "error": (record.error if payload else record.error.partition(":")[0]) or None,
    }
