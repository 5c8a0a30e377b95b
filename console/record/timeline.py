"""The record as it is read: the steps of one message, and lists of messages by what became of them."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass

from django.db.models import Q
from django.utils.translation import gettext

from console.errors import BadRequest
from console.models import MessageRecord, MessageTransition, RecordPosition
from console.query_parts import in_parts
from console.record.life import key_of
from rmq_core.model.ids import id_from_text
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import slot_for

STEPS_MOST = 500
_PLACE = re.compile("([0-9]{1,18})-([0-9a-f]{32})")


@dataclass(frozen=True)
class Timeline:
    """What is known of an id: a record and its newest steps, oldest first. `more`: there were earlier ones.

    `since_ms`: something of this slot's journal was missing at that time, so earlier steps may be missing too.
    """

    record: MessageRecord
    steps: tuple[MessageTransition, ...]
    more: bool
    since_ms: int | None


def of_message(topic: Topic, ident: str, slot: int | None = None, most: int = STEPS_MOST) -> list[Timeline]:
    """The timelines of an id, one per slot that has known it. Raises `InvalidMessage` for what can be no id."""
    raw = id_from_text(ident)
    return [_timeline(record, most) for record in _records(topic, raw, slot)]


def page(topic: str, state: str, after: str, limit: int) -> tuple[list[MessageRecord], str | None]:
    """Records of a topic, those that changed last first, and the place of the last one where there are more; `state`
    "" for all. `after`: such a place, "" to begin. Raises `BadRequest` for what is none."""
    rows = MessageRecord.objects.filter(topic=topic).order_by("-updated_ms", "-key").defer("body")
    if state:
        rows = rows.filter(state=state)
    if after:
        found = _PLACE.fullmatch(after)
        if found is None:
            raise BadRequest(gettext("This cursor belongs to another query; begin again without it."))
        at_ms, key = int(found[1]), uuid.UUID(found[2])
        rows = rows.filter(Q(updated_ms__lt=at_ms) | Q(updated_ms=at_ms, key__lt=key))
    some = list(rows[: limit + 1])
    last = some[limit - 1] if len(some) > limit else None
    return some[:limit], f"{last.updated_ms}-{last.key.hex}" if last else None


def newest_steps(record: MessageRecord, most: int) -> list[MessageTransition]:
    """The newest steps of a record, oldest first."""
    newest = MessageTransition.objects.filter(message=record.key).order_by("-at_ms", "-entry", "-seq")
    return list(reversed(newest[:most]))


def keys_of(topic: str, ident: str) -> list[uuid.UUID]:
    """The records of an id, whether the topic is still there or not. Raises `InvalidMessage` for what can be no id."""
    raw = id_from_text(ident)
    slots = RecordPosition.objects.filter(topic=topic).values_list("slot", flat=True)
    found: list[uuid.UUID] = []
    for some in in_parts([key_of(topic, slot, raw) for slot in slots]):
        found += MessageRecord.objects.filter(pk__in=some).values_list("pk", flat=True)
    return found


def _records(topic: Topic, raw: bytes, slot: int | None) -> list[MessageRecord]:
    # The slot its id leads to first; a slot basis may have put it elsewhere.
    likely = slot_for(raw, topic.slots) if slot is None else slot
    found = list(MessageRecord.objects.filter(pk=key_of(topic.name, likely, raw)).defer("body"))
    if found or slot is not None:
        return found
    keys = [key_of(topic.name, number, raw) for number in range(topic.slots)]
    for some in in_parts(keys):
        found += MessageRecord.objects.filter(pk__in=some).defer("body")
    return sorted(found, key=lambda record: record.slot)


def _timeline(record: MessageRecord, most: int) -> Timeline:
    steps = newest_steps(record, most + 1)
    place = RecordPosition.objects.filter(topic=record.topic, slot=record.slot).first()
    return Timeline(record, tuple(steps[-most:]), len(steps) > most, place.gap_ms if place else None)
