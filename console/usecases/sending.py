"""Sending by hand: drafts out of untrusted values, a dry run, then the sending itself, audited."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from console.access import Action, require
from console.engine import engine
from console.errors import BadRequest
from console.json_input import NotJson, read_json
from console.usecases.actor import Actor
from console.usecases.audit import audited
from rmq_core.errors import ConnectionLost, ContentTooLarge, MessageError, RMQError
from rmq_core.model.message import (
    FixedTimeMessage,
    Message,
    PriorityMessage,
    RangeMergeMessage,
    encode,
    id_to_text,
)
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.protocol.keys import slot_for

MESSAGES_MAX = 1_000
LOOKED_UP = 50
"""A dry run tells of so many messages whether they would merge."""
AUDITED = 500
VALUE_OF = {TopicKind.RANGE_MERGE: "range_ms", TopicKind.PRIORITY: "priority", TopicKind.FIXED_TIME: "due_ms"}
FIELDS = frozenset({"content", "encoding", "key", "slot_basis", "headers", "version", *VALUE_OF.values()})
NUMBER_DIGITS = 20
_STATUS: dict[bool | None, str] = {False: "new", True: "merged", None: "unsure"}
STATUSES = (*_STATUS.values(), "failed")


@dataclass(frozen=True)
class Draft:
    """A message that could be sent. `id` and `slot`: where it would be."""

    message: Message
    id: str
    slot: int
    size: int


@dataclass(frozen=True)
class Prospect:
    """What a dry run says of one message. `found`: the states an equal id is in there; None: not looked up."""

    draft: Draft
    found: tuple[str, ...] | None
    problem: str | None = None


@dataclass(frozen=True)
class Sending:
    """What became of one message: new, merged, unsure (sent twice, so new or merged) or failed."""

    draft: Draft
    status: str
    problem: str | None = None


def drafts(topic: Topic, mode: str, values: Mapping[str, Any]) -> list[Draft]:
    """Messages out of what somebody typed.

    `one`: the values are a message; `lines`: each line of `content` is the content of one, with the other values;
    `objects`: each line is a JSON object, whose fields go before the other values. Raises `BadRequest`, naming the
    line, and the engine's errors of messages.
    """
    unknown = sorted(set(values) - FIELDS)
    if unknown:
        raise BadRequest(gettext("Unknown field: %(name)s.") % {"name": unknown[0][:80]})
    if mode == "one":
        return [_draft(topic, values)]
    text = values.get("content")
    if not isinstance(text, str):
        raise BadRequest(gettext("The content must be text."))
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise BadRequest(gettext("Write at least one message, each in a line of its own."))
    if len(lines) > MESSAGES_MAX:
        raise BadRequest(
            gettext("At most %(most)d messages at once, not %(count)d.") % {"most": MESSAGES_MAX, "count": len(lines)}
        )
    if mode == "lines" and values.get("key") and len(lines) > 1:
        raise BadRequest(gettext("With one key, all of them would merge into one message: leave the key empty."))
    found = []
    for number, line in lines:
        try:
            own = {"content": line} if mode == "lines" else _object(line)
            found.append(_draft(topic, {**values, **own}))
        except (BadRequest, MessageError) as error:
            raise BadRequest(
                gettext("Line %(number)d: %(problem)s") % {"number": number, "problem": str(error)}
            ) from None
    return found


def dry_run(topic: Topic, found: list[Draft]) -> list[Prospect]:
    """Where each would go, and what it would merge into; changes nothing."""
    now_ms = engine().inspector.now_ms()
    prospects = []
    for number, draft in enumerate(found):
        due_ms = getattr(draft.message, "due_ms", None)
        problem = gettext("Its due time is over: sending it is refused.") if due_ms and due_ms < now_ms else None
        states: tuple[str, ...] | None = None
        if number < LOOKED_UP:
            views = engine().inspector.find(topic.name, draft.id, _basis(draft))
            states = tuple(state for view in views for state in view.states if view.row.slot == draft.slot)
        prospects.append(Prospect(draft, states, problem))
    return prospects


def send(actor: Actor, topic: Topic, found: list[Draft], reason: str = "") -> list[Sending]:
    """Send them one after the other; each has its own result. Raises `Forbidden`, and `ConnectionLost` when the first
    one could not be sent."""
    query = {"count": len(found), "messages": [[draft.slot, draft.id] for draft in found[:AUDITED]]}
    with audited(actor, Action.SEND, topic=topic.name, query=query, reason=reason, asked=len(found)) as entry:
        require(actor.user, Action.SEND, topic.name)
        results: list[Sending] = []
        for draft in found:
            try:
                sent = engine().client.send(topic.name, draft.message)
            except ConnectionLost as error:
                if not results:
                    raise
                results.append(Sending(draft, "failed", str(error)))
                break
            except RMQError as error:
                results.append(Sending(draft, "failed", str(error)))
            else:
                results.append(Sending(draft, _STATUS[sent.merged]))
        results += [Sending(draft, "failed", gettext("Not tried any more.")) for draft in found[len(results) :]]
        counts = {status: sum(each.status == status for each in results) for status in STATUSES}
        entry.done = sum(count for status, count in counts.items() if status != "failed")
        failed = [[each.draft.slot, each.draft.id, each.problem] for each in results if each.status == "failed"]
        entry.detail = {"counts": counts, "not_done": failed[:AUDITED]}
        if failed and not entry.done:
            entry.result = entry.Result.FAILED
    return results


def _draft(topic: Topic, values: Mapping[str, Any]) -> Draft:
    message = _message(topic, values)
    encoded = encode(message)
    size = len(message.content if isinstance(message.content, bytes) else message.content.encode())
    if size > topic.max_content_bytes:
        raise ContentTooLarge(
            gettext("The content has %(size)d bytes; this topic takes at most %(most)d.")
            % {"size": size, "most": topic.max_content_bytes}
        )
    return Draft(message, id_to_text(encoded.id), slot_for(encoded.basis, topic.slots), size)


def _message(topic: Topic, values: Mapping[str, Any]) -> Message:
    extras: dict[str, Any] = {
        "key": values.get("key") or None,
        "slot_basis": values.get("slot_basis") or None,
        "headers": _headers(values.get("headers")),
        "version": _number(values, "version") or 0,
    }
    content = _content(values)
    wanted = VALUE_OF[topic.kind]
    for name in VALUE_OF.values():
        if name != wanted and values.get(name) not in (None, ""):
            raise BadRequest(
                gettext("%(name)s is for another kind of topic; this one takes %(wanted)s.")
                % {"name": name, "wanted": wanted}
            )
    number = _number(values, wanted)
    if number is None:
        raise BadRequest(gettext("Give %(name)s.") % {"name": wanted})
    match topic.kind:
        case TopicKind.RANGE_MERGE:
            return RangeMergeMessage(content, number, **extras)
        case TopicKind.PRIORITY:
            return PriorityMessage(content, number, **extras)
        case TopicKind.FIXED_TIME:
            return FixedTimeMessage(content, number, **extras)


def _content(values: Mapping[str, Any]) -> str | bytes:
    content, encoding = values.get("content"), values.get("encoding") or "text"
    if encoding == "text":
        if not isinstance(content, str) or not content:
            raise BadRequest(gettext("The content must not be empty."))
        return content
    if encoding != "base64" or not isinstance(content, str):
        raise BadRequest(gettext("encoding must be one of: text, base64."))
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        raise BadRequest(gettext("The content is not base64.")) from None


def _headers(value: Any) -> dict[str, str] | None:
    if value in (None, "", {}):
        return None
    if not isinstance(value, dict):
        raise BadRequest(gettext("headers must map text to text."))
    return value


def _number(values: Mapping[str, Any], name: str) -> int | None:
    """A whole number; as text too, for JavaScript loses digits of large ones."""
    value = values.get(name)
    if value in (None, ""):
        return None
    if isinstance(value, str) and len(value) <= NUMBER_DIGITS and value.strip().removeprefix("-").isdecimal():
        return int(value)
    if type(value) is not int:
        raise BadRequest(gettext("%(name)s must be a whole number.") % {"name": name})
    return value


def _object(line: str) -> dict[str, Any]:
    try:
        found = read_json(line.encode(errors="surrogatepass"))
    except NotJson:
        raise BadRequest(gettext("It is not JSON.")) from None
    if not isinstance(found, dict) or set(found) - FIELDS:
        raise BadRequest(
            gettext("It must be a JSON object with fields out of: %(names)s.") % {"names": ", ".join(sorted(FIELDS))}
        )
    return found


def _basis(draft: Draft) -> str | bytes | None:
    return draft.message.slot_basis
