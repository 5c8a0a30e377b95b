"""Recurring messages: definitions, the history of their ticks, one more by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path as PathParam
from ninja import Router, Schema, Status
from ninja.params.functions import Body
from pydantic import Field

from console.access import Action, Permission
from console.api.http.callers import caller_of
from console.api.http.cursors import cursor_of, name_in, name_place, number_in
from console.api.http.errors import invalid
from console.api.http.lists import readable
from console.api.http.preconditions import IfMatch, check_row
from console.api.http.schemas import NEEDED_WHY, Cursor, Limit, Reason, Strict, WithReason
from console.clock import now_ms
from console.models import RecurringMessage
from console.recurring.rule import (
    EVERY_LEAST_MS,
    EVERY_MOST_MS,
    JITTER_MOST_MS,
    NAME_MAX,
    TEXT_MAX,
    InvalidRecurring,
)
from console.serializers.recurring import recurring_json, tick_json, upcoming_of
from console.serializers.text import row_etag
from console.usecases import recurring
from rmq_core.model.outcomes import DELAY_MAX_MS
from rmq_core.model.tenants import TENANT_MAX
from rmq_core.model.topic import MAX_UNIQUE_MS

router = Router(tags=["recurring"])
CONTENT_MAX = 1_048_576
RecurringName = Annotated[
    str, PathParam(description="Its name.", min_length=1, max_length=NAME_MAX, examples=["daily-summary"])
]
Moment = Annotated[int, Field(ge=0, le=2**53)]


class TickOut(Schema):
    """`how`: on_time, late, skipped, by_hand. `missed`: so many before it were not sent. `message`: the id."""

    id: int
    tick_ms: int
    at_ms: int
    how: str
    missed: int
    message: str
    outbox_row: int | None
    username: str


class RecurringOut(Schema):
    """`next_tick_ms` without, `next_ms` with its jitter; null where there will be none. `origin` code: it is changed
    there. `content`: null for callers who may not read content."""

    name: str
    description: str
    topic: str
    content: str | None
    when: str
    value: int
    cron: str
    every_ms: int | None
    time_zone: str
    jitter_ms: int
    misfire: str
    start_ms: int | None
    end_ms: int | None
    expires_ms: int | None
    unique_for_ms: int | None
    tenant: str
    enabled: bool
    origin: str
    next_tick_ms: int | None
    next_ms: int | None
    error: str
    username: str
    last: TickOut | None
    etag: str = Field(description="For `If-Match`.")


class RecurringWithUpcoming(RecurringOut):
    """With its next ticks."""

    upcoming: list[int]


class RecurringList(Schema):
    as_of_ms: int
    recurring: list[RecurringOut]
    next: str | None


class TickList(Schema):
    as_of_ms: int
    ticks: list[TickOut]
    next: str | None


class RecurringChange(Strict):
    """What is left out stays as it is."""

    description: str | None = Field(None, max_length=TEXT_MAX)
    topic: str | None = Field(None, max_length=100)
    content: str | None = Field(None, min_length=1, max_length=CONTENT_MAX)
    when: Literal["priority", "range_ms", "in_ms"] | None = None
    value: int | None = Field(None, ge=0, le=2**53)
    cron: str | None = Field(None, max_length=100, examples=["0 7 * * MON-FRI"])
    every_ms: int | None = Field(None, ge=EVERY_LEAST_MS, le=EVERY_MOST_MS)
    time_zone: str | None = Field(None, max_length=100, examples=["Europe/Berlin"])
    jitter_ms: int | None = Field(None, ge=0, le=JITTER_MOST_MS)
    misfire: Literal["skip", "once", "all"] | None = None
    start_ms: Moment | None = None
    end_ms: Moment | None = None
    expires_ms: int | None = Field(None, ge=0, le=DELAY_MAX_MS, description="Of each message; null: as its topic says.")
    unique_for_ms: int | None = Field(
        None, ge=0, le=MAX_UNIQUE_MS, description="Of each message; null: as its topic says."
    )
    tenant: str | None = Field(None, max_length=TENANT_MAX, description='Of each message; "": as its topic says.')
    enabled: bool | None = None
    reason: Reason = ""


class RecurringBody(RecurringChange):
    """A cron expression, or an interval; `when` and `value` say what the topic's kind asks for."""

    name: str = Field(min_length=1, max_length=NAME_MAX, pattern=r"^[^/:]+$")
    topic: str = Field(max_length=100)
    content: str = Field(min_length=1, max_length=CONTENT_MAX)
    when: Literal["priority", "range_ms", "in_ms"]
    value: int = Field(ge=0, le=2**53)


@router.get("", response=RecurringList, url_name="recurring", summary="All recurring messages, by name")
def all_recurring(request: HttpRequest, limit: Limit = 100, cursor: Cursor = None) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    found = recurring.page(caller.user, name_in(cursor, "recurring") if cursor else None, limit)
    return {
        "as_of_ms": now_ms(),
        "recurring": readable(
            RecurringOut, found.rows, lambda row: recurring_json(row, found.last.get(row.pk), caller.payload)
        ),
        "next": cursor_of(name_place(found.rows[-1].name), "recurring") if found.more else None,
    }


