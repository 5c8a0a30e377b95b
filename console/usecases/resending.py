"""A dead letter whose content is put right and sent as a new message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from console.access import Action, Permission, require
from console.engine import engine
from console.errors import BadRequest, UnknownMessage
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from rmq_core.model.bodies import digest
from rmq_core.model.ids import MessageRef
from rmq_core.model.message import FixedTimeMessage, Message, PriorityMessage, RangeMergeMessage, key_in_order
from rmq_core.model.scores import PRIORITY_MIN
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.model.views import MessageView
from rmq_core.ops.sent import Sent
from rmq_core.protocol.keys import slot_for
from rmq_core.queries.by_id import in_slot


@dataclass(frozen=True)
class Correction:
    """`ref`: the dead letter; `content`: what is sent in its place; `drop`: whether it is dropped afterwards.
    `died_ms`: when it died, where that was seen; another one that has its id by now is not meant."""

    topic: str
    ref: MessageRef
    content: str | bytes
    drop: bool
    reason: str
    died_ms: int | None = None


def resend(actor: Actor, wanted: Correction) -> Sent:
    """Send the corrected message, due now, into the slot of the old one; then drop that.

    In this order nothing is lost in between. Raises `Forbidden`, `BadRequest` and the engine's errors.
    """
    query = {"corrects": [wanted.ref.slot, wanted.ref.id], "drop": wanted.drop}
    with audited(actor, Action.SEND, topic=wanted.topic, query=query, reason=wanted.reason) as entry:
        require(actor.user, Action.SEND, wanted.topic)
        require(actor.user, Permission.READ_PAYLOAD)
        if wanted.drop:
            require(actor.user, Action.DROP, wanted.topic)
        check_reason(wanted.reason, needed=True)
        topic = engine().client.topic(wanted.topic)
        old = _dead_letter(wanted)
        content = wanted.content if isinstance(wanted.content, bytes) else wanted.content.encode(errors="replace")
        if content == old.content:
            raise BadRequest(gettext("The content is unchanged; requeue the dead letter instead."))
        sent = engine().client.send(wanted.topic, _message(topic, old, wanted), allow_past=True)
        entry.done, entry.detail = 1, {"sent": [sent.slot, sent.id]}
        if wanted.drop:
            died_ms = {wanted.ref: old.row.score_ms or 0}
            (dropped,) = engine().control.drop(wanted.topic, [wanted.ref], died_ms=died_ms)
            entry.detail |= {"dropped": dropped.status}
    return sent


def _dead_letter(wanted: Correction) -> MessageView:
    client, (slot, ident) = engine().client, wanted.ref
    for view in client.run(client.on_topic(in_slot, wanted.topic, ident, slot, "dead")):
        if wanted.died_ms in (None, view.row.score_ms):
            return view
    raise UnknownMessage(gettext("This dead letter is no longer there."))


def _message(topic: Topic, old: MessageView, wanted: Correction) -> Message:
    raw = old.row.raw_id
    own_key = raw not in (old.content, digest(old.content))
    if topic.in_order:
        raw = key_in_order(raw, old.version)
    shared: dict[str, Any] = {
        "key": raw if own_key else None,
        "slot_basis": _basis(topic, old),
        "headers": old.headers or None,
        "version": old.version,
        "tenant": old.tenant,
        "unique_for_ms": 0,  # somebody wants it, though its id was accepted before
    }
    if topic.kind is TopicKind.PRIORITY:
        return PriorityMessage(wanted.content, old.row.priority or PRIORITY_MIN, **shared)
    if topic.kind is TopicKind.RANGE_MERGE:
        return RangeMergeMessage(wanted.content, 1, **shared)
    return FixedTimeMessage(wanted.content, engine().inspector.now_ms(), **shared)


def _basis(topic: Topic, old: MessageView) -> str | bytes:
    """The old message's own. Where that was its content, or is not known, one that leads to the same slot."""
    if old.slot_basis != old.content and slot_for(old.slot_basis, topic.slots) == old.row.slot:
        return old.slot_basis
    return basis_for(old.row.slot, topic.slots)


def basis_for(slot: int, slots: int) -> str:
    """A slot basis that leads to that slot."""
    number = 0
    while slot_for(b"slot-%d" % number, slots) != slot:
        number += 1
    return f"slot-{number}"
