"""Consumer groups of stream topics. Their queues are read, taken from and settled like topics, as `<topic>@<group>`."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Schema

from console.access import Permission
from console.api.callers import caller_of
from console.api.routers import topics as router
from console.api.schemas import TopicName
from console.engine import engine
from console.serializers.topics import group_json


class GroupLine(Schema):
    """A group. `lag`: entries ahead of it, null where that is not known; `missed`: trimmed or deleted before it had
    read them; `read`: entries handed out for the first time since it exists.
    """

    name: str
    group: str
    durable: bool
    acks: str
    waits: bool
    paused: bool
    created_ms: int
    lag: int | None
    missed: int
    read: int
    acked: int
    retrying: int
    in_flight: int
    dead: int
    ledger_gap: int


class Groups(Schema):
    groups: list[GroupLine]


@router.get(
    "/{rmq_topic:topic}/groups",
    response=Groups,
    tags=["topics"],
    url_name="groups",
    summary="The consumer groups of a stream topic, counted now",
)
def groups(request: HttpRequest, topic: TopicName) -> dict[str, Any]:
    caller_of(request).require(Permission.VIEW, topic)
    names = [group.name for group in engine().inspector.groups(topic)]
    samples = engine().inspector.sample(names) if names else []
    return {"groups": [group_json(sample) for sample in samples]}
