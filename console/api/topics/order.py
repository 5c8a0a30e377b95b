"""Versions of a key in their order: what waits for what, and going on without it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

from console.access import Permission
from console.api.http.callers import caller_of
from console.api.http.routers import topics as router
from console.api.http.schemas import ID_MAX, BigOut, NeededReason, Strict, TopicName, lossless
from console.engine import engine
from console.usecases import order as usecase
from console.usecases.order import SkipRequest
from rmq_core.model.scores import SCORE_MAX
from rmq_core.model.topic import MAX_SLOTS

Most = Annotated[int, Query(ge=1, le=1_000, description="Keys to list, longest first.")]


class WaitingKey(Schema):
    """A key of which versions wait. `key` is null where the caller may not read content, which a key may be.

    `next`: the version whose turn it is; `awaited`: where that is; `blocked`: whether it is dead, removed or missing.
    `lowest`: the first that waits; `held`: how many do; `since_ms`: since when the order has not moved."""

    slot: int
    key: str | None
    next: BigOut
    awaited: Literal["pending", "in_flight", "dead", "removed", "missing"]
    blocked: bool
    lowest: BigOut
    held: int
    since_ms: int


class OrderShown(Schema):
    """`at_ms`: the clock of Redis. `keys`: of how many versions wait."""

    at_ms: int
    keys: int
    waits: list[WaitingKey]


class SkipIt(Strict):
    """`to`: the version to go on with; without it, the first that waits. `instead_of`: only while that is the next one.
    `slot`: where its messages name a slot basis."""

    reason: NeededReason
    key: str = Field(min_length=1, max_length=ID_MAX)
    to: int | None = Field(None, ge=1, lt=SCORE_MAX)
    instead_of: int | None = Field(None, ge=1, lt=SCORE_MAX)
    slot: int | None = Field(None, ge=0, lt=MAX_SLOTS)


class SkippedTo(Schema):
    """`done`: whether something was skipped; else nothing waits. `next`: the version that is the next."""

    done: bool
    next: BigOut


@router.get(
    "/{rmq_topic:topic}/order",
    response=OrderShown,
    tags=["messages"],
    url_name="order",
    summary="Which keys wait for which version",
)
def order(request: HttpRequest, topic: TopicName, most: Most = 100) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic)
    found = engine().inspector.order(topic, most)
    hidden: dict[str, Any] = {} if caller.payload else {"key": None}
    listed = [each.to_mapping() | hidden for each in found.waiting]
    for each in listed:
        each["next"], each["lowest"] = lossless(each["next"]), lossless(each["lowest"])
    return {"at_ms": engine().inspector.now_ms(), "keys": found.keys, "waits": listed}


@router.post(
    "/{rmq_topic:topic}/order:skip",
    response=SkippedTo,
    tags=["messages"],
    url_name="skip",
    summary="Let a key go on without the versions that are missing",
)
def skip(request: HttpRequest, topic: TopicName, body: SkipIt) -> dict[str, Any]:
    """What comes of these later is outdated, and is not delivered."""
    wanted = SkipRequest(body.key, body.to, body.instead_of, body.slot)
    done = usecase.skip(caller_of(request).actor, topic, wanted, body.reason)
    return {"done": done.done, "next": lossless(done.next)}
