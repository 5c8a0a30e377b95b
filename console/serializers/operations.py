"""What an operation tells: as JSON for pages and the API, and its report, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext

from console.clock import ms_of
from console.models import Operation, OperationPart
from console.serializers.text import csv_lines, json_lines
from rmq_core.figures import digits
from rmq_core.model.text import shown

SHOWN = 200
FATES = ("died", "under_way", "not_due", "well")
CONTENT_FIELDS = ("text", "error")
"""Parts of a filter that are words of a message; hidden from those who may not read content."""


def operation_json(operation: Operation, payload: bool) -> dict[str, Any]:
    """One operation as pages and the API show it. `total_exact` false: an estimate."""
    wanted = dict(operation.filter) if operation.filter is not None else None
    if wanted is not None and not payload:
        wanted |= {name: "…" for name in CONTENT_FIELDS if wanted.get(name)}
    canary = operation.place.get("canary")
    canary = canary if isinstance(canary, dict) else {}
    return {
        "id": str(operation.pk),
        "action": operation.action,
        "topic": operation.topic,
        "filter": wanted,
        "named": operation.total if operation.filter is None and operation.undoes_id is None else 0,
        "values": operation.values,
        "undoes": str(operation.undoes_id) if operation.undoes_id else None,
        "reason": operation.reason,
        "user": operation.username,
        "user_id": operation.user_id,
        "via": operation.via,
        "state": operation.state,
        "total": operation.total,
        "total_exact": operation.total_exact,
        "looked_at": operation.looked_at,
        "done": operation.done,
        "skipped": operation.skipped,
        "failed": operation.failed,
        "error": operation.error and (canary_stopped(canary) or operation.error),
        "rate_per_s": operation.rate_per_s,
        "spread_ms": operation.spread_ms,
        "spread_s": operation.spread_ms // 1000,
        "canary": {
            "size": operation.canary,
            "phase": canary.get("phase", "sending"),
            "sent": len(canary.get("refs", [])),
            "well": canary.get("well", 0),
            "died": canary.get("died", 0),
            "under_way": canary.get("under_way", 0),
        }
        if operation.canary
        else None,
        "interruptions": operation.interruptions,
        "created_ms": ms_of(operation.created),
        "started_ms": ms_of(operation.started),
        "finished_ms": ms_of(operation.finished),
        "undoable": operation.undoable,
    }


def canary_stopped(canary: Mapping[str, Any]) -> str:
    """Why a canary has ended its operation, in the reader's words; "" where it has not."""
    match canary.get("stopped"):
        case "late":
            text = gettext("The canary did not end: %(under_way)s of %(size)s messages are still under way.")
        case "died":
            text = gettext("The canary failed: %(died)s of %(size)s messages died again. Resume to go on all the same.")
        case _:
            return ""
    names = ("under_way", "died")
    return text % {"size": digits(len(canary["refs"])), **{name: digits(canary[name]) for name in names}}


def canary_messages(operation: Operation, payload: bool, most: int = SHOWN) -> list[dict[str, Any]]:
    """What became of those that went first, what died at the top; ids only for those who may read content."""
    canary = operation.place.get("canary")
    known = canary if isinstance(canary, dict) else {}
    refs, fates = known.get("refs") or [], known.get("fates") or []
    pairs = [(ref, fates[position] if position < len(fates) else "under_way") for position, ref in enumerate(refs)]
    pairs.sort(key=lambda pair: FATES.index(pair[1]))
    return [{"slot": slot, "id": ident if payload else None, "fate": fate} for (slot, ident), fate in pairs[:most]]


def not_done(operation: Operation, payload: bool, most: int = SHOWN) -> list[dict[str, Any]]:
    """The first messages that were not done, with the reason; ids only for those who may read content."""
    found: list[dict[str, Any]] = []
    parts = OperationPart.objects.filter(operation=operation).exclude(undone="[]").order_by("number")
    for stored in parts.values_list("undone", flat=True).iterator(chunk_size=10):
        found += [_line(each, payload) for each in _undone(stored)[: most - len(found)]]
        if len(found) >= most:
            break
    return found


def report(operation: Operation, form: str) -> Iterator[str]:
    """Every message that was not done, with the reason; a part at a time, whatever the length."""
    parts = OperationPart.objects.filter(operation=operation).exclude(undone="[]").order_by("number")
    if form == "csv":
        yield csv_lines([["id", "slot", "status"]])
    for stored in parts.values_list("undone", flat=True).iterator(chunk_size=10):
        lines = [_line(each, True) for each in _undone(stored)]
        yield (
            csv_lines([line["id"], line["slot"], line["status"]] for line in lines)
            if form == "csv"
            else json_lines(lines)
        )


def _undone(stored: str) -> list[list[Any]]:
    """What a part was left with; what is no such list is said, and keeps nobody from the other parts."""
    try:
        match json.loads(stored):
            case [*rows] if all(isinstance(each, list) and len(each) == 3 for each in rows):
                return rows
    except (ValueError, RecursionError):
        pass
    return [[-1, "", f"unreadable: {shown(stored, 200)}"]]


def _line(undone: list[Any], payload: bool) -> dict[str, Any]:
    slot, ident, status = undone
    return {"id": ident if payload else None, "slot": slot, "status": status}