@router.post("", response={201: RecurringWithUpcoming}, url_name="recurring-create", summary="Define one")
def create_recurring(request: HttpRequest, response: HttpResponse, body: RecurringBody) -> Any:
    """Its first tick is the first from now on."""
    caller = caller_of(request)
    caller.require(Action.RECURRING, body.topic)
    row = _put(request, RecurringMessage(name=body.name), body)
    response["Location"] = reverse("console-api:recurring-one", kwargs={"name": row.name})
    response["ETag"] = row_etag(row.changed)
    return Status(201, _with_upcoming(row, caller.payload))


# Before the route of the name alone, which would take this for a name.
@router.post("/{name}:run", response=TickOut, url_name="recurring-run", summary="Send one more, now")
def run_recurring(
    request: HttpRequest,
    name: RecurringName,
    body: WithReason = Body(WithReason()),  # noqa: B008
    if_match: IfMatch = "",
) -> dict[str, Any]:
    """The ticks go on as they would. With `If-Match` only of what is as it was seen."""
    caller = caller_of(request)
    caller.require(Action.RUN_RECURRING)
    row = recurring.find(caller.user, name)
    check_row(row.changed, if_match)
    return tick_json(recurring.run_now(caller.actor, row, body.reason))


@router.get("/{name}", response=RecurringWithUpcoming, url_name="recurring-one", summary="One of them")
def one_recurring(request: HttpRequest, response: HttpResponse, name: RecurringName) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    row = recurring.find(caller.user, name)
    response["ETag"] = row_etag(row.changed)
    return _with_upcoming(row, caller.payload)


@router.patch("/{name}", response=RecurringWithUpcoming, url_name="recurring-change", summary="Change or disable it")
def change_recurring(
    request: HttpRequest, response: HttpResponse, name: RecurringName, body: RecurringChange, if_match: IfMatch = ""
) -> dict[str, Any]:
    """Where when it is due changes, its next tick is the first from now on. With `If-Match` only what is as it was
    seen."""
    caller = caller_of(request)
    caller.require(Action.RECURRING)
    row = recurring.find(caller.user, name)
    check_row(row.changed, if_match)
    given = body.model_dump(exclude_unset=True, exclude={"reason"})
    if given.keys() == {"enabled"} and given["enabled"] is not None:  # also of one that code defines
        with _what_cannot_be():
            recurring.switch(caller.actor, row, given["enabled"], body.reason)
    else:
        _put(request, row, body)
    response["ETag"] = row_etag(row.changed)
    return _with_upcoming(row, caller.payload)


@router.delete("/{name}", response={204: None}, url_name="recurring-delete", summary="Delete it with its history")
def delete_recurring(
    request: HttpRequest, name: RecurringName, if_match: IfMatch = "", reason: str = NEEDED_WHY
) -> Any:
    """With `If-Match` only what is as it was seen."""
    caller = caller_of(request)
    caller.require(Action.RECURRING)
    row = recurring.find(caller.user, name)
    check_row(row.changed, if_match)
    recurring.remove(caller.actor, row, reason)
    return Status(204, None)


@router.get("/{name}/ticks", response=TickList, url_name="recurring-ticks", summary="What was sent, newest first")
def ticks(request: HttpRequest, name: RecurringName, limit: Limit = 50, cursor: Cursor = None) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    row = recurring.find(caller.user, name)
    query = ("ticks", str(row.pk))
    found = row.ticks.all()
    if cursor:
        found = found.filter(tick_ms__lt=number_in(cursor, *query))
    listed = list(found[: limit + 1])
    more = len(listed) > limit
    return {
        "as_of_ms": now_ms(),
        "ticks": readable(TickOut, listed[:limit], tick_json),
        "next": cursor_of(listed[limit - 1].tick_ms, *query) if more else None,
    }


def _put(request: HttpRequest, row: RecurringMessage, body: RecurringChange) -> RecurringMessage:
    nullable = {"every_ms", "start_ms", "end_ms", "expires_ms", "unique_for_ms"}
    for field, value in body.model_dump(exclude_unset=True, exclude={"reason", "name"}).items():
        if value is not None or field in nullable:
            setattr(row, field, value)
    with _what_cannot_be():
        row.clean_fields(exclude=["name"])
        recurring.put(caller_of(request).actor, row, body.reason)
    return row


@contextmanager
def _what_cannot_be() -> Iterator[None]:
    """Refuses it, and names the field."""
    try:
        yield
    except InvalidRecurring as error:
        field, problem = next(iter(error.problems.items()))
        raise invalid(field, problem) from None
    except ValidationError as error:
        field, problems = next(iter(error.message_dict.items()))
        raise invalid(field, problems[0]) from None


def _with_upcoming(row: RecurringMessage, payload: bool) -> dict[str, Any]:
    return recurring_json(row, row.ticks.first(), payload) | {"upcoming": upcoming_of(row)}
