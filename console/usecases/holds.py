"""Holding one key of a topic, and lifting that again: permission, reason, audit, then the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from console.access import Action, require
from console.engine import engine
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from rmq_core.model.holds import NOTE_MAX, Hold
from rmq_core.ops.holds import Lifted


@dataclass(frozen=True)
class HoldRequest:
    """A key to hold: an id or a slot basis. `for_ms` None: until somebody lifts it."""

    topic: str
    id: str | None = None
    slot_basis: str | None = None
    slot: int | None = None
    for_ms: int | None = None
    reason: str = ""

    def key(self) -> dict[str, Any]:
        """What is held, as the engine and the audit name it."""
        given = {"id": self.id, "slot_basis": self.slot_basis, "slot": self.slot, "for_ms": self.for_ms}
        return {name: value for name, value in given.items() if value is not None}


def hold(actor: Actor, wanted: HoldRequest) -> list[Hold]:
    """Hold it. Raises `Forbidden`, `BadRequest` and the engine's errors."""
    with audited(actor, Action.HOLD, topic=wanted.topic, query=wanted.key(), reason=wanted.reason) as entry:
        require(actor.user, Action.HOLD, wanted.topic)
        check_reason(wanted.reason, needed=True)
        note = f"{actor.user.get_username()}: {wanted.reason}"[:NOTE_MAX]
        found = engine().control.hold(wanted.topic, **wanted.key(), note=note)
        entry.done, entry.detail = 1, {"holds": [each.ref for each in found], "held": sum(each.held for each in found)}
    return found


def lift(actor: Actor, topic: str, ref: str, reason: str) -> Lifted:
    """Lift it: what it kept back goes on from its place."""
    with audited(actor, Action.LIFT, topic=topic, query={"hold": ref}, reason=reason) as entry:
        require(actor.user, Action.LIFT, topic)
        check_reason(reason)
        lifted = engine().control.lift(topic, ref)
        entry.done, entry.detail = int(lifted.found), {"messages": lifted.messages}
        entry.result = entry.Result.of(entry.done, lifted.found)
    return lifted
