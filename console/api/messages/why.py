"""Why a message, a slot or a topic is late: one sentence, with evidence."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Schema

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.routers import topics as router
from console.api.http.schemas import MessageId, TopicName
from console.api.messages.queries import Basis, canonical
from console.api.topics.slots import Slot, check_slot
from console.serializers.why import why_json
from console.usecases import why as asking


class Cause(Schema):
    """`code` names the cause, `text` says it in the language that is asked for (`Accept-Language`), `values` are its
    evidence: times end in `_ms`; an id is null where it is content that the caller may not read. `calm`: it explains,
    and holds nothing up."""

    code: str
    text: str
    calm: bool
    values: dict[str, Any]


class Lateness(Schema):
    """`late_ms`: for how long the message, or the oldest that is due, has waited; null where that is not known.
    `reasons`: what decides comes first, then whatever else holds it up."""

    topic: str
    slot: int | None
    id: str | None
    at_ms: int
    late_ms: int | None
    reasons: list[Cause]


@router.get(
    "/{rmq_topic:topic}/why",
    response=Lateness,
    tags=["topics"],
    url_name="why",
    summary="Why a topic or a slot is late",
)
def why(request: HttpRequest, topic: TopicName, slot: Slot = None) -> dict[str, Any]:
    """Of the topic, or the consumer group, as a whole; with `slot`, of that one."""
    return _answer(request, topic, None, slot, None)


@router.get(
    "/{rmq_topic:topic}/why/{path:id}",
    response=Lateness,
    tags=["messages"],
    url_name="why-message",
    summary="Why a message is late",
)
def why_message(
    request: HttpRequest, topic: TopicName, id: MessageId, slot: Slot = None, slot_basis: Basis = None
) -> dict[str, Any]:
    """In `slot`, else in the slot its id or `slot_basis` leads to, else in whichever has it."""
    return _answer(request, topic, canonical(id), slot, slot_basis)


def _answer(
    request: HttpRequest, topic: str, ident: str | None, slot: int | None, slot_basis: str | None
) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    check_slot(topic, slot)
    return why_json(asking.why(caller.user, topic, ident, slot, slot_basis))
