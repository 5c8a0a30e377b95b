"""Sending over HTTP: one message or a batch, each with its own result."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from ninja import Schema, Status
from pydantic import ConfigDict, Field, model_validator

from console.access import Action
from console.api.callers import caller_of
from console.api.errors import ApiError, from_engine, invalid
from console.api.routers import topics as router
from console.api.schemas import BigIn, Strict, TopicName
from console.engine import AsyncEngine, async_engine, new_async_engine
from rmq_core.errors import MessageError, RMQError
from rmq_core.model.message import FixedTimeMessage, Message, PriorityMessage, RangeMergeMessage, encode, id_to_text
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.ops.sending import Sent
from rmq_core.protocol.keys import slot_for

MESSAGES_MAX = 1_000
DELAY_MAX_MS = 10 * 366 * 86_400_000


class OneMessage(Strict):
    """`content` (text) or `content_base64`, and what the topic's kind asks for.

    range-merge: `range_ms`; priority: `priority`; fixed-time: `due_ms`, or `delay_ms` from now.
    """

    content: str | None = Field(None, description="The content as text.")
    content_base64: str | None = Field(None, description="The content as bytes, instead of `content`.")
    key: str | None = Field(None, min_length=1, description="The merge identity; without one it is the content.")
    slot_basis: str | None = Field(None, min_length=1, description="Messages with the same one run one after another.")
    headers: dict[str, str] | None = None
    version: BigIn = Field(0, description="An older version never replaces a newer one of the same id.")
    range_ms: int | None = None
    priority: BigIn | None = None
    due_ms: BigIn | None = None
    delay_ms: int | None = Field(None, ge=0, le=DELAY_MAX_MS)


class SendBody(OneMessage):
    """One message, or up to 1,000 under `messages`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"content": '{"order": 4711}', "key": "order-4711", "delay_ms": 60_000},
                {"messages": [{"content": "a", "delay_ms": 1000}, {"content": "b", "delay_ms": 2000}]},
            ]
        },
    )
    messages: list[OneMessage] | None = Field(None, min_length=1, max_length=MESSAGES_MAX)
    allow_past: bool = Field(False, description="Deliver at once what is due in the past, instead of refusing it.")
    validate_only: bool = Field(False, description="Check everything and say ids and slots, send nothing.")

    @model_validator(mode="after")
    def _one_or_many(self) -> SendBody:
        single = self.model_fields_set & set(OneMessage.model_fields)
        if self.messages is not None and single:
            raise ValueError(f"give messages, or one message ({', '.join(sorted(single))}), not both")
        return self

    def listed(self) -> Sequence[OneMessage]:
        return [self] if self.messages is None else self.messages


class SendResult(Schema):
    """`merged`: it became one with a message that was waiting; null where it was refused (`error`), and where it was
    sent but nobody knows, because the queue's answer was lost and the message was sent again."""

    id: str
    slot: int
    merged: bool | None = None
    error: str | None = None
    message: str | None = None


class SendAnswer(Schema):
    """In the order sent. `sent` counts what the queue has now taken, merged ones included; `unsure`: so many of them
    were sent twice, and merged with themselves or with another."""

    sent: int
    merged: int
    unsure: int = 0
    refused: int
    results: list[SendResult]


@router.post(
    "/{rmq_topic:topic}/messages",
    response={200: SendAnswer, 207: SendAnswer},
    tags=["sending"],
    url_name="send",
    summary="Send one message or a batch",
)
async def send(request: HttpRequest, topic: TopicName, body: SendBody) -> Any:
    """Everything is checked before anything is sent. Repeating a send is harmless: equal ids merge.

    200: all were sent. 207: some were refused on arrival (`error` says why: `backlog_full`, `due_in_the_past`, …), the
    others were sent. When none was sent the answer is that refusal itself.
    """
    await sync_to_async(caller_of(request).require)(Action.SEND, topic)
    async with engine_for(request) as engine:
        definition = await engine.client.topic(topic)
        now_ms = await engine.inspector.now_ms()
        many = body.messages is not None
        messages = [_message(definition, each, now_ms, _place(n, many)) for n, each in enumerate(body.listed())]
        if body.validate_only:
            results = [_address(definition, message) for message in messages]
            return Status(200, {"sent": 0, "merged": 0, "refused": 0, "results": results})
        outcomes = await asyncio.gather(
            *(
                # What is due in 0 ms is in the past by the time it arrives.
                engine.client.send(topic, message, allow_past=body.allow_past or each.delay_ms is not None)
                for message, each in zip(messages, body.listed(), strict=True)
            ),
            return_exceptions=True,
        )
    return _answer(definition, messages, outcomes)


