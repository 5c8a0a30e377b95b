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
from django.utils.translation import gettext
from ninja import Status

from console.access import Action, Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.errors import ApiError, from_engine, invalid
from console.api.http.routers import topics as router
from console.api.http.schemas import TopicName
from console.api.sending.follow_ups import check_headers, plan_of, topics_of
from console.api.sending.send_bodies import OneMessage, SendAnswer, SendBody
from console.engine import AsyncEngine, async_engine, new_async_engine
from console.models import AuditEntry
from console.serializers.why import reason_json
from console.usecases import sending
from console.usecases.audit import require_audited
from rmq_core.errors import MessageError, RMQError, WrongKind
from rmq_core.figures import digits
from rmq_core.model.entry import AnyMessage, StreamMessage, encode_entry
from rmq_core.model.group import AT
from rmq_core.model.ids import MessageRef, id_to_text, new_id
from rmq_core.model.message import DelayedMessage, FixedTimeMessage, Message, PriorityMessage, RangeMergeMessage, encode
from rmq_core.model.text import is_blank
from rmq_core.model.topic import Merge, Topic, TopicKind
from rmq_core.ops.sent import Sent
from rmq_core.protocol.keys import slot_for
from rmq_core.streams import sending as adding

LOOKED_UP = 50
"""A check says of so many messages what is there already."""
PRESENT_MS = 30_000
"""A time that has gone by less long ago is now, as in `shared/keys.lua`."""


@router.post(
    "/{rmq_topic:topic}/messages",
    response={200: SendAnswer, 207: SendAnswer},
    tags=["sending"],
    url_name="send",
    summary="Send one message or a batch",
)
async def send(request: HttpRequest, topic: TopicName, body: SendBody) -> Any:
    """Everything is checked before anything is sent. Repeating a send is harmless: equal ids merge. In a stream nothing
    merges: give an `Idempotency-Key`.

    200: all were sent. 207: some were refused on arrival (`error` says why: `backlog_full`, `due_in_the_past`, …), the
    others were sent. When none was sent the answer is that refusal itself.

    What somebody sends with a session is in the audit; what a token sends, where it gives a `reason`.
    """
    caller = caller_of(request)
    await sync_to_async(_permit)(caller, topic, body)
    async with engine_for(request) as engine:
        definition = await engine.client.topic(topic)
        many = body.messages is not None
        messages = [_message(definition, each, _place(n, many)) for n, each in enumerate(body.listed())]
        if body.validate_only:
            now_ms = await engine.inspector.now_ms()
            results = [
                await _prospect(engine, definition, message, now_ms, body.allow_past, number < LOOKED_UP)
                for number, message in enumerate(messages)
            ]
            return Status(200, {"sent": 0, "merged": 0, "refused": 0, "results": results})
        entry = None
        if caller.person or not is_blank(body.reason):
            refs = [ref_of(definition, message) for message in messages]
            entry = await sync_to_async(sending.begin)(caller.actor, topic, refs, body.reason)
        outcomes = await _send(engine, definition, messages, body.allow_past)
    if entry is not None:
        await sync_to_async(_note)(entry, definition, messages, outcomes)
    return _answer(definition, messages, outcomes)


def _permit(caller: Caller, topic: str, body: SendBody) -> None:
    """Raises `Forbidden`; that a person tried is recorded."""
    if caller.person and not body.validate_only:
        caller.require(Permission.VIEW, topic)
        require_audited(caller.actor, Action.SEND, topic)
    caller.require(Action.SEND, topic)
    for named in {each for one in body.listed() for each in topics_of(one)}:
        caller.require(Action.SEND, named)


async def _send(
    engine: AsyncEngine, topic: Topic, messages: Sequence[AnyMessage], allow_past: bool
) -> Sequence[Sent | BaseException]:
    """What became of each. In a stream those of one slot are in the order given, and added all or none."""
    client = engine.client
    if topic.is_stream:
        return await client.run(client.on_stream(adding.send_each, topic.name, messages, client.sender))
    each = (client.send(topic, message, allow_past=allow_past) for message in messages)
    return await asyncio.gather(*each, return_exceptions=True)


