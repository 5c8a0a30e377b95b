"""Operations as jobs on django-rq, and how those are found whose worker has died."""

from __future__ import annotations

import contextlib
import logging
import uuid
from datetime import timedelta

from django.db import DatabaseError
from django.utils import timezone
from redis.exceptions import RedisError

from console.engine import engine
from console.jobs.operation_lease import LeaseLost, OperationLease
from console.jobs.operation_slice import Jobs, Slice
from console.models import Operation, OperationPart
from console.usecases.job_queue import enqueue_operation, others_wait, waiting_operations
from rmq_core.errors import ConnectionLost

log = logging.getLogger("console.operations")

KEPT = timedelta(days=90)
UNDO_KEPT = timedelta(days=31)
"""Longer than any topic keeps what was taken out."""


def run(operation_id: str) -> None:
    """The job: one slice of an operation, unless somebody else holds it."""
    inspector = engine().inspector
    try:
        lease = OperationLease.take(operation_id, uuid.uuid4().hex, inspector.now_ms())
    except ConnectionLost as error:
        log.warning("operation %s has to wait: %s", operation_id, error)
        return
    if lease is None:
        return
    try:
        Slice(lease, Jobs(others_wait, enqueue_operation), inspector.now_ms).run()
    except DatabaseError:
        raise  # it is silent from now on, so another job takes it up
    except Exception as error:
        log.exception("operation %s failed", operation_id)
        with contextlib.suppress(LeaseLost):
            lease.end(Operation.State.FAILED, f"{type(error).__name__}: {error}")


def pick_up(now_ms: int) -> int:
    """Hand every operation that is due to a job worker, unless it is queued already; returns how many."""
    due = Operation.objects.filter(state__in=Operation.LIVE, due_ms__lte=now_ms)
    ids = [str(pk) for pk in due.order_by("due_ms").values_list("pk", flat=True)[:100]]
    if not ids:
        return 0
    try:
        waiting = waiting_operations(ids)
    except RedisError:
        return 0
    missing = [each for each in ids if each not in waiting]
    for each in missing:
        enqueue_operation(each)
    return len(missing)


def prune() -> None:
    """Forget what is old: whole operations after `KEPT`, the lists for undoing after `UNDO_KEPT`."""
    now = timezone.now()
    Operation.objects.filter(finished__lt=now - KEPT).exclude(state__in=Operation.LIVE).delete()
    old = OperationPart.objects.filter(operation__finished__lt=now - UNDO_KEPT, acted=True)
    old.filter(undone="[]").delete()
    old.exclude(refs="[]").update(refs="[]")
