"""Sending a set of messages by hand, or for a program: recorded like other sends, then the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.access import Action
from console.engine import engine
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from rmq_core import Addressed
from rmq_core.ops.sent import Sent


@dataclass(frozen=True)
class SetRequest:
    """The messages of a set, and what follows them."""

    name: str
    messages: Sequence[Addressed]
    if_done: Addressed
    if_dead: Addressed | None
    for_ms: int


def send_set(actor: Actor, wanted: SetRequest, reason: str, audit: bool) -> list[Sent]:
    """Sends it. Raises the engine's errors, and `BadRequest`."""
    check_reason(reason)
    if not audit:
        return _send(wanted)
    topic, count = wanted.messages[0].topic, len(wanted.messages)
    topics = sorted({each.topic for each in wanted.messages} | {wanted.if_done.topic})
    query = {"set": wanted.name, "count": count, "topics": topics}
    with audited(actor, Action.SEND, topic=topic, query=query, reason=reason, asked=count) as entry:
        sent = _send(wanted)
        entry.done = len(sent)
    return sent


def _send(wanted: SetRequest) -> list[Sent]:
    return engine().client.send_together(
        wanted.name, wanted.messages, if_done=wanted.if_done, if_dead=wanted.if_dead, for_ms=wanted.for_ms
    )
