"""Looking for messages: by their id, wherever it leads, and by a text in their contents."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.errors import invalid
from console.api.http.routers import topics as router
from console.api.http.schemas import ID_MAX, Cursor, Limit, TopicName
from console.api.http.states import AskedState
from console.api.messages.queries import Basis, canonical, views_of
from console.api.messages.record import Recorded, lives_of
from console.api.rows import Messages, Row, messages_of, row_of
from console.engine import engine

SCAN = 2_000


class Found(Schema):
    """A step of a search; go on with `next` until it is null. It has looked at `looked_at` of `total`; of this step's
    contents `not_json` were no JSON, of which no comparison tells anything."""

    rows: list[Row]
    looked_at: int
    total: int
    not_json: int
    next: str | None


class Known(Messages):
    """`records`: of an id that is in the queue no more, one for each slot that has known it."""

    records: list[Recorded]


@router.get(
    "/{rmq_topic:topic}/messages:search",
    response=Found,
    tags=["messages"],
    url_name="search",
    summary="Look for a text in contents, or for what a comparison holds for",
)
def search(
    request: HttpRequest,
    topic: TopicName,
    text: Annotated[str, Query(max_length=500)] = "",
    where: Annotated[str, Query(max_length=500, description="For example `order.total > 100`.")] = "",
    state: AskedState = "ready",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """One bounded step: looks at some thousand messages and says how many there are."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    caller.require(Permission.READ_PAYLOAD)
    if not text and not where:
        raise invalid("text", "is needed, or `where`")
    found = engine().inspector.search(
        topic, text, where=where, state=state, limit=limit, scan=SCAN, cursor=cursor or None
    )
    return {
        "rows": [row_of(row, caller.payload) for row in found.rows],
        "looked_at": found.looked_at,
        "total": found.total,
        "not_json": found.not_json,
        "next": found.next_cursor,
    }


@router.get(
    "/{rmq_topic:topic}/messages:find",
    response=Known,
    tags=["messages"],
    url_name="find",
    summary="What is known of an id",
)
def find(
    request: HttpRequest,
    topic: TopicName,
    id: Annotated[str, Query(min_length=1, max_length=ID_MAX)],
    slot_basis: Basis = None,
) -> dict[str, Any]:
    """The messages that have it, as under their address; where there are none, what is recorded of it."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    views = views_of(topic, id, slot_basis)
    return {
        "messages": messages_of(topic, views, caller),
        "records": [] if views else [each["record"] for each in lives_of(caller, topic, canonical(id))],
    }