async def _prospect(
    engine: AsyncEngine, topic: Topic, message: AnyMessage, now_ms: int, allow_past: bool, look: bool
) -> dict[str, Any]:
    """What would become of a message."""
    address = _address(topic, message)
    if isinstance(message, StreamMessage):
        return {**address, "found": []}
    if topic.merge is Merge.NEVER:
        address["id"] = None
    if isinstance(message, FixedTimeMessage) and message.due_ms < now_ms - PRESENT_MS and not allow_past:
        problem = gettext("Its due time is over: sending it is refused.")
        return {**address, "error": "due_in_the_past", "message": problem}
    if not look:
        return address
    try:
        tried = await engine.inspector.what_if(topic.name, message, allow_past=allow_past)
    except RMQError as error:
        refusal = from_engine(error)
        return {**address, "error": refusal.code, "message": refusal.message}
    address |= {"outcome": tried.outcome, "reasons": [reason_json(each) for each in tried.reasons]}
    if topic.merge is Merge.NEVER:
        return {**address, "found": []}
    views = await engine.inspector.find(topic.name, address["id"], message.slot_basis)
    here = (view for view in views if view.row.slot == address["slot"])
    return {**address, "found": [state for view in here for state in view.states]}


def _note(
    entry: AuditEntry, topic: Topic, messages: Sequence[AnyMessage], outcomes: Sequence[Sent | BaseException]
) -> None:
    sent = [each for each in outcomes if isinstance(each, Sent)]
    refused = [
        (ref_of(topic, message), str(outcome))
        for message, outcome in zip(messages, outcomes, strict=True)
        if not isinstance(outcome, Sent)
    ]
    merged, unsure = (sum(each.merged is value for each in sent) for value in (True, None))
    sending.end(entry, merged, unsure, refused, **_not_accepted(sent))


def _not_accepted(sent: Sequence[Sent]) -> dict[str, int]:
    return {"duplicates": sum(each.duplicate for each in sent), "outdated": sum(each.outdated for each in sent)}


def _answer(topic: Topic, messages: Sequence[AnyMessage], outcomes: Sequence[Sent | BaseException]) -> Status[Any]:
    results = []
    for message, outcome in zip(messages, outcomes, strict=True):
        if isinstance(outcome, Sent):
            given = {"id": outcome.id} if topic.is_stream else {}
            met = {"duplicate_of_ms": outcome.duplicate_of_ms, "outdated_by": outcome.outdated_by}
            results.append({**_address(topic, message), **given, "merged": outcome.merged, **met})
            continue
        if not isinstance(outcome, RMQError):
            raise outcome
        refusal = from_engine(outcome)
        results.append({**_address(topic, message), "error": refusal.code, "message": refusal.message})
    sent = [outcome for outcome in outcomes if isinstance(outcome, Sent)]
    if not sent:
        raise next(outcome for outcome in outcomes if isinstance(outcome, RMQError))
    refused = len(messages) - len(sent)
    kept_out = _not_accepted(sent)
    taken = len(sent) - sum(kept_out.values())
    counts = {"sent": taken, "merged": sum(each.merged is True for each in sent), "refused": refused, **kept_out}
    answer = {**counts, "unsure": sum(each.merged is None for each in sent), "results": results}
    return Status(207 if refused else 200, answer)


def _address(topic: Topic, message: AnyMessage) -> dict[str, Any]:
    slot, ident = ref_of(topic, message)
    if isinstance(message, StreamMessage):
        return {"id": ident or None, "slot": slot, "size": encode_entry(message).size}
    content = message.content
    return {"id": ident, "slot": slot, "size": len(content if isinstance(content, bytes) else content.encode())}


