"""Holds of a topic: keys of which nothing is handed out for now."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Path, Schema
from pydantic import Field

from console.access import Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.errors import ApiError
from console.api.http.routers import topics as router
from console.api.http.schemas import ID_MAX, NeededReason, Strict, TopicName, WithReason
from console.engine import engine
from console.usecases import holds as usecase
from console.usecases.holds import HoldRequest
from rmq_core.model.holds import FOR_MAX_MS, HOLDS_MAX, Hold
from rmq_core.model.topic import MAX_SLOTS

Ref = Annotated[str, Path(pattern=r"^[0-9]{1,5}-[0-9]{1,16}$", description="As a list of holds names it.")]


class HoldLine(Schema):
    """One hold. `key` is null where the caller may not read content, which an id may be. `until_ms` null: until it is
    lifted. `held`: messages that it keeps back."""

    ref: str
    slot: int
    of: Literal["id", "slot_basis", "failure", "tenant"]
    key: str | None
    held: int
    since_ms: int
    until_ms: int | None
    note: str | None


class Holds(Schema):
    """`at_ms`: the clock of Redis. `most`: so many there may be."""

    at_ms: int
    most: int
    holds: list[HoldLine]


class HoldIt(Strict):
    """One of `id` and `slot_basis`. `slot`: of an id, only there."""

    reason: NeededReason
    id: str | None = Field(None, min_length=1, max_length=ID_MAX)
    slot_basis: str | None = Field(None, min_length=1, max_length=ID_MAX)
    slot: int | None = Field(None, ge=0, lt=MAX_SLOTS)
    for_ms: int | None = Field(None, ge=1, le=FOR_MAX_MS, description="For so long; else until it is lifted.")


class Lifted(Schema):
    """`messages`: how many came back to their places."""

    messages: int


@router.get(
    "/{rmq_topic:topic}/holds",
    response=Holds,
    tags=["messages"],
    url_name="holds",
    summary="The keys that are held",
)
def holds(request: HttpRequest, topic: TopicName) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    return _listed(caller, engine().inspector.holds(topic))


@router.post(
    "/{rmq_topic:topic}/holds",
    response=Holds,
    tags=["messages"],
    url_name="hold",
    summary="Hold one key: its messages wait, others of its slot go on",
)
def hold(request: HttpRequest, topic: TopicName, body: HoldIt) -> dict[str, Any]:
    """What a take meets is set aside with its place. A key that is held already is from now on for so long."""
    caller = caller_of(request)
    wanted = HoldRequest(topic, body.id, body.slot_basis, body.slot, body.for_ms, body.reason)
    return _listed(caller, usecase.hold(caller.actor, wanted))


@router.post(
    "/{rmq_topic:topic}/holds/{ref}:lift",
    response=Lifted,
    tags=["messages"],
    url_name="lift",
    summary="Lift a hold: what it kept back goes on from its place",
)
def lift(request: HttpRequest, topic: TopicName, ref: Ref, body: WithReason = WithReason()) -> dict[str, Any]:  # noqa: B008
    lifted = usecase.lift(caller_of(request).actor, topic, ref, body.reason)
    if not lifted.found:
        raise ApiError(404, "unknown_hold", "There is no such hold: it is over, or was lifted.")
    return {"messages": lifted.messages}


def _listed(caller: Caller, found: list[Hold]) -> dict[str, Any]:
    return {
        "at_ms": engine().inspector.now_ms(),
        "most": HOLDS_MAX,
        "holds": [_line(each, caller.payload) for each in found],
    }


def _line(hold: Hold, payload: bool) -> dict[str, Any]:
    if payload:
        return hold.to_mapping()
    # Behind one that failed, the note is the id of that.
    return hold.to_mapping() | {"key": None} | ({"note": None} if hold.of == "failure" else {})
