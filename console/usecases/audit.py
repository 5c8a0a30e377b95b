"""The audit's only writer: what somebody does is recorded before it runs, and what became of it after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.utils.translation import gettext

from console.access import Action, Forbidden, account_of, allowed, require
from console.errors import BadRequest, say_why
from console.models import AuditEntry, Operation, Reconciliation
from console.usecases.actor import Actor
from rmq_core.errors import RMQError
from rmq_core.model.text import NotText, check_text, is_blank

REASON_MAX = 500
ENTRIES = "audit_entries"
"""Where an error keeps what was written of it."""
Result = AuditEntry.Result


def check_reason(reason: Any, needed: bool = False) -> None:
    """Whether that can be kept as somebody's reason; `needed`: there must be one. Raises `BadRequest`."""
    try:
        check_text(reason, REASON_MAX)
    except NotText as error:
        raise BadRequest(gettext("The reason %(problem)s.") % {"problem": error}) from None
    if needed and is_blank(reason):
        raise BadRequest(say_why())


def new_entry(
    actor: Actor,
    action: str,
    *,
    topic: str = "",
    query: Mapping[str, Any] | None = None,
    reason: str = "",
    asked: int = 1,
) -> AuditEntry:
    """An entry that is not saved yet, and says *started*."""
    return AuditEntry(
        user=account_of(actor.user),  # type: ignore[misc]
        username=actor.user.get_username(),
        action=str(action),
        topic=topic,
        query=dict(query or {}),
        reason=reason,
        asked=asked,
        address=actor.address,
        via=actor.via,
    )


@contextmanager
def audited(
    actor: Actor,
    action: str,
    *,
    topic: str = "",
    query: Mapping[str, Any] | None = None,
    reason: str = "",
    asked: int = 1,
) -> Iterator[AuditEntry]:
    """An entry that stands as *started* while the block runs, and is completed when it ends.

    The block checks the permission itself, sets `done` and `detail`, and may set `result`. `Forbidden` and
    `BadRequest` (refused) and the engine's errors (failed, or partly done) go on to the caller. A block cut off leaves
    *started*.
    """
    entry = new_entry(actor, action, topic=topic, query=query, reason=reason, asked=asked)
    entry.save()
    with refusals(entry):
        yield entry
    if entry.result == Result.STARTED:
        entry.result = Result.of(entry.done, entry.done >= entry.asked)
    entry.save()


@contextmanager
def refusals(entry: AuditEntry) -> Iterator[None]:
    """Write down what is refused or fails, and let the error go on."""
    try:
        yield
    except (Forbidden, BadRequest) as error:
        _end(entry, Result.REFUSED, str(error))
        error.__dict__.setdefault(ENTRIES, []).append(entry)
        raise
    except RMQError as error:
        _end(entry, Result.PARTLY if entry.done else Result.FAILED, f"{type(error).__name__}: {error}")
        error.__dict__.setdefault(ENTRIES, []).append(entry)
        raise


def keep_refused(error: Exception) -> None:
    """Writes again what was written of it within a transaction that was rolled back."""
    for entry in error.__dict__.get(ENTRIES, ()):
        if not AuditEntry.objects.filter(pk=entry.pk).exists():
            entry.save(force_insert=True)


def require_audited(actor: Actor, action: Action, topic: str = "") -> None:
    """Raise `Forbidden` where it is not allowed, after writing down that it was tried."""
    if not allowed(actor.user, action, topic):
        with audited(actor, action, topic=topic):
            require(actor.user, action, topic)


def note(action: str, *, username: str, **values: Any) -> AuditEntry:
    """Write down what has happened already; `values`: further fields of the entry."""
    given = {"asked": 1, "result": Result.DONE, **values}
    return AuditEntry.objects.create(action=action, username=username, **given)


def complete_operation(operation: Operation) -> None:
    """Say what came of an operation."""
    if operation.state == Operation.State.FAILED:
        result = Result.PARTLY if operation.done else Result.FAILED
    else:
        complete = operation.state == Operation.State.DONE and not operation.skipped and not operation.failed
        result = Result.of(operation.done, complete)
    if operation.audit_id is None:  # its entry was deleted
        return
    AuditEntry.objects.filter(pk=operation.audit_id).update(
        result=result,
        done=operation.done,
        detail={
            "operation": str(operation.pk),
            "state": operation.state,
            "counts": {name: getattr(operation, name) for name in ("done", "skipped", "failed")},
            **({"error": operation.error} if operation.error else {}),
        },
    )


def complete_run(run: Reconciliation) -> None:
    """Say what came of a run of the pipeline."""
    State = Reconciliation.State
    # Whoever only compares has done nothing until it is through.
    stopped = Result.NOTHING if run.kind == "reconcile" else Result.PARTLY
    result = {State.DONE: Result.DONE, State.STOPPED: stopped}.get(State(run.state), Result.FAILED)
    detail = {"run": str(run.pk), "state": run.state, "findings": run.findings}
    if run.error:
        detail["error"] = run.error
    if run.audit_id is None:  # of a schedule, or its entry was deleted
        return
    AuditEntry.objects.filter(pk=run.audit_id).update(
        result=result, done=1 if run.state == State.DONE else 0, detail=detail
    )


def _end(entry: AuditEntry, result: AuditEntry.Result, error: str) -> None:
    entry.result = result
    entry.detail = {**entry.detail, "error": error}
    entry.save()
