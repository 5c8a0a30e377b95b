"""Who took over and released slots of a topic, newest first."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.routers import topics as router
from console.api.http.schemas import TopicName
from console.api.topics.slots import Slot, check_slot
from console.engine import engine
from console.serializers.workers import event_json
from rmq_core.queries.owners import ENTRIES_MOST


class OwnershipEvent(Schema):
    """`slots`: numbers and ranges, `count` of them. `worker` is empty where an operator did it."""

    at_ms: int
    event: str
    worker: str
    reason: str
    slots: str
    count: int


class Ownership(Schema):
    events: list[OwnershipEvent]


@router.get(
    "/{rmq_topic:topic}/ownership",
    response=Ownership,
    tags=["topics"],
    url_name="ownership",
    summary="Which worker took over or released which slots, newest first",
)
def ownership(
    request: HttpRequest,
    topic: TopicName,
    slot: Slot = None,
    limit: Annotated[int, Query(ge=1, le=ENTRIES_MOST)] = 200,
) -> dict[str, Any]:
    caller_of(request).require(Permission.VIEW, topic)
    check_slot(topic, slot)
    return {"events": [event_json(each) for each in engine().inspector.ownership_timeline(topic, slot, limit)]}
