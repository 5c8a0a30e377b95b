"""Bulk actions: looked at first, started, stopped, resumed, undone. Pages and the API both come here."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from console.access import ADMINISTERED_REPAIRS, Action, Forbidden, Permission, allowed, require
from console.engine import engine
from console.errors import BadRequest
from console.models import AuditEntry, Operation
from console.usecases.actor import Actor, started
from console.usecases.audit import audited, complete_operation, new_entry, refusals
from console.usecases.bulk import bulk_requests
from console.usecases.bulk.bulk_requests import BulkRequest
from console.usecases.bulk.canary import Canary
from console.usecases.job_queue import enqueue_operation
from rmq_core.model.filters import MessageFilter
from rmq_core.model.views import Preview
from rmq_core.queries.ends import expire_first

__all__ = ["BulkRequest", "preview", "resume", "start", "stop", "undo"]

State = Operation.State


def preview(actor: Actor, wanted: BulkRequest) -> Preview:
    """How many messages a request would meet: exactly, or by an estimate that says so. Changes nothing.

    Raises `Forbidden`, `BadRequest` and the engine's errors.
    """
    bulk_requests.permit(actor, wanted)
    bulk_requests.check(wanted, to_look=True)
    client, which = engine().client, wanted.refs if wanted.filter is None else wanted.filter
    seen = client.run(client.on_topic(expire_first, wanted.topic, wanted.action.value, which, wanted.due_ms))
    return replace(_count(wanted), expires_first=seen.late, expires_looked_at=seen.looked_at)


def start(actor: Actor, wanted: BulkRequest) -> Operation:
    """Begin a bulk action; it goes on by itself. Recorded in the audit, also when it is refused.

    Raises `Forbidden`, `BadRequest` and the engine's errors.
    """
    entry = new_entry(actor, wanted.action, topic=wanted.topic, query=wanted.query(), reason=wanted.reason)
    with refusals(entry):
        bulk_requests.permit(actor, wanted)
        bulk_requests.check_reason(wanted)
        topic = bulk_requests.check(wanted)
        if wanted.undoes is not None:
            _check_undoable(wanted.undoes, topic.undo_ms)
        now = engine().inspector.now_ms()
        wanted = bulk_requests.pinned(wanted, now)
        seen = _count(wanted)
        bulk_requests.check_confirmed(wanted, seen.count)
        operation = Operation(
            action=wanted.action.value,
            topic=wanted.topic,
            filter=wanted.filter.to_mapping() if wanted.filter is not None else None,
            refs=[[*ref, wanted.seen[ref]] if ref in wanted.seen else [*ref] for ref in wanted.refs],
            values=wanted.values() | ({} if wanted.overdue else {"overdue": False}),
            undoes=wanted.undoes,
            **entry.asker(),
            total=seen.count,
            total_exact=seen.exact,
            rate_per_s=wanted.rate_per_s,
            canary=wanted.canary,
            spread_ms=wanted.spread_ms,
            place={"topic_created_ms": topic.created_ms},
            due_ms=now,
        )
    entry.asked = min(seen.count, 2**31 - 1)
    entry.query = wanted.query()
    entry.detail = {"operation": str(operation.pk)}
    with transaction.atomic():
        entry.save()
        operation.audit = entry
        operation.save()
    enqueue_operation(str(operation.pk))
    return operation


def stop(actor: Actor, operation: Operation) -> Operation:
    """End it after what is being done right now; one that waits for its turn ends at once. Raises `BadRequest`."""
    with _audited(actor, "stop_operation", operation) as entry:
        _require_own(actor, operation)
        if not operation.live:
            raise BadRequest(gettext("This operation has ended already."))
        mine = Operation.objects.filter(pk=operation.pk)
        waiting = mine.filter(state__in=Operation.LIVE, runner="")
        with transaction.atomic():
            ended = waiting.update(state=State.STOPPED, finished=timezone.now())
            if ended:
                operation.refresh_from_db()
                complete_operation(operation)
        if not ended and not mine.filter(state__in=Operation.LIVE).update(state=State.STOPPING):
            raise BadRequest(gettext("This operation has ended already."))
        operation.refresh_from_db()
        entry.done = 1
    return operation


def resume(actor: Actor, operation: Operation) -> Operation:
    """Go on with one that was stopped or has failed, from where it was, without its canary. Raises `BadRequest`."""
    with _audited(actor, "resume_operation", operation) as entry:
        _permit_again(actor, operation)
        _require_own(actor, operation)
        canary = operation.place.get("canary", {})
        if canary.get("refs"):
            Canary(operation.canary, canary).overrule()
        again = Operation.objects.filter(pk=operation.pk, state__in=(State.STOPPED, State.FAILED)).update(
            state=State.QUEUED,
            error="",
            finished=None,
            place=operation.place,
            runner="",
            due_ms=engine().inspector.now_ms(),
        )
        if not again:
            raise BadRequest(gettext("Only an operation that was stopped or has failed can be resumed."))
        operation.refresh_from_db()
        entry.done = 1
    enqueue_operation(str(operation.pk))
    return operation


def undo(actor: Actor, operation: Operation, reason: str) -> Operation:
    """Bring back what an operation cancelled or dropped, as an operation of its own."""
    # Whoever asks has read which operation it is; the name to type is for what takes out.
    wanted = BulkRequest(Action.RESTORE, operation.topic, reason=reason, confirm=operation.topic, undoes=operation)
    return start(actor, wanted)


def _check_undoable(operation: Operation, undo_ms: int) -> None:
    if not operation.undoable:
        raise BadRequest(gettext("Only what has cancelled or dropped messages, and has ended, can be undone."))
    ended = operation.finished or timezone.now()
    if timezone.now() > ended + timedelta(milliseconds=undo_ms):
        raise BadRequest(gettext("It is too late: what was removed is no longer kept."))


def _count(wanted: BulkRequest) -> Preview:
    if wanted.filter is not None:
        found = engine().inspector.preview(wanted.topic, wanted.filter)
        return found if wanted.overdue else replace(found, exact=False)  # how many are overdue is not counted
    number = wanted.undoes.done if wanted.undoes is not None else len(wanted.refs)
    return Preview(count=number, exact=True, looked_at=0, total=number, examples=())


def _permit_again(actor: Actor, operation: Operation) -> None:
    """What starting it needs, for whoever started it may have had more rights then. Raises `Forbidden`."""
    if operation.action == Action.REPAIR:
        require(actor.user, Action.REPAIR, operation.topic)
        if operation.values.get("repair") in ADMINISTERED_REPAIRS:
            require(actor.user, Permission.ADMINISTER)
        return
    found = MessageFilter.from_mapping(operation.filter) if operation.filter is not None else None
    bulk_requests.permit(actor, BulkRequest(Action(operation.action), operation.topic, found))


def _require_own(actor: Actor, operation: Operation) -> None:
    """One's own operations, or anybody's for an administrator."""
    require(actor.user, Action.STOP_OPERATION, operation.topic)
    if not started(actor.user, operation) and not allowed(actor.user, Permission.ADMINISTER):
        raise Forbidden(Permission.ADMINISTER)


def _audited(actor: Actor, action: str, operation: Operation) -> AbstractContextManager[AuditEntry]:
    return audited(actor, action, topic=operation.topic, query={"operation": str(operation.pk)})
