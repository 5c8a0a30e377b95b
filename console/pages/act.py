"""Where pages send actions: POST only, one address per action."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from console.access import Action
from console.api.fleet import read_slots
from console.errors import BadRequest
from console.pages.data import action_view, body_of, text, who_of, whole
from console.usecases.actions import PERFORMED, Order, perform
from console.usecases.audit import REASON_MAX
from rmq_core.model.message import MessageRef

DUE_MAX = 2**53 // 1000
FLEET_ACTIONS = frozenset({Action.DRAIN, Action.UNDRAIN, Action.PIN, Action.UNPIN})
TOPIC_ACTIONS = {action.value: action for action in PERFORMED - FLEET_ACTIONS}


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
