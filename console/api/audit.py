"""The audit: who did what, why, and what came of it."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema

from console.access import Permission
from console.api.callers import caller_of
from console.api.lists import readable
from console.api.schemas import Cursor, Limit
from console.models import AuditEntry
from console.serializers.audit import detail_json
from console.usecases import audit_list
from console.usecases.audit_list import TEXT_MAX, TIME_MAX_MS, AuditFilter

router = Router(tags=["audit"])

Text = Query("", max_length=TEXT_MAX)
Time = Query(None, ge=0, le=TIME_MAX_MS, description="ms since the epoch")


class Entry(Schema):
    """One action. `query` is what was asked for, `detail` the outcome of each message or the error; both are null for
    callers who may not read content, for ids may be contents."""

    id: int
    at_ms: int
    who: str
    action: str
    topic: str
    reason: str
    asked: int
    done: int
    result: str
    via: str
    address: str | None
    query: Any
    detail: Any


class Entries(Schema):
    """`count` of all that match; at least so many where it is not `exact`."""

    entries: list[Entry]
    next: str | None
    count: int
    exact: bool


@router.get("", response=Entries, url_name="audit", summary="What was done, newest first")
def audit(
    request: HttpRequest,
    who: str = Text,
    action: str = Text,
    topic: Annotated[str, Query(max_length=100)] = "",
    result: str = Text,
    via: str = Text,
    text: str = Text,
    since_ms: int | None = Time,
    until_ms: int | None = Time,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """`who` and `text` (in the reason) may be a part, the others are exact; `until_ms` is excluded."""
    caller = caller_of(request)
    caller.require(Permission.AUDIT, topic or "")
    given = {"who": who, "action": action, "topic": topic, "result": result, "via": via, "text": text}
    wanted = AuditFilter.from_mapping({**given, "since_ms": since_ms, "until_ms": until_ms})
    page = audit_list.page(wanted, cursor or "", limit)
    return {
        "entries": readable(Entry, page.entries, lambda each: _entry(each, caller.payload)),
        "next": page.next_cursor,
        "count": page.count,
        "exact": page.exact,
    }


def _entry(entry: AuditEntry, payload: bool) -> dict[str, Any]:
    shown = detail_json(entry)
    return shown if payload else {**shown, "query": None, "detail": None}
