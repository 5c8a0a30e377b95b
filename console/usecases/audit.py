"""Writing down what somebody does: before it runs, and what became of it after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from console.access import Action, Forbidden, account_of, allowed, require
from console.models import AuditEntry
from console.usecases.actions import Actor
from console.usecases.actions import BadRequest
from rmq_core.errors import RMQError


@contextmanager
def audited(
    actor: Actor,
    action: Action,
    *,
    topic: str = "",
    query: Mapping[str, Any] | None = None,
    reason: str = "",
    asked: int = 1,
) -> Iterator[AuditEntry]:
    """An entry that stands as *started* while the block runs, and is completed when it ends.

    The block checks the permission itself, sets `done` and `detail`, and may set `result`. `Forbidden` and
    `BadRequest` (refused) and the engine's errors (failed) go on to the caller. A block cut off leaves *started*.
    """
    entry = AuditEntry.objects.create(
        user=account_of(actor.user),  # type: ignore[misc]
        username=actor.user.get_username(),
        action=action.value,
        topic=topic,
        query=dict(query or {}),
        reason=reason,
        asked=asked,
        address=actor.address,
        via=actor.via,
    )
    try:
        yield entry
    except (Forbidden, BadRequest) as error:
        _finish(entry, AuditEntry.Result.REFUSED, str(error))
        raise
    except RMQError as error:
        _finish(entry, AuditEntry.Result.FAILED, f"{type(error).__name__}: {error}")
        raise
    if entry.result == AuditEntry.Result.STARTED:
        entry.result = AuditEntry.Result.of(entry.done, entry.done >= entry.asked)
    entry.save()


def require_audited(actor: Actor, action: Action, topic: str = "") -> None:
    """Raise `Forbidden` where it is not allowed, after writing down that it was tried."""
    if not allowed(actor.user, action, topic):
        with audited(actor, action, topic=topic):
            require(actor.user, action, topic)


def _finish(entry: AuditEntry, result: AuditEntry.Result, error: str) -> None:
    entry.result = result
    entry.detail = {**entry.detail, "error": error}
    entry.save()
