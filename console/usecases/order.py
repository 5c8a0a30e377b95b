"""Letting the versions of a key go on without those that are missing: permission, reason, audit, then the engine."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from console.access import Action, require
from console.engine import engine
from console.usecases.actor import Actor
from console.usecases.audit import audited, check_reason
from rmq_core.ops.order import Skipped


@dataclass(frozen=True)
class SkipRequest:
    """Of which key; `to` None: the first version that waits."""

    key: str
    to: int | None = None
    instead_of: int | None = None
    slot: int | None = None


def skip(actor: Actor, topic: str, wanted: SkipRequest, reason: str) -> Skipped:
    """Go on. Raises `Forbidden`, `BadRequest` and the engine's errors."""
    given = asdict(wanted)
    query = {name: value for name, value in given.items() if value is not None}
    with audited(actor, Action.SKIP, topic=topic, query=query, reason=reason) as entry:
        require(actor.user, Action.SKIP, topic)
        check_reason(reason, needed=True)
        skipped = engine().control.skip(topic, given.pop("key"), **given)
        entry.done, entry.detail = int(skipped.done), {"next": skipped.next}
        entry.result = entry.Result.of(entry.done, skipped.done)
    return skipped
