"""The audit: who did what, why, and what came of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from ninja import Query, Router, Schema
from pydantic import Field

from console.access import Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.cursors import cursor_of, number_in
from console.api.http.description import plain
from console.api.http.downloads import download
from console.api.http.errors import ApiError
from console.api.http.lists import readable
from console.api.http.schemas import Cursor, Limit
from console.models import AuditEntry
from console.serializers.audit import detail_json
from console.serializers.text import FORMATS
from console.usecases import audit_list
from console.usecases.audit_list import TEXT_MAX, TIME_MAX_MS, AuditFilter

router = Router(tags=["audit"])

Text = Annotated[str, Field(max_length=TEXT_MAX)]
Time = Annotated[int | None, Field(ge=0, le=TIME_MAX_MS, description="ms since the epoch")]


class Wanted(Schema):
    """`who` and `text` (in the reason) may be a part, the others are exact; `until_ms` is excluded."""

    who: Text = ""
    action: Text = ""
    topic: Annotated[str, Field(max_length=100)] = ""
    result: Text = ""
    via: Text = ""
    text: Text = ""
    since_ms: Time = None
    until_ms: Time = None

    def filter(self) -> AuditFilter:
        """Raises `BadRequest`."""
        return AuditFilter.from_mapping(self.model_dump())


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
def audit(request: HttpRequest, wanted: Query[Wanted], limit: Limit = 50, cursor: Cursor = None) -> dict[str, Any]:
    """`who` and `text` (in the reason) may be a part, the others are exact; `until_ms` is excluded."""
    caller = caller_of(request)
    caller.require(Permission.AUDIT, wanted.topic or None)
    query = ("audit", wanted.model_dump_json())
    before = number_in(cursor, *query) if cursor else None
    page = audit_list.page(wanted.filter(), before, limit, caller.user)
    return {
        "entries": readable(Entry, page.entries, lambda each: _entry(each, caller.payload)),
        "next": cursor_of(page.entries[-1].pk, *query) if page.more else None,
        "count": page.count,
        "exact": page.exact,
    }


@router.get("/{int:number}", response=Entry, url_name="audit-entry", summary="One entry")
def entry(request: HttpRequest, number: int) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.AUDIT)
    found = AuditEntry.objects.filter(pk=number).first() if number < 2**63 else None
    if found is None or not caller.sees(found.topic):
        raise ApiError(404, "unknown_entry", gettext("There is no such entry."))
    return _entry(found, caller.payload)


@router.get(
    "/export",
    url_name="audit-export",
    summary="Every entry that matches, as a file",
    openapi_extra=plain(200, FORMATS.values(), "A line per entry"),
)
def export_audit(
    request: HttpRequest, wanted: Query[Wanted], form: Literal["jsonl", "csv"] = "jsonl"
) -> StreamingHttpResponse:
    caller = caller_of(request)

    def may(who: Caller) -> None:
        who.require(Permission.AUDIT, wanted.topic or None)
        who.require(Permission.READ_PAYLOAD)

    may(caller)
    name = f"audit-{timezone.now():%Y%m%d-%H%M%S}.{form}"
    rows = audit_list.export(wanted.filter(), form, caller.user)
    return download(request, rows, name, FORMATS[form], may)


def _entry(entry: AuditEntry, payload: bool) -> dict[str, Any]:
    shown = detail_json(entry)
    return shown if payload else {**shown, "query": None, "detail": None}
