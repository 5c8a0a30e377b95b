"""The biography of a message: every step that was recorded of it, and what people did to it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.routers import topics as router
from console.api.http.schemas import MessageId, TopicName
from console.api.messages.queries import canonical
from console.api.messages.record import Life, lives_of
from console.api.topics.slots import Slot
from console.serializers.audit import entry_json
from console.usecases import audit_list

_SHOWN = ("at_ms", "who", "action", "reason", "via")


class Action(Schema):
    """What somebody did. `status`: done, or why it was not."""

    at_ms: int
    who: str
    action: str
    reason: str
    via: str
    status: str


class Biography(Schema):
    """`lives`: one per slot that has known the id, where the topic's journal is on. `actions`: the newest first; not
    `complete`: only the newest of the topic's actions were looked through."""

    lives: list[Life]
    actions: list[Action]
    complete: bool


@router.get(
    "/{rmq_topic:topic}/biography/{path:id}",
    response=Biography,
    by_alias=True,
    tags=["record"],
    url_name="biography",
    summary="All that is known of what happened to a message",
)
def biography(
    request: HttpRequest,
    topic: TopicName,
    id: MessageId,
    slot: Slot = None,
) -> dict[str, Any]:
    """Also of a message that is long gone; empty where nothing is known."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    ident = canonical(id)
    entries, complete = audit_list.actions_on(topic, slot, ident)
    actions = []
    for entry in entries:
        values = entry_json(entry)
        actions.append({name: values[name] for name in _SHOWN} | {"status": audit_list.status_of(entry, slot, ident)})
    return {"lives": lives_of(caller, topic, ident, slot), "actions": actions, "complete": complete}
