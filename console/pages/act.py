"""Where pages send actions: POST only, one address per action."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from console.access import Action
from console.usecases.actions import PERFORMED
from console.usecases.actions import REASON_MAX
from console.usecases.actions import BadRequest
from console.usecases.actions import Order
from console.usecases.actions import perform
from console.pages.data import action_view, body_of, text, who_of, whole
from rmq_core.model.message import MessageRef
from rmq_core.model.topic import MAX_SLOTS

DUE_MAX = 2**53 // 1000
FLEET_ACTIONS = frozenset({Action.DRAIN, Action.UNDRAIN, Action.PIN, Action.UNPIN})
TOPIC_ACTIONS = {action.value: action for action in PERFORMED - FLEET_ACTIONS}
SLOT_RANGES = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*")


@action_view
def act(request: HttpRequest, topic: str, action: str) -> dict[str, Any]:
    """`{messages: [[slot, id], …], reason, due_ms, priority, until_ms}` → what became of each message."""
    wanted = TOPIC_ACTIONS.get(action)
    if wanted is None:
        raise BadRequest(gettext("There is no action of that name."))
    body = body_of(request)
    order = Order(
        action=wanted,
        topic=topic,
        refs=refs_of(body.get("messages", [])),
        reason=text(body, "reason", REASON_MAX),
        due_ms=whole(body, "due_ms", None, 0, DUE_MAX),
        priority=whole(body, "priority", None, 0, 2**53),
        until_ms=whole(body, "until_ms", None, 0, DUE_MAX),
    )
    outcome = perform(who_of(request), order)
    return {
        "asked": outcome.asked,
        "done": outcome.done,
        "results": [{"slot": ref.slot, "id": ref.id, "status": status} for ref, status in outcome.statuses],
        **outcome.values,
    }


@action_view
def act_on_fleet(request: HttpRequest, action: str) -> dict[str, Any]:
    """`{worker, topic, slots: "0-7,12", reason}` → what was changed."""
    if action not in FLEET_ACTIONS:
        raise BadRequest(gettext("There is no action of that name."))
    body = body_of(request)
    order = Order(
        action=Action(action),
        topic=text(body, "topic", 100),
        worker=text(body, "worker", 200),
        slots=read_slots(text(body, "slots", 20_000)),
        reason=text(body, "reason", REASON_MAX),
    )
    outcome = perform(who_of(request), order)
    return {"asked": outcome.asked, "done": outcome.done, **outcome.values}


def read_slots(ranges: str) -> tuple[int, ...]:
    ranges = ranges.replace(" ", "")
    if ranges and not SLOT_RANGES.fullmatch(ranges):
        raise BadRequest(gettext("Slots are written as numbers and ranges, such as 0-7,12."))
    slots: set[int] = set()
    for part in filter(None, ranges.split(",")):
        low, _, high = part.partition("-")
        first, last = int(low), int(high or low)
        if last < first or last >= MAX_SLOTS:
            raise BadRequest(
                gettext("The range %(range)s must go upwards, below %(most)d.") % {"range": part, "most": MAX_SLOTS}
            )
        slots.update(range(first, last + 1))
    return tuple(sorted(slots))


def refs_of(values: Any) -> list[MessageRef]:
    """`[[slot, id], …]` as the engine takes them. Raises `BadRequest`."""
    if not isinstance(values, list):
        raise BadRequest(gettext("messages must be a list of [slot, id] pairs."))
    refs = []
    for value in values:
        match value:
            case [int(slot), str(ident)] if not isinstance(slot, bool) and ident:
                refs.append(MessageRef(slot, ident))
            case _:
                raise BadRequest(gettext("messages must be a list of [slot, id] pairs."))
    return refs
