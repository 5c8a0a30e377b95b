"""Slots of a topic: how they stand, and a slot as requests name it."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.errors import invalid
from console.api.http.routers import topics as router
from console.api.http.schemas import TopicName
from console.api.rows import Row, row_of
from console.api.topics.status import CounterValues, counters_json
from console.engine import engine, sample_of
from rmq_core.model.samples import SlotSample
from rmq_core.model.topic import MAX_SLOTS, Topic
from rmq_core.model.views import SlotDetail

Slot = Annotated[int | None, Query(ge=0, lt=MAX_SLOTS, description="Only this slot.")]


def check_slot(topic: str, slot: int | None) -> None:
    """Raises `ApiError` for one that the topic does not have, and `UnknownTopic`."""
    if slot is not None and slot >= engine().client.topic(topic).slots:
        raise invalid("slot", "the topic has no slot of that number")


class SlotLine(Schema):
    """One slot. `owner` and `epoch` are null in shared mode.

    Of a consumer group: `lag`, entries ahead, null where unknown; `behind`, the entry that it read last; `missed`. Of a
    stream: `length`, `first_entry`, `last_entry`. Null everywhere else.
    """

    slot: int
    backlog: int
    ready: int
    delayed: int
    retrying: int
    held: int
    in_flight: int
    dead: int
    lag_ms: int
    oldest_taken_ms: int | None
    next_due_ms: int | None
    ledger_gap: int
    lag: int | None
    missed: int | None
    behind: str | None
    length: int | None
    first_entry: str | None
    last_entry: str | None
    owner: str | None
    epoch: str | None
    owned_since_ms: int | None


class Slots(Schema):
    at_ms: int
    slots: list[SlotLine]


class SlotView(SlotLine):
    """`next`: what it hands out next; `prepared`: what it has handed out, the oldest first. `bodies`: contents kept
    beside their ids."""

    bodies: int
    counters: CounterValues
    next: list[Row]
    prepared: list[Row]


@router.get(
    "/{rmq_topic:topic}/slots", response=Slots, tags=["topics"], url_name="slots", summary="Every slot with its owner"
)
def slots(request: HttpRequest, topic: TopicName) -> dict[str, Any]:
    caller_of(request).require(Permission.VIEW, topic)
    sample = sample_of(topic)
    owners = engine().inspector.assignment(topic)
    return {
        "at_ms": sample.at_ms,
        "slots": [_slot(sample.topic, slot, sample.at_ms) | _owner(owners[slot.slot]) for slot in sample.slots],
    }


@router.get(
    "/{rmq_topic:topic}/slots/{int:slot}", response=SlotView, tags=["topics"], url_name="slot", summary="One slot"
)
def slot(
    request: HttpRequest, topic: TopicName, slot: int, heads: Annotated[int, Query(ge=1, le=100)] = 10
) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    inspector = engine().inspector
    check_slot(topic, slot)
    definition = engine().client.topic(topic)
    if definition.is_stream:  # nothing of it is handed out: its groups do that
        detail = SlotDetail(sample_of(topic).slots[slot], (), ())
    else:
        detail = inspector.slot(topic, slot, heads)
    owner = inspector.assignment(topic)[slot]
    return (
        _slot(definition, detail.sample, inspector.now_ms())
        | _owner(owner)
        | {
            "counters": counters_json(detail.sample.counters),
            "bodies": detail.sample.bodies,
            "next": [row_of(row, caller.payload) for row in detail.heads],
            "prepared": [row_of(row, caller.payload) for row in detail.prepared],
        }
    )


def _slot(topic: Topic, slot: SlotSample, now_ms: int) -> dict[str, Any]:
    group, stream = topic.is_group, topic.is_stream
    return {
        "slot": slot.slot,
        **slot.numbers(now_ms),
        "lag": slot.lag if group else None,
        "missed": slot.missed if group else None,
        "behind": slot.behind if group else None,
        "length": slot.length if stream else None,
        "first_entry": slot.first_entry if stream else None,
        "last_entry": slot.last_entry if stream else None,
        "oldest_taken_ms": slot.oldest_taken_ms,
        "next_due_ms": slot.next_due_ms,
    }


def _owner(owner: Any) -> dict[str, Any]:
    return {
        "owner": owner.worker,
        "epoch": owner.epoch.lstrip("0") if owner.epoch else None,
        "owned_since_ms": owner.since_ms,
    }