def _answer(topic: Topic, messages: Sequence[Message], outcomes: Sequence[Sent | BaseException]) -> Status:
    results = []
    for message, outcome in zip(messages, outcomes, strict=True):
        if isinstance(outcome, Sent):
            results.append({"id": outcome.id, "slot": outcome.slot, "merged": outcome.merged})
            continue
        if not isinstance(outcome, RMQError):
            raise outcome
        refusal = from_engine(outcome)
        results.append({**_address(topic, message), "error": refusal.code, "message": refusal.message})
    sent = [outcome for outcome in outcomes if isinstance(outcome, Sent)]
    if not sent:
        raise next(outcome for outcome in outcomes if isinstance(outcome, RMQError))
    refused = len(messages) - len(sent)
    counts = {"sent": len(sent), "merged": sum(each.merged is True for each in sent), "refused": refused}
    answer = {**counts, "unsure": sum(each.merged is None for each in sent), "results": results}
    return Status(207 if refused else 200, answer)


def _address(topic: Topic, message: Message) -> dict[str, Any]:
    encoded = encode(message)
    return {"id": id_to_text(encoded.id), "slot": slot_for(encoded.basis, topic.slots)}


def _place(number: int, many: bool) -> str:
    return f"messages.{number}." if many else ""


_GIVES = {
    TopicKind.RANGE_MERGE: ("range_ms",),
    TopicKind.PRIORITY: ("priority",),
    TopicKind.FIXED_TIME: ("due_ms", "delay_ms"),
}


def _message(topic: Topic, given: OneMessage, now_ms: int, place: str) -> Message:
    """Checked as far as that goes without the queue. Raises `ApiError` naming the field."""
    content = _content(given, place)
    fits = _GIVES[topic.kind]
    for name in ("range_ms", "priority", "due_ms", "delay_ms"):
        if getattr(given, name) is not None and name not in fits:
            raise invalid(place + name, f"topic {topic.name} takes {topic.kind.value} messages: {' or '.join(fits)}")
    values = [name for name in fits if getattr(given, name) is not None]
    if len(values) != 1:
        raise invalid(place + fits[0], f"a {topic.kind.value} message needs {' or '.join(fits)}, one of them")
    options: dict[str, Any] = {
        "key": given.key,
        "slot_basis": given.slot_basis,
        "headers": given.headers,
        "version": given.version,
    }
    try:
        message = _BUILD[values[0]](content, getattr(given, values[0]), now_ms, options)
        encode(message)
    except MessageError as error:
        raise invalid(place.rstrip(".") or _field_in(str(error)), str(error)) from None
    size = len(content if isinstance(content, bytes) else content.encode())
    if size > topic.max_content_bytes:
        problem = f"has {size} bytes; topic {topic.name} takes at most {topic.max_content_bytes}"
        raise ApiError(413, "content_too_large", f"{place}content {problem}", [(place + "content", problem)])
    return message


def _field_in(text: str) -> str:
    """The engine's messages begin with the field they are about."""
    word = text.split("=", 1)[0].split(" ", 1)[0]
    return word if word in OneMessage.model_fields else "content"


_BUILD: dict[str, Any] = {
    "range_ms": lambda content, value, now, rest: RangeMergeMessage(content, value, **rest),
    "priority": lambda content, value, now, rest: PriorityMessage(content, value, **rest),
    "due_ms": lambda content, value, now, rest: FixedTimeMessage(content, value, **rest),
    "delay_ms": lambda content, value, now, rest: FixedTimeMessage(content, now + value, **rest),
}


def _content(given: OneMessage, place: str) -> str | bytes:
    if (given.content is None) == (given.content_base64 is None):
        raise invalid(place + "content", "give content or content_base64, one of them")
    if given.content_base64 is None:
        return given.content or ""
    try:
        return base64.b64decode(given.content_base64, validate=True)
    except (binascii.Error, ValueError):
        raise invalid(place + "content_base64", "this is not base64") from None


@asynccontextmanager
async def engine_for(request: HttpRequest) -> AsyncIterator[AsyncEngine]:
    """The event loop's engine; under WSGI, where each request has a loop of its own, one for the request."""
    if isinstance(request, ASGIRequest):
        yield async_engine()
        return
    own = new_async_engine()
    try:
        yield own
    finally:
        await own.client.close()
