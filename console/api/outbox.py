"""The outboxes of the databases: what waits, what failed, and what is done about it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.utils.translation import gettext
from ninja import Path as PathParam
from ninja import Router, Schema
from ninja.params.functions import Query
from pydantic import ConfigDict, Field, model_validator

from console.access import Action, Permission
from console.api.http.callers import caller_of
from console.api.http.cursors import cursor_of, place_in
from console.api.http.errors import ApiError, invalid
from console.api.http.lists import readable
from console.api.http.schemas import NEEDS_REASON, Confirm, Cursor, Limit, Reason, Strict, Text, check_why
from console.clock import now_ms
from console.outbox.acts import Which
from console.outbox.figures import COUNTED_MOST, all_figures
from console.serializers.outbox import figures_json, outbox_message_json, outbox_row_json
from console.usecases import outbox
from console.usecases.confirming import CONFIRM_ABOVE
from console.usecases.outbox import AT_ONCE, Place
from rmq_core.model.text import NAME_MAX

router = Router(tags=["outbox"])
States = Literal["waiting", "sent", "parked", "discarded"]
DatabaseName = Annotated[
    str, PathParam(description="A name of DATABASES.", pattern=r"^[A-Za-z0-9_.-]{1,100}$", examples=["default"])
]
OfTopic = Query("", max_length=NAME_MAX)
_PLACE = re.compile(r"(-?[0-9]{1,18})_([0-9]{1,18})")


class Outbox(Schema):
    """`lag_ms`: how long the oldest row that waits has waited. `failing`: of those that wait, how many for another try.
    `capped`: there are more rows than were counted. `problem`: why nothing is known."""

    database: str
    waiting: int
    failing: int
    parked: int
    capped: bool
    lag_ms: int
    problem: str


class Outboxes(Schema):
    as_of_ms: int
    outboxes: list[Outbox]


class OutboxRow(Schema):
    """`at_ms`: when it is tried next (0: it was not tried), or when it ended. `sending`: a relay has it right now.
    `message`: the id in the topic; null for callers who may not read content, for ids may be contents."""

    id: int
    topic: str
    state: str
    written_ms: int
    at_ms: int
    sending: bool
    tries: int
    error: str
    message: str | None
    size: int


class OutboxRows(Schema):
    as_of_ms: int
    messages: list[OutboxRow]
    next: str | None


class OutboxMessageOut(OutboxRow):
    """`value`: the priority, window, time or delay, by `kind`. The content is text, or else base64."""

    kind: str
    value: int
    version: int
    headers: dict[str, str] | None
    content: str | None
    content_base64: str | None
    truncated: bool


class RowsBody(Strict):
    """Some rows by their numbers, or all that are parked; of one topic, or of all. With `validate_only` nothing is
    changed, and the answer is how many that would be."""

    ids: list[Annotated[int, Field(ge=1, lt=2**63)]] = Field([], max_length=AT_ONCE)
    all_parked: bool = False
    topic: Text = Field("", max_length=NAME_MAX)
    validate_only: bool = False
    reason: Reason = ""

    def which(self) -> Which:
        return Which(self.ids, self.all_parked, self.topic)


class DiscardBody(RowsBody):
    """A reason is needed, but for `validate_only`."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=NEEDS_REASON)
    confirm: Confirm = Field("", description="The name of the database, where more than 1,000 rows would be discarded.")

    @model_validator(mode="after")
    def _why(self) -> DiscardBody:
        check_why(self.reason, self.validate_only)
        return self


class ChangedRows(Schema):
    changed: int


class OutboxPlan(Schema):
    """So many rows would change; `capped`: there are more, which were not counted. `confirm`: so many that the name of
    the database has to be typed before they are discarded."""

    rows: int
    capped: bool
    confirm: bool


@router.get("", response=Outboxes, url_name="outboxes", summary="How the outbox of each database is")
def outboxes(request: HttpRequest) -> dict[str, Any]:
    caller_of(request).require(Permission.VIEW, "")
    return {"as_of_ms": now_ms(), "outboxes": [figures_json(each) for each in all_figures()]}


@router.get("/{database}/messages", response=OutboxRows, url_name="outbox-rows", summary="Rows of an outbox")
def rows(
    request: HttpRequest,
    database: DatabaseName,
    state: States = "waiting",
    topic: Text = OfTopic,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """What waits in the order in which it is tried, of the other states the newest first."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    query = ("outbox", database, state, topic)
    found = outbox.page(database, state, topic, _place(cursor, query) if cursor else None, limit)
    at_ms = now_ms()
    last = found.rows[-1] if found.rows else None
    return {
        "as_of_ms": at_ms,
        "messages": readable(OutboxRow, found.rows, lambda row: outbox_row_json(row, caller.payload, at_ms)),
        "next": cursor_of(f"{last.at_ms}_{last.pk}", *query) if found.more and last else None,
    }


@router.get("/{database}/messages/{int:number}", response=OutboxMessageOut, url_name="outbox-row", summary="One row")
def row(request: HttpRequest, database: DatabaseName, number: int) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW)
    found = outbox.one(database, number) if number < 2**63 else None
    if found is None or not caller.sees(found.topic):
        raise ApiError(404, "unknown_row", gettext("There is no such row, or no longer."))
    return outbox_message_json(found, caller.payload, now_ms())


@router.post(
    "/{database}/messages:retry",
    response=ChangedRows | OutboxPlan,
    url_name="outbox-retry",
    summary="Try rows at once",
)
def retry(request: HttpRequest, database: DatabaseName, body: RowsBody) -> dict[str, Any]:
    """Those that are parked, or wait for another try. What came after a row that was parked may have gone already."""
    if body.validate_only:
        return _plan(request, Action.RETRY_OUTBOX, database, body)
    return {"changed": outbox.retry(caller_of(request).actor, database, body.which(), body.reason)}


@router.post(
    "/{database}/messages:discard",
    response=ChangedRows | OutboxPlan,
    url_name="outbox-discard",
    summary="Never send rows",
)
def discard(request: HttpRequest, database: DatabaseName, body: DiscardBody) -> dict[str, Any]:
    """Those that are parked, or wait. They stay listed for a while, with the reason."""
    if body.validate_only:
        return _plan(request, Action.DISCARD_OUTBOX, database, body)
    return {"changed": outbox.discard(caller_of(request).actor, database, body.which(), body.reason, body.confirm)}


def _plan(request: HttpRequest, action: Action, database: str, body: RowsBody) -> dict[str, Any]:
    caller_of(request).require(action, body.topic)
    rows = outbox.plan(database, body.which())
    capped = rows >= COUNTED_MOST
    return {"rows": rows, "capped": capped, "confirm": action is Action.DISCARD_OUTBOX and rows > CONFIRM_ABOVE}


def _place(cursor: str, query: tuple[str, ...]) -> Place:
    found = _PLACE.fullmatch(place_in(cursor, *query))
    if found is None:
        raise invalid("cursor", "is not one of ours")
    return Place(int(found[1]), int(found[2]))
