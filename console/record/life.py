"""How a transition changes what is known of a message: the queue's rules, seen from its journal. Nothing is read or
written here.

A step says where the id came from and where it went (new, store, retry, prepare, dead, trash, gone), so a record knows
where the id is: a duplicate may wait in the store while its twin is in flight.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from typing import Any, Protocol

from console.models.record import MessageRecord
from rmq_core.journal.entries import MARKS

State = MessageRecord.State
ERROR_MAX = 1_000
INT_MAX = 2**31 - 1
_INTO = {
    "acked": State.DONE,
    "cancelled": State.CANCELLED,
    "dropped": State.DROPPED,
    "lapsed": State.EXPIRED,
    "outdated": State.OUTDATED,
}
_CHANGES_NOTHING = frozenset({"erased", "merged", "duplicate", "outdated"})
_NOWHERE = frozenset({State.LOST, State.UNKNOWN})
"""The server has lost it, or may have: where it was says nothing of where it is (`losing`)."""
_QUEUES = frozenset({"store", "retry"})
_MINUS = {"store": "queued", "retry": "queued", "prepare": "in_flight", "dead": "dead"}
ABOUT_THE_SLOT = MARKS
"""Events that tell of the journal itself, or of a slot, not of a message."""


class Step(Protocol):
    """A transition as the journal's reader hands it out. Details that an event has none of are absent or None."""

    @property
    def topic(self) -> str: ...
    @property
    def slot(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def at_ms(self) -> int: ...
    @property
    def event(self) -> str: ...
    @property
    def id(self) -> bytes: ...
    @property
    def origin(self) -> str: ...
    @property
    def target(self) -> str: ...


@dataclass(slots=True)
class Life:
    """A message's record while steps are applied to it; the fields are those of `MessageRecord`."""

    key: uuid.UUID
    topic: str
    slot: int
    ident: bytes
    state: str
    queued: str
    in_flight: bool
    dead: bool
    first_ms: int
    updated_ms: int
    ended_ms: int | None
    due_ms: int | None
    priority: int | None
    sends: int
    deliveries: int
    failures: int
    error: str
    body: bytes | None
    basis: bytes | None

    def where(self) -> str:
        """Where it is; "" where it is in no queue."""
        if self.in_flight:
            return State.IN_FLIGHT.value
        return self.queued or (State.DEAD.value if self.dead else "")


@dataclass(slots=True)
class Written:
    """A step as it is recorded; the fields are those of `MessageTransition`."""

    message: uuid.UUID
    at_ms: int
    entry: int
    seq: int
    event: str
    from_state: str
    to_state: str
    worker: str
    host: str
    receipt: int | None
    due_ms: int | None
    priority: int | None
    failures: int | None
    error: str


def key_of(topic: str, slot: int, ident: bytes) -> uuid.UUID:
    """The primary key of a message's record."""
    return uuid.UUID(bytes=hashlib.blake2b(b"%s\0%d\0%s" % (topic.encode(), slot, ident), digest_size=16).digest())


def unknown(key: uuid.UUID, step: Step) -> Life:
    """A message nothing was known of."""
    at = step.at_ms
    return Life(
        key, step.topic, step.slot, step.id, State.UNKNOWN.value, "", False, False, at, at, None, None, None, 0, 0, 0,
        "", None, None,
    )  # fmt: skip


def live(life: Life, step: Step) -> Written:
    """Let a record live through a step; returns what to write down of it."""
    event, at_ms = step.event, step.at_ms
    if life.state in _NOWHERE:
        life.queued, life.in_flight, life.dead = "", False, False
    came_from = _leave(life, step)
    if event in ("sent", "merged") and step.origin == "new":
        _count_send(life, event)
    elif event == "taken":
        life.deliveries += 1
    elif event in ("retried", "died"):
        failures = getattr(step, "failures", None)
        life.failures = life.failures + 1 if failures is None else min(failures, INT_MAX)
        life.error = _words(step) or life.error
    elif event == "expired":
        life.error = "timeout"
    to = _arrive(life, step)
    body = getattr(step, "body", None)
    basis = getattr(step, "basis", None)
    if body is not None:
        life.body = body
    if body is not None or basis is not None:
        life.basis = basis
    ended = _INTO.get(event) if step.origin in _MINUS else None
    life.state = life.where() or ended or (life.state if event in _CHANGES_NOTHING else State.UNKNOWN)
    life.updated_ms = max(life.updated_ms, at_ms)
    if life.state not in MessageRecord.ENDED:
        life.ended_ms = None
    elif life.ended_ms is None:
        life.ended_ms = at_ms
    return _written(life, step, came_from, to)


def _leave(life: Life, step: Step) -> str:
    """Take it out of where it came from; returns the state it was in there."""
    if step.event == "restored" and step.origin == "gone":  # it had been lost: no queue held it
        before, life.queued, life.in_flight, life.dead = life.where(), "", False, False
        return before
    place = _MINUS.get(step.origin)
    if place is None:
        return {"trash": life.state}.get(step.origin, "")
    if place == "queued":
        before = life.queued or (State.RETRYING.value if step.origin == "retry" else State.READY.value)
        # What was delayed has become ready by itself: no script says so.
        if before == State.DELAYED and life.due_ms is not None and life.due_ms <= step.at_ms:
            before = State.READY.value
        life.queued = ""
        return before
    setattr(life, place, False)
    return State.IN_FLIGHT.value if place == "in_flight" else State.DEAD.value


def _count_send(life: Life, event: str) -> None:
    life.sends += 1
    if event == "sent" and not life.where():
        # A new life under the same id.
        life.deliveries = life.failures = 0
        life.error = ""


def _arrive(life: Life, step: Step) -> str:
    """Put it where it went; returns the state it is in there."""
    target, due_ms, priority = step.target, getattr(step, "due_ms", None), getattr(step, "priority", None)
    if target in _QUEUES:
        life.due_ms = life.due_ms if due_ms is None else due_ms
        life.priority = life.priority if priority is None else priority
        later = due_ms is not None and due_ms > step.at_ms
        held = target == "retry" and due_ms is None
        life.queued = (
            State.HELD if held else State.RETRYING if target == "retry" else State.DELAYED if later else State.READY
        ).value
        return life.queued
    if target == "prepare":
        life.in_flight = True
        return State.IN_FLIGHT.value
    if target == "dead":
        life.dead = True
        return State.DEAD.value
    return str(_INTO.get(step.event, life.queued if step.event == "merged" else ""))


def _written(life: Life, step: Step, came_from: str, to: str) -> Written:
    worker, receipt, failures = (getattr(step, name, None) for name in ("worker", "receipt", "failures"))
    return Written(
        message=life.key,
        at_ms=step.at_ms,
        entry=step.n,
        seq=step.seq,
        event=step.event[:12],
        from_state=came_from,
        to_state=to,
        worker=(worker or "")[:200],
        host=(getattr(step, "host", None) or "")[:100],
        receipt=None if receipt is None else int(receipt),
        due_ms=getattr(step, "due_ms", None),
        priority=getattr(step, "priority", None),
        failures=None if failures is None else min(failures, INT_MAX),
        error=_words(step),
    )


def _words(step: Step) -> str:
    error, message = getattr(step, "error", None), getattr(step, "message", None)
    found: Any = f"{error}: {message}" if error and message else error or message or ""
    # PostgreSQL stores no NUL.
    return str(found)[:ERROR_MAX].replace("\x00", "�")
