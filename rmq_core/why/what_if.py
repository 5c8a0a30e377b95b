"""What a send would do now: whether it merges, and then whose content, version and time win, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rmq_core.model.message import Delay, Message
from rmq_core.model.scores import SHIFT, due_of, priority_of
from rmq_core.model.topic import Merge, Topic, TopicKind
from rmq_core.ops import sending
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.why.answer import Reason

Outcome: TypeAlias = Literal["new", "merged", "older", "duplicate", "outdated", "full"]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """``id``: None where the server would give one. ``reasons``: what would become of the message, then who wins."""

    topic: str
    slot: int
    id: str | None
    at_ms: int
    outcome: Outcome
    reasons: tuple[Reason, ...]

    @property
    def text(self) -> str:
        """In sentences."""
        return " ".join(each.text for each in self.reasons)


@dataclass(frozen=True, slots=True)
class _Met:
    """What ``send_dry.lua`` replies."""

    now: int
    outcome: Outcome
    place: str
    score: float | None
    stays: bool
    expired: bool
    taken_ms: int
    died_ms: int
    known: int
    met: int


def what_if(keyspace: Keyspace, topic: Topic, message: Message, allow_past: bool = False) -> Operation[WhatIf]:
    """Raises as a send of it would, but for `BacklogFull`, which is an outcome."""
    sent, reply = yield from sending.dry(keyspace, topic, message, allow_past)
    now, outcome, place, score, *rest = reply
    stays, expired, taken_ms, died_ms, known, met = map(int, rest)
    found = _Met(
        now,
        outcome.decode(),
        place.decode(),
        float(score) if score else None,
        bool(stays),
        bool(expired),
        taken_ms,
        died_ms,
        known,
        met,
    )
    reasons = tuple(_reasons(topic, message, found))
    ident = None if topic.merge is Merge.NEVER else sent.id
    return WhatIf(topic.name, sent.slot, ident, now, found.outcome, reasons)


def _reasons(topic: Topic, message: Message, found: _Met) -> Iterator[Reason]:
    if found.expired:
        yield Reason("send_after_expired")
    if found.outcome == "duplicate":
        yield Reason("send_duplicate", {"for_ms": max(0, found.now - found.met)})
    elif found.outcome == "outdated":
        yield Reason("send_outdated", {"version": message.version, "known": found.met})
    elif found.outcome == "full":
        yield Reason("send_full", {"limit": topic.max_backlog})
    elif found.outcome == "older":
        yield Reason("send_older", {"version": message.version, "known": found.known})
    elif found.outcome == "merged":
        yield Reason("send_merges")
        yield Reason("send_content_first" if topic.merge is Merge.FIRST else "send_content_latest")
        yield _time(topic, message, found)
    else:
        yield from _new(topic, message, found)


def _new(topic: Topic, message: Message, found: _Met) -> Iterator[Reason]:
    if topic.merge is Merge.NEVER:
        yield Reason("send_never")
    if topic.timed:
        yield Reason("send_new_due", {"left_ms": max(0, _due(topic, message, found) - found.now)})
    else:
        yield Reason("send_new_priority", {"priority": message.value})
    if found.taken_ms >= 0:
        yield Reason("send_behind_itself", {"for_ms": max(0, found.now - found.taken_ms)})
    if found.died_ms >= 0:
        yield Reason("send_beside_dead", {"for_ms": max(0, found.now - found.died_ms)})


def _time(topic: Topic, message: Message, found: _Met) -> Reason:
    """Whose time, or priority, holds."""
    if found.place == "h":
        return Reason("send_held_stays" if found.stays else "send_held_moves")
    if found.place == "r":
        if not found.stays:
            return Reason("send_retry_moves")
        return Reason("send_retry_stays", {"left_ms": max(0, int(found.score or 0) // SHIFT - found.now)})
    score = found.score or 0.0
    if not topic.timed:
        before = {"before": priority_of(score), "priority": message.value}
        return Reason("send_priority_stays" if found.stays else "send_priority_moves", before)
    left = {"left_ms": max(0, due_of(score) - found.now)}
    if topic.kind is TopicKind.RANGE_MERGE:
        return Reason("send_range_stays", left)
    if found.stays:
        return Reason("send_due_stays", left)
    return Reason("send_due_moves", {"before_ms": left["left_ms"], **_left(topic, message, found)})


def _left(topic: Topic, message: Message, found: _Met) -> dict[str, Any]:
    return {"left_ms": max(0, _due(topic, message, found) - found.now)}


def _due(topic: Topic, message: Message, found: _Met) -> int:
    """When a message is due that does not merge, or moves."""
    counts_from_now = topic.kind is TopicKind.RANGE_MERGE or isinstance(message.value, Delay)
    return int(message.value) + (found.now if counts_from_now else 0)
