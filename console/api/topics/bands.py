"""What waits in a priority topic, by priority."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.routers import topics as router
from console.api.http.schemas import TopicName
from console.api.topics.slots import Slot, check_slot
from console.engine import engine


class SlotBand(Schema):
    """One priority in one slot. `before`: higher ones that wait in the slot; `elsewhere`: in others. `waited_ms`: its
    first has waited so long at least. `since_ms`: since then none of them was taken; `overtaken`: meanwhile the topic
    handed out so many others, at least. Null where no keeper has looked yet. `starving`: for a minute none of them was
    taken, others were, and higher ones wait."""

    slot: int
    priority: int
    waiting: int
    before: int
    elsewhere: int
    waited_ms: int | None
    since_ms: int | None
    overtaken: int | None
    starving: bool


class PriorityBand(Schema):
    """One priority over the slots. `slot`: where its first has waited longest; `starving`: in so many slots it does."""

    priority: int
    waiting: int
    waited_ms: int | None
    slot: int
    starving: int


class Bands(Schema):
    """The least priority first. `looked_at` of the `slots` in which messages wait: those with the most. `noted_ms`:
    when a keeper looked last; null: none does, and nobody knows how long they wait. `failed`: messages that failed
    before, which have a tenth of each take. `above`: those of higher priorities than are looked at one by one.
    `worst`: what starves or waits longest, by slot."""

    at_ms: int
    slots: int
    looked_at: int
    noted_ms: int | None
    failed: int
    above: int
    bands: list[PriorityBand]
    worst: list[SlotBand]


@router.get(
    "/{rmq_topic:topic}/bands",
    response=Bands,
    tags=["topics"],
    url_name="bands",
    summary="What waits by priority, and starves",
)
def bands(request: HttpRequest, topic: TopicName, slot: Slot = None) -> dict[str, Any]:
    """Of all slots, or of one. Nothing where the topic has no priorities."""
    caller_of(request).require(Permission.VIEW, topic)
    check_slot(topic, slot)
    return asdict(engine().inspector.bands(topic, slot))