def ref_of(topic: Topic, message: AnyMessage) -> MessageRef:
    """Where a message goes; in a stream its id is "" until the server gives one."""
    if isinstance(message, StreamMessage):
        return MessageRef(slot_for(encode_entry(message).basis, topic.slots), message.id or "")
    encoded = encode(message, topic)
    return MessageRef(slot_for(encoded.basis, topic.slots), id_to_text(encoded.id))


def _place(number: int, many: bool) -> str:
    return f"messages.{number}." if many else ""


_GIVES = {
    TopicKind.RANGE_MERGE: ("range_ms",),
    TopicKind.PRIORITY: ("priority",),
    TopicKind.FIXED_TIME: ("due_ms", "delay_ms"),
}
_OF_STREAMS = ("fields", "id")
_NOT_OF_STREAMS = (
    *("range_ms", "priority", "due_ms", "delay_ms", "key", "version", "expires_ms", "unique_for_ms"),
    "tenant",
    *("if_done", "if_dead"),
)


def _message(topic: Topic, given: OneMessage, place: str) -> AnyMessage:
    """Checked as far as that goes without the queue. Raises `ApiError` naming the field."""
    if topic.is_stream:
        return _entry(topic, given, place)
    if topic.is_group:
        raise WrongKind(f"{topic.name} is a consumer group: send to its stream, {topic.name.partition(AT)[0]}")
    for name in _OF_STREAMS:
        if getattr(given, name) is not None:
            raise invalid(place + name, f"is of streams; topic {topic.name} takes {topic.kind.value} messages")
    content = content_of(given, place)
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
        "headers": {**(given.headers or {}), **plan_of(given, place).header()},
        "version": given.version,
        "expires_ms": given.expires_ms,
        "unique_for_ms": given.unique_for_ms,
        "tenant": given.tenant,
        "own_id": new_id(),  # told before it is sent, where nothing merges
    }
    try:
        message: Message = _BUILD[values[0]](content, getattr(given, values[0]), **options)
        encode(message, topic)
    except MessageError as error:
        raise invalid(place.rstrip(".") or _field_in(str(error)), str(error)) from None
    _check_size(topic, len(content if isinstance(content, bytes) else content.encode()), place)
    return message


def _entry(topic: Topic, given: OneMessage, place: str) -> StreamMessage:
    """The same for a stream."""
    for name in _NOT_OF_STREAMS:
        if getattr(given, name):
            raise invalid(place + name, f"does not go with a stream, and topic {topic.name} is one")
    if given.fields is not None and (given.content is not None or given.content_base64 is not None):
        raise invalid(place + "fields", "give fields or a content, not both")
    content = content_of(given, place) if given.fields is None else b""
    check_headers(given, place)
    options = {"slot_basis": given.slot_basis, "headers": given.headers, "id": given.id}
    try:
        message = StreamMessage(content, fields=given.fields, **options)  # type: ignore[arg-type]
        size = encode_entry(message).size
    except MessageError as error:
        raise invalid(place.rstrip(".") or _field_in(str(error)), str(error)) from None
    _check_size(topic, size, place)
    return message


def _check_size(topic: Topic, size: int, place: str) -> None:
    if size > topic.max_content_bytes:
        problem = f"has {digits(size)} bytes; topic {topic.name} takes at most {digits(topic.max_content_bytes)}"
        raise ApiError(413, "content_too_large", f"{place}content {problem}", [(place + "content", problem)])


def _field_in(text: str) -> str:
    """The engine's messages begin with the field they are about."""
    word = text.split("=", 1)[0].split(" ", 1)[0]
    return word if word in OneMessage.model_fields else "content"


_BUILD: dict[str, Any] = {
    "range_ms": RangeMergeMessage,
    "priority": PriorityMessage,
    "due_ms": FixedTimeMessage,
    "delay_ms": DelayedMessage,
}


def content_of(given: Any, place: str) -> str | bytes:
    """What `content` or `content_base64` say. Raises `ApiError` naming the field."""
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
