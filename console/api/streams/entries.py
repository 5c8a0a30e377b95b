"""Entries of stream topics: read by id and time, page by page or as they come; one by its id; deleted, trimmed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema
from pydantic import Field

from console.access import Action, Permission
from console.api.http.callers import caller_of, still_there
from console.api.http.description import plain
from console.api.http.downloads import content_as_file
from console.api.http.errors import ApiError, invalid
from console.api.http.routers import topics as router
from console.api.http.schemas import (
    CURSOR_MAX,
    NEEDED_WHY,
    ActionOutcome,
    Confirm,
    EntryIdent,
    Limit,
    TopicName,
    lossless,
)
from console.api.messages.consuming import WAIT_MOST_MS
from console.api.sending.send import engine_for
from console.api.streams.group_bodies import Planned
from console.api.topics.slots import Slot, check_slot
from console.engine import engine
from console.serializers.entries import entry_json, entry_row, full_content
from console.usecases import entries as usecase
from console.usecases.confirming import CONFIRM_ABOVE
from rmq_core.model.ids import MessageRef
from rmq_core.model.text import encodable

STATES_IN_GROUPS = Literal["ahead", "passed", "ready", "retrying", "in_flight", "dead", "trash", "delayed"]
PLACE_MAX = 50


class EntryRow(Schema):
    """A line of a list. `preview` is null where the caller may not read content. `at_ms`: when it was accepted; of an
    id that its sender gave, what that says."""

    id: str
    slot: int
    at_ms: int | str
    size: int
    preview: str | None
    field_count: int
    header_count: int


class EntryRows(Schema):
    """A page. `cursor`: goes on behind it, now or when there is more; `more`: there is more already."""

    rows: list[EntryRow]
    cursor: str
    more: bool
    as_of_ms: int


class InGroup(Schema):
    """Where an entry stands in a consumer group: `ahead` of it; `passed`: done, or never read by it; or a state."""

    group: str
    state: STATES_IN_GROUPS


class EntryView(EntryRow):
    """Everything about one. A content, or fields; those that are no UTF-8 are in `…_base64`."""

    content: str | None
    content_base64: str | None
    truncated: bool
    fields: dict[str, str] | None
    fields_base64: dict[str, str] | None
    headers: dict[str, str] | None
    slot_basis: str | None
    groups: list[InGroup]


class FoundEntries(Schema):
    """Every entry with an id: ids are unique per slot."""

    entries: list[EntryView]


class Trimmed(Schema):
    """How many entries went."""

    entries: int


class Unread(Schema):
    """A consumer group that has not read some of them yet, and so never will."""

    group: str
    entries: int


class TrimPlan(Schema):
    """So many entries would go; `bound`: for certain, at most (of a stream that is trimmed nearly), or at least (there
    are more of them than were counted). `last_ms`: when the last of them was accepted; null: not known, or none goes.
    `confirm`: so many that the name has to be typed."""

    entries: int
    bound: Literal["exact", "at_most", "at_least"]
    last_ms: int | str | None
    unread: list[Unread]
    max_length: int
    max_age_ms: int
    confirm: bool
    as_of_ms: int


class TrimBody(Planned):
    """With `validate_only` nothing is cut, and the answer is what would go; else say why."""

    confirm: Confirm = Field("", description="The topic's name, where more than 1,000 entries would go.")


Bound = Annotated[
    str | None,
    Query(
        max_length=PLACE_MAX,
        description="A time (ms since the epoch), included; or an entry's id, left out.",
    ),
]
Wait = Annotated[int, Query(ge=0, le=WAIT_MOST_MS, description="Wait so long for the first entry.")]
Place = Annotated[str | None, Query(max_length=10 * CURSOR_MAX, description="The `cursor` of the page before.")]


@router.get(
    "/{rmq_topic:topic}/entries",
    response=EntryRows,
    tags=["streams"],
    url_name="entries",
    summary="Entries of a stream, by id and time",
)
async def entries(
    request: HttpRequest,
    topic: TopicName,
    since: Bound = None,
    until: Bound = None,
    order: Literal["oldest", "newest"] = "oldest",
    slot: Slot = None,
    limit: Limit = 50,
    cursor: Place = None,
    wait_ms: Wait = 0,
) -> dict[str, Any]:
    """Reading changes nothing. `since=end`: only what is still to come. A `cursor` says all of where it goes on, and
    passes by nothing; with `wait_ms` it follows the stream."""
    payload = await sync_to_async(_look)(request, topic, slot)
    async with engine_for(request) as own:
        page = await own.client.read(
            topic,
            since=_bound("since", since),
            until=_bound("until", until),
            newest=order == "newest",
            slot=slot,
            limit=limit,
            cursor=cursor or None,
            timeout_ms=wait_ms,
        )
        as_of_ms = await own.inspector.now_ms()
    if wait_ms and page.entries:  # a token may have been revoked meanwhile
        request.caller = await sync_to_async(still_there)(request)  # type: ignore[attr-defined]
        payload = await sync_to_async(_look)(request, topic, slot)
    rows = [_shown(entry_row(entry, payload)) for entry in page.entries]
    return {"rows": rows, "cursor": page.cursor, "more": page.more, "as_of_ms": as_of_ms}


@router.get(
    "/{rmq_topic:topic}/entries/{entry_id}",
    response=FoundEntries,
    tags=["streams"],
    url_name="entry",
    summary="An entry by its id, and where it stands in each group",
)
def stream_entry(request: HttpRequest, topic: TopicName, entry_id: EntryIdent, slot: Slot = None) -> dict[str, Any]:
    caller = caller_of(request)
    payload = _look(request, topic, slot)
    found = usecase.of_id(topic, entry_id, slot)
    if not found:
        raise _unknown(entry_id)
    groups = [group.name for group in engine().inspector.groups(topic) if caller.sees(group.name)]
    shown = []
    for each in found:
        stands = usecase.standings(each, groups)
        row = _shown(entry_json(each, payload, caller.sees))
        shown.append(row | {"groups": [{"group": g, "state": s} for g, s in stands.items()]})
    return {"entries": shown}


@router.get(
    "/{rmq_topic:topic}/entries/{entry_id}/content",
    tags=["streams"],
    url_name="entry-content",
    summary="An entry's content, byte for byte; of one with fields, a line for each",
    openapi_extra=plain(200, "application/octet-stream", "The content"),
)
def entry_content(request: HttpRequest, topic: TopicName, entry_id: EntryIdent, slot: Slot = None) -> HttpResponse:
    _look(request, topic, slot)
    caller_of(request).require(Permission.READ_PAYLOAD)
    found = usecase.of_id(topic, entry_id, slot)
    if not found:
        raise _unknown(entry_id)
    return content_as_file(full_content(found[0]), f"{topic}-{found[0].id}.bin")


@router.delete(
    "/{rmq_topic:topic}/entries/{entry_id}",
    response=ActionOutcome,
    tags=["streams"],
    url_name="delete-entry",
    summary="Delete an entry, for good",
)
def delete_entry(
    request: HttpRequest, topic: TopicName, entry_id: EntryIdent, slot: Slot = None, reason: str = NEEDED_WHY
) -> dict[str, Any]:
    """For the groups that have not read it as well. Without `slot`: in every slot that has the id."""
    _look(request, topic, slot)
    refs = [found.ref for found in usecase.of_id(topic, entry_id, slot)] or [MessageRef(slot or 0, entry_id)]
    results = usecase.delete(caller_of(request).actor, topic, refs, reason)
    if not any(result.status == "done" for result in results):
        raise _unknown(entry_id)
    told = [{"slot": each.ref.slot, "id": each.ref.id, "status": each.status} for each in results]
    return {"asked": len(refs), "done": sum(each["status"] == "done" for each in told), "results": told}


@router.post(
    "/{rmq_topic:topic}:trim",
    response=TrimPlan | Trimmed,
    tags=["streams"],
    url_name="trim",
    summary="Cut a stream to its bounds at once",
)
def trim(request: HttpRequest, topic: TopicName, body: TrimBody) -> dict[str, Any]:
    """As sending to it and the keeper do; what a durable group has not finished stays. What is cut is gone for good.
    With `validate_only` the answer is what would go, and which groups have not read it."""
    caller = caller_of(request)
    if not body.validate_only:
        return {"entries": usecase.trim(caller.actor, topic, body.reason, body.confirm)}
    caller.require(Action.TRIM, topic)
    definition, plan = usecase.plan_trim(topic)
    return {
        "entries": plan.entries,
        "bound": plan.bound,
        "last_ms": lossless(plan.last_ms),
        "unread": [{"group": name, "entries": n} for name, n in plan.unread.items() if caller.sees(name)],
        "max_length": definition.max_length,
        "max_age_ms": definition.max_age_ms,
        "confirm": plan.entries > CONFIRM_ABOVE,
        "as_of_ms": engine().inspector.now_ms(),
    }


def _look(request: HttpRequest, topic: str, slot: int | None) -> bool:
    """Whether the caller, who may look at the topic, may read content. Raises `Forbidden`, `ApiError`."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    check_slot(topic, slot)
    return caller.payload


def _bound(name: str, given: str | None) -> int | str | None:
    if not given:
        return None
    if given.isascii() and given.isdigit():
        return int(given)
    if not encodable(given).isascii():
        raise invalid(name, "must be an entry's id, or ms since the epoch")
    return given


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Times of ids that senders gave may be larger than what JavaScript holds."""
    return row | {"at_ms": lossless(row["at_ms"])}


def _unknown(ident: str) -> ApiError:
    return ApiError(404, "unknown_message", f"This stream has no entry with the id {ident!r:.100} (any more).")
