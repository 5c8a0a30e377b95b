"""Taking and settling over HTTP, for consumers in other languages."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from ninja import Schema
from ninja.params.functions import Body
from pydantic import ConfigDict, Field, model_validator

from console.access import Permission
from console.api.http.callers import caller_of, still_there
from console.api.http.errors import ApiError, from_engine, invalid
from console.api.http.routers import topics as router
from console.api.http.schemas import BigOut, Name, Strict, Text, TopicName, lossless
from console.api.messages.polls import TopicPolls, polls_of
from console.api.messages.receipts import NotAReceipt, delivery_of, receipt_of
from console.api.rows import content_fields
from console.api.sending.send import engine_for
from console.engine import AsyncEngine, async_engine
from console.options import options
from console.serializers.follow_ups import Sees, headers_json
from rmq_core.errors import RMQError, UnknownTopic
from rmq_core.model.delivery import Delivery, SettleStatus
from rmq_core.model.outcomes import DELAY_MAX_MS
from rmq_core.model.topic import Topic
from rmq_core.ops import chains
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.streams.members import signature

TAKE_MOST = 256
WAIT_MOST_MS = 30_000
SETTLE_MOST = 1_000
RECEIPT_MAX = 2_000
TRUSTED_S = 0.25
"""Who waited longer than this is looked at again before anything is handed out."""


class TakeBody(Strict):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"max": 10, "wait_ms": 20_000}]})
    max: int = Field(default=1, ge=1, le=TAKE_MOST, description="At most so many messages.")
    wait_ms: int = Field(default=0, ge=0, le=WAIT_MOST_MS, description="Wait so long for the first one.")
    member: Name | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Of a consumer group: who takes, so that it is seen who has what, and can be claimed.",
    )


class Taken(Schema):
    """A message that is now in flight. Settle it before `deadline_ms`, or it is delivered again."""

    id: str
    slot: int
    receipt: str
    attempt: int
    taken_ms: int
    deadline_ms: int
    due_ms: int | None
    priority: BigOut | None
    version: BigOut
    expires_at_ms: int | None
    tenant: str
    headers: dict[str, str]
    content: str | None
    content_base64: str | None


class Deliveries(Schema):
    deliveries: list[Taken]


class Settling(Strict):
    """`nack` counts a failure and comes back by the topic's back-off or after `delay_ms`; `reject` makes it a dead
    letter at once; `release` gives it back without counting; `extend` asks for another visibility timeout, or `for_ms`.
    """

    receipt: str = Field(min_length=1, max_length=RECEIPT_MAX)
    outcome: Literal["ack", "nack", "reject", "release", "extend"] = "ack"
    error: Text = Field("Nack", max_length=200, description="Of a nack: the kind of failure.")
    message: Text = Field("", max_length=2_000, description="Of a nack or reject: what happened.")
    delay_ms: int | None = Field(None, ge=0, le=DELAY_MAX_MS, description="Of a nack or release.")
    for_ms: int | None = Field(None, ge=0, le=DELAY_MAX_MS, description="Of an extend.")

    @model_validator(mode="after")
    def _fitting(self) -> Settling:
        for name in ("error", "message", "delay_ms", "for_ms"):
            if name in self.model_fields_set and self.outcome not in _FITS[name]:
                raise ValueError(f"{name} does not go with {self.outcome}, only with {' and '.join(_FITS[name])}")
        return self


_FITS = {"error": ("nack",), "message": ("nack", "reject"), "delay_ms": ("nack", "release"), "for_ms": ("extend",)}


class SettleBody(Strict):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"settle": [{"receipt": "q1…", "outcome": "ack"}]},
                {"settle": [{"receipt": "q1…", "outcome": "nack", "error": "Timeout", "delay_ms": 5000}]},
            ]
        },
    )
    settle: list[Settling] = Field(min_length=1, max_length=SETTLE_MOST)
    member: Name | None = Field(
        default=None, min_length=1, max_length=100, description="Of a consumer group: as which they were taken."
    )


class Settled(Schema):
    """`stale`: it timed out meanwhile and is somebody else's, or its topic is gone. `receipt`: of an extend, the new
    one.
    """

    id: str
    slot: int
    status: Literal["done", "stale"]
    receipt: str | None = None


class SettleAnswer(Schema):
    done: int
    stale: int
    results: list[Settled]


@router.post(
    "/{rmq_topic:topic}:take",
    response=Deliveries,
    tags=["consuming"],
    url_name="take",
    summary="Take messages, waiting for the first",
)
async def take(request: HttpRequest, topic: TopicName, body: TakeBody = Body(TakeBody())) -> Any:  # noqa: B008
    """A caller that goes away while it is answered loses nothing: what was taken for it comes back by its timeout."""
    await sync_to_async(may_consume)(request, topic)
    if isinstance(request, ASGIRequest):
        definition = await async_engine().client.topic(topic)
        _check_member(definition, body.member)
        found = polls_of(topic, body.member or "")
        began = time.monotonic()
        deliveries = await found.take(body.max, body.wait_ms)
        if deliveries and time.monotonic() - began > TRUSTED_S:
            await _check_again(request, topic, found, deliveries)
    else:
        async with engine_for(request) as engine:
            definition = await engine.client.topic(topic)
            _check_member(definition, body.member)
            deliveries = await TopicPolls(engine, topic, body.member or "").take(body.max, body.wait_ms)
    return {"deliveries": [_taken(definition, delivery, caller_of(request).sees) for delivery in deliveries]}


@router.post(
    "/{rmq_topic:topic}:settle",
    response=SettleAnswer,
    tags=["consuming"],
    url_name="settle",
    summary="Say what became of them",
)
async def settle(request: HttpRequest, topic: TopicName, body: SettleBody) -> Any:
    await sync_to_async(may_consume)(request, topic)
    async with engine_for(request) as engine:
        try:
            by = "" if body.member is None else signature(await engine.client.topic(topic), body.member)
            deliveries = [delivery_at(f"settle.{n}", topic, each.receipt, by) for n, each in enumerate(body.settle)]
        except ApiError:
            await engine.client.topic(topic)  # of a topic that is not, one hears that first
            raise
        try:
            statuses = await _settle(engine, deliveries, body.settle)
        except RMQError as error:
            if not error.follow_up_to or caller_of(request).sees(error.follow_up_to):
                raise
            refusal = from_engine(error)
            raise ApiError(refusal.status, refusal.code, FOLLOW_UP_REFUSED, headers=refusal.headers) from None
    results = [
        {
            "id": delivery.id,
            "slot": delivery.slot,
            "status": status,
            "receipt": _receipt(delivery) if asked.outcome == "extend" and status == "done" else None,
        }
        for delivery, asked, status in zip(deliveries, body.settle, statuses, strict=True)
    ]
    done = sum(status == "done" for status in statuses)
    return {"done": done, "stale": len(statuses) - done, "results": results}


async def _check_again(request: HttpRequest, topic: str, found: TopicPolls, deliveries: list[Delivery]) -> None:
    """A token may have been revoked, somebody signed out, while the request waited: then nothing is handed out."""
    try:
        request.caller = await sync_to_async(still_there)(request)  # type: ignore[attr-defined]
        await sync_to_async(may_consume)(request, topic)
    except BaseException:
        await found.put_back(deliveries)
        raise


def _check_member(topic: Topic, member: str | None) -> None:
    if member is not None and not topic.is_group:
        raise invalid("member", "only consumer groups have members")


def may_consume(request: HttpRequest, topic: str) -> None:
    caller = caller_of(request)
    caller.require(Permission.OPERATE, topic)
    caller.require(Permission.READ_PAYLOAD)


def _taken(topic: Topic, delivery: Delivery, sees: Sees) -> dict[str, Any]:
    return {
        "id": delivery.id,
        "slot": delivery.slot,
        "receipt": _receipt(delivery),
        "attempt": delivery.attempt,
        "taken_ms": delivery.taken_ms,
        "deadline_ms": delivery.taken_ms + topic.visibility_timeout_ms,
        "due_ms": delivery.due_ms,
        "priority": lossless(delivery.priority),
        "version": lossless(delivery.version),
        "expires_at_ms": delivery.expires_at_ms,
        "tenant": delivery.tenant,
        "headers": headers_json(delivery.headers, sees),
        **content_fields(delivery.content),
    }


def _receipt(delivery: Delivery) -> str:
    return receipt_of(options().namespace, delivery)


def delivery_at(place: str, topic: str, receipt: str, by: str, max_retries: int = 0) -> Delivery:
    """The delivery of a receipt. Raises `ApiError` naming the place."""
    try:
        return delivery_of(options().namespace, topic, receipt, by, max_retries)
    except NotAReceipt as error:
        raise invalid(f"{place}.receipt", str(error)) from None


async def _settle(engine: AsyncEngine, deliveries: Sequence[Delivery], asked: Sequence[Settling]) -> list[SettleStatus]:
    """Those with the same outcome and options go together, in one round trip."""
    ended = [each for each, how in zip(deliveries, asked, strict=True) if how.outcome in _ENDS]
    with contextlib.suppress(UnknownTopic):
        await load_bodies(engine, deliveries[0].topic, ended)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for position, each in enumerate(asked):
        how = (each.outcome, each.error, each.message, each.delay_ms, each.for_ms)
        groups.setdefault(how, []).append(position)
    replies = await asyncio.gather(
        *(
            _HOW[outcome](engine.client, [deliveries[position] for position in positions], *values)
            for (outcome, *values), positions in groups.items()
        )
    )
    statuses: list[SettleStatus] = ["stale"] * len(asked)
    for positions, reply in zip(groups.values(), replies, strict=True):
        for position, status in zip(positions, reply, strict=True):
            statuses[position] = status
    return statuses


async def load_bodies(engine: AsyncEngine, topic: str, deliveries: Sequence[Delivery]) -> None:
    """What the queue holds of deliveries that were made again from their receipts; of a group it is in the stream."""

    def load(keyspace: Keyspace, topic: Topic) -> Operation[None]:
        if deliveries and not topic.is_group:
            yield from chains.load_bodies(keyspace, topic, deliveries)

    await engine.client.run(engine.client.on_topic(load, topic))


FOLLOW_UP_REFUSED = "what follows a message goes to a topic that this token is not for, and is refused there"
_ENDS = frozenset({"ack", "nack", "reject"})
"""After these something may follow."""

Settle = Callable[..., Coroutine[Any, Any, list[SettleStatus]]]
_HOW: dict[str, Settle] = {
    "ack": lambda client, some, *_: client.ack(some),
    "nack": lambda client, some, error, message, delay_ms, _: client.nack(
        some, error=error, message=message, delay_ms=delay_ms
    ),
    "reject": lambda client, some, _, message, *__: client.reject(some, message=message),
    "release": lambda client, some, _, __, delay_ms, ___: client.release(some, delay_ms=delay_ms or 0),
    "extend": lambda client, some, _, __, ___, for_ms: client.extend(some, for_ms=for_ms),
}
