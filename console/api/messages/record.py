"""What became of messages: the durable record, for topics whose journal is on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

from console.access import Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.cursors import cursor_of, place_in
from console.api.http.errors import ApiError
from console.api.http.lists import readable
from console.api.http.routers import topics as router
from console.api.http.schemas import BigOut, Cursor, Limit, MessageId, TopicName, lossless
from console.api.http.states import AskedRecordState, RecordState
from console.api.topics.slots import Slot
from console.engine import engine
from console.record import merging, timeline
from console.serializers.records import record_json, steps_json
from rmq_core.model.topic import Merge

STEPS = 200


class Recorded(Schema):
    """A message as far as the journal recorded it. `id` is null and `error` cut for callers who may not read content.

    `slot_basis`: what its sender gave, where that is not the id.
    """

    id: str | None
    slot: int
    slot_basis: str | None
    state: RecordState
    first_ms: int
    updated_ms: int
    ended_ms: int | None
    due_ms: int | None
    priority: BigOut | None
    sends: int
    deliveries: int
    failures: int
    error: str | None


class Step(Schema):
    """One transition. `from` and `to` are null where the message was, or is, nowhere."""

    at_ms: int
    event: str
    from_: str | None = Field(None, alias="from")
    to: str | None
    slot: int
    worker: str | None
    host: str | None
    due_ms: int | None
    priority: BigOut | None
    failures: int | None
    error: str | None


class Move(Schema):
    """A send that gave the message that waited another time, or priority."""

    at_ms: int
    due_ms: int | None
    priority: BigOut | None


class Merged(Schema):
    """Sends that became one delivery. `content`: whose wins by the topic's `merge` (that of an older version never
    does); `due_ms`, `priority`: by the first send, and `moves` what later ones changed. `taken_ms`: when it was first
    handed out; null: not yet, or never."""

    first_ms: int
    last_ms: int
    sends: int
    content: Literal["first", "latest"]
    due_ms: int | None
    priority: BigOut | None
    moves: list[Move]
    taken_ms: int | None


class Life(Schema):
    """`merges`: of the steps shown, those sends of which several became one delivery. `more`: there were earlier steps
    than those shown. `gap_ms`: about then the slot's journal had a gap; steps of before may be missing."""

    record: Recorded
    steps: list[Step]
    merges: list[Merged]
    more: bool
    gap_ms: int | None


class Lives(Schema):
    lives: list[Life]


class Records(Schema):
    records: list[Recorded]
    next: str | None


@router.get(
    "/{rmq_topic:topic}/timeline/{path:id}",
    response=Lives,
    by_alias=True,
    tags=["record"],
    url_name="message-timeline",
    summary="Every step of a message, from send to end",
)
def of_message(
    request: HttpRequest,
    topic: TopicName,
    id: MessageId,
    slot: Slot = None,
    limit: Annotated[int, Query(ge=1, le=timeline.STEPS_MOST, description="So many steps, the newest.")] = STEPS,
) -> dict[str, Any]:
    """Where the topic's journal is on; also of messages that are done. One entry per slot that has known the id."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    found = lives_of(caller, topic, id, slot, limit)
    if not found:
        raise ApiError(404, "unknown_message", f"The record knows nothing of the id {id!r:.100} in this topic.")
    return {"lives": found}


@router.get(
    "/{rmq_topic:topic}/records",
    response=Records,
    tags=["record"],
    url_name="records",
    summary="Recorded messages, those that changed last first",
)
def records(
    request: HttpRequest,
    topic: TopicName,
    state: AskedRecordState | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    engine().client.topic(topic)
    query = ("records", topic, state or "")
    rows, last = timeline.page(topic, state or "", place_in(cursor, *query) if cursor else "", limit)
    return {
        "records": readable(Recorded, rows, lambda each: shown(record_json(each, caller.payload))),
        "next": cursor_of(last, *query) if last else None,
    }


def lives_of(
    caller: Caller, topic: str, ident: str, slot: int | None = None, limit: int = STEPS
) -> list[dict[str, Any]]:
    """What is recorded of an id, as `Life` shows it."""
    definition = engine().client.topic(topic)
    content = "first" if definition.merge is Merge.FIRST else "latest"
    return [
        {
            "record": shown(record_json(each.record, caller.payload)),
            "steps": [shown(step) for step in steps_json(each.steps, each.record.slot, caller.payload)],
            "merges": [
                shown(asdict(one)) | {"moves": [shown(asdict(move)) for move in one.moves], "content": content}
                for one in merging.rounds(each.steps)
                if one.sends > 1
            ],
            "more": each.more,
            "gap_ms": each.since_ms,
        }
        for each in timeline.of_message(definition, ident, slot, limit)
    ]


def shown(values: dict[str, Any]) -> dict[str, Any]:
    """With whole numbers that no browser loses."""
    return {**values, "priority": lossless(values["priority"])}
