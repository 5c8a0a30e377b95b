"""What people send by hand is recorded: which messages, why, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence

from console.access import Action
from console.models import AuditEntry
from console.usecases.actor import Actor
from console.usecases.audit import new_entry
from rmq_core.model.ids import MessageRef

AUDITED = 500
Refused = tuple[MessageRef, str]
"""A message that was not sent, and why."""


def begin(actor: Actor, topic: str, messages: Sequence[MessageRef], reason: str) -> AuditEntry:
    """An entry that says *started* until `end`."""
    query = {"count": len(messages), "messages": [[slot, ident] for slot, ident in messages[:AUDITED]]}
    entry = new_entry(actor, Action.SEND, topic=topic, query=query, reason=reason, asked=len(messages))
    entry.save()
    return entry


def end(
    entry: AuditEntry, merged: int, unsure: int, refused: Sequence[Refused], duplicates: int = 0, outdated: int = 0
) -> None:
    """What became of them."""
    entry.done = entry.asked - len(refused)
    new = entry.done - merged - unsure - duplicates - outdated
    counts = {"new": new, "merged": merged, "unsure": unsure, "failed": len(refused)}
    counts |= {"duplicates": duplicates, "outdated": outdated}
    not_done = [[ref.slot, ref.id, problem] for ref, problem in refused[:AUDITED]]
    entry.detail = {"counts": counts, "not_done": not_done}
    entry.result = entry.Result.of(entry.done, not refused) if entry.done else entry.Result.FAILED
    entry.save()
