"""What follows a message: sent when it has succeeded, or died; or when all of a set have succeeded.

What follows a success is sent *before* the message is acknowledged: whoever is killed in between leaves a message that
is delivered again. What follows a death is noted by the script in which it dies, and sent from there. So nothing that
follows is ever lost, and it may be sent twice: as the same message, which merges while the first one waits.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from rmq_core.errors import BacklogFull, ConnectionLost, InvalidMessage, RMQError, UnknownTopic
from rmq_core.model.bodies import decode_body
from rmq_core.model.composing import composed
from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import AnyMessage, StreamMessage
from rmq_core.model.follow_ups import AFTER_HEADER, MARK, Addressed, Plan, after_text, own_id, plan_of
from rmq_core.model.group import AT
from rmq_core.model.message import HEADERS_MAX, Message, encode
from rmq_core.model.topic import Topic
from rmq_core.ops.sent import Sent
from rmq_core.protocol.keys import Keyspace, slot_for
from rmq_core.protocol.scripts import Call, Operation, script

Send: TypeAlias = Callable[[str, AnyMessage, bool], Operation[Sent]]
"""Sends one message: topic, message, whether its time may have gone by."""

log = logging.getLogger(__name__)

OWED_AT_ONCE = 100
KEPT_FOR_MS = 7 * 86_400_000
KEPT_FOR_MAX_MS = 366 * 86_400_000
SET_MAX = 1_000
NAME_MAX = 200
TRACE_HEADERS = ("traceparent", "tracestate")
"""Those of W3C Trace Context."""
_HEAD = HEADERS_MAX + 1_024
"""So many bytes of a body hold its headers."""


class Before(Protocol):
    """What is followed."""

    @property
    def headers(self) -> dict[str, str]: ...

    @property
    def tenant(self) -> str: ...


class Followed(Before, Protocol):
    """A delivery."""

    topic: str
    slot: int
    raw_id: bytes
    receipt: int

    @property
    def raw_body(self) -> Any: ...


def is_followed(delivery: Followed) -> bool:
    """Whether its body may say that something follows; an entry of a stream is not followed."""
    body = delivery.raw_body
    return type(body) is bytes and AT not in delivery.topic and MARK in body[:_HEAD]


def load_bodies(keyspace: Keyspace, topic: Topic, deliveries: Sequence[Delivery]) -> Operation[None]:
    """Of deliveries that were made again from their receipts: only from its body is it known what follows one. What is
    stale has none: the body of that id is another's.
    """
    some = [each for each in deliveries if each.slot < topic.slots]
    named = [(keyspace.slot(topic.name, each.slot), each.raw_id) for each in some]
    # In this order: a message that comes in between moves the body of the one in flight from the first to the second.
    replies = yield [
        request
        for keys, raw_id in named
        for request in (("HGET", keys.body, raw_id), ("HGET", keys.replaced, raw_id), ("ZSCORE", keys.prepare, raw_id))
    ]
    for each, body, replaced, receipt in zip(some, replies[::3], replies[1::3], replies[2::3], strict=True):
        valid = _is_receipt(receipt, each.receipt)
        each.set_body(((body if replaced is None else replaced) if valid else None) or None)


def succeeded(keyspace: Keyspace, deliveries: Iterable[Followed], send: Send) -> Operation[None]:
    """Sends what follows these. Call before they are acknowledged."""
    for _, each in (yield from _still_there(keyspace, deliveries)):
        yield from _follow(keyspace, each, send)


def succeeded_settled(keyspace: Keyspace, delivery: Followed, send: Send) -> Operation[None]:
    """The same of one that was settled before it was handed out, so that nobody else follows it."""
    if is_followed(delivery):
        yield from _follow(keyspace, delivery, send)


def all_succeeded(keyspace: Keyspace, deliveries: Sequence[Followed], send: Send) -> Operation[dict[int, RMQError]]:
    """The same of several; which of them must not be acknowledged, because what follows is refused."""
    refused: dict[int, RMQError] = {}
    for position, each in (yield from _still_there(keyspace, deliveries)):
        try:
            yield from _follow(keyspace, each, send)
        except ConnectionLost:
            raise
        except RMQError as error:
            refused[position] = error
    return refused


def _still_there(keyspace: Keyspace, deliveries: Iterable[Followed]) -> Operation[list[tuple[int, Followed]]]:
    """Those that are followed, with their places. What is stale is not: it may be cancelled, or dead, by now; or done
    and followed before."""
    some = [(position, each) for position, each in enumerate(deliveries) if is_followed(each)]
    if not some:
        return []
    scores = yield [("ZSCORE", keyspace.slot(each.topic, each.slot).prepare, each.raw_id) for _, each in some]
    return [one for one, score in zip(some, scores, strict=True) if _is_receipt(score, one[1].receipt)]


def _is_receipt(score: Any, receipt: int) -> bool:
    return score is not None and int(float(score)) == receipt


def _follow(keyspace: Keyspace, each: Followed, send: Send) -> Operation[None]:
    plan = plan_of(each.headers)
    if plan.if_done is not None:
        yield from _send(plan.if_done, send, each.topic, each.slot, each.raw_id, each)
    if plan.member is not None:
        name, number = plan.member
        key = keyspace.together(name)
        (then,) = yield [Call(script("together_done"), [key], [number])]
        if then:
            last = Addressed.from_value(json.loads(then))
            yield from _send(last, send, each.topic, each.slot, each.raw_id, each, of=f"set {name}")
            yield [("DEL", key)]


def dead(keyspace: Keyspace, topic: Topic, slot: int, send: Send) -> Operation[int]:
    """Sends what follows those that have died in a slot; how many are left. What cannot be sent stays."""
    left, last = 0, b""
    closed: set[str] = set()
    while True:
        (found,) = yield [Call(script("owed_read"), [keyspace.slot(topic.name, slot).owed], [OWED_AT_ONCE, last])]
        paid = yield from _sent_of(found, topic, slot, send, closed)
        if paid:
            yield [Call(script("owed_paid"), keyspace.slot_keys(topic.name, slot), [topic.shape, *paid])]
        left += len(found) // 3 - len(paid)
        if len(found) < 3 * OWED_AT_ONCE:
            return left
        last = found[-3]


def _sent_of(found: Sequence[bytes], topic: Topic, slot: int, send: Send, closed: set[str]) -> Operation[list[bytes]]:
    """Sends what follows these deaths; of which it could be sent. ``closed``: the topics that take nothing now."""
    paid = []
    for entry, raw_id, body in zip(found[::3], found[1::3], found[2::3], strict=True):
        then = None
        try:
            died = decode_body(body)
            then = plan_of(died.headers).if_dead
            if then is not None and then.topic in closed:
                continue
            if then is not None:
                yield from _send(then, send, topic.name, slot, raw_id, died)
        except ConnectionLost:
            raise
        except RMQError as error:
            if isinstance(error, UnknownTopic | BacklogFull) and then is not None:
                closed.add(then.topic)
            log.warning("%s[%d]: what follows the death of %r cannot be sent: %s", topic.name, slot, raw_id, error)
        else:
            paid.append(entry)
    return paid


def _send(
    given: Addressed, send: Send, topic: str, slot: int, raw_id: bytes, before: Before, of: str = ""
) -> Operation[None]:
    """``before``: what it follows, whose tenant is its own where it names none, and whose trace goes on. ``of``: the
    set that it follows, whichever of its messages was the last."""
    message = composed(given)
    after = after_text(topic, slot, raw_id)
    traced = {name: before.headers[name] for name in TRACE_HEADERS if name in before.headers}
    headers = {**traced, **(message.headers or {}), AFTER_HEADER: after}
    if isinstance(message, StreamMessage):
        message = replace(message, headers=headers)
    else:
        # Where nothing merges, the same id: so that it merges should it be sent twice.
        whose = (before.tenant or None) if message.tenant is None else message.tenant
        message = replace(message, headers=headers, own_id=own_id(of or after, given), tenant=whose)
    try:
        yield from send(given.topic, message, True)
    except RMQError as error:
        error.follow_up_to = given.topic
        raise


def together(
    keyspace: Keyspace,
    name: str,
    messages: Sequence[Addressed],
    if_done: Addressed,
    if_dead: Addressed | None,
    for_ms: int,
    send: Send,
    topic_of: Callable[[str], Operation[Topic]],
) -> Operation[list[Sent]]:
    """Sends a set of messages, after all of which ``if_done`` is sent. Raises `InvalidMessage` before anything is."""
    if not isinstance(name, str) or not 0 < len(name) <= NAME_MAX:
        raise InvalidMessage(f"the name of a set is text of 1 to {NAME_MAX} characters")
    if not 0 < len(messages) <= SET_MAX or not all(isinstance(each, Addressed) for each in messages):
        raise InvalidMessage(f"a set is 1 to {SET_MAX} messages, each an Addressed(topic, content, …)")
    if type(for_ms) is not int or not 0 < for_ms <= KEPT_FOR_MAX_MS:
        raise InvalidMessage(f"for_ms={for_ms!r} must be a whole number of milliseconds, up to a year")
    composed(if_done)
    made: list[tuple[str, Message]] = []
    ids = set()
    for number, each in enumerate(messages, 1):
        if each.options.get("if_done") or each.options.get("if_dead"):
            raise InvalidMessage("what follows a set is said of the set, and not of its messages")
        message = composed(each)
        if isinstance(message, StreamMessage):
            raise InvalidMessage(f"{each!r} is an entry of a stream, which nothing can follow")
        topic = yield from topic_of(each.topic)
        known = encode(message, topic)
        where = topic.name, slot_for(known.basis, topic.slots), known.id
        if where in ids:
            raise InvalidMessage(f"two of a set would merge in {each.topic!r}: {each!r}; give each a key of its own")
        ids.add(where)
        plan = Plan(None, if_dead, (name, number))
        made.append((each.topic, replace(message, headers={**(message.headers or {}), **plan.header()})))
    told = json.dumps(if_done.to_value(), separators=(",", ":"))
    yield [Call(script("together_begin"), [keyspace.together(name)], [for_ms, told, len(messages)])]
    sent = []
    for name, message in made:
        sent.append((yield from send(name, message, False)))
    return sent
