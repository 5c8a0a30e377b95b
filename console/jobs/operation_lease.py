"""The lease of an operation: who works on it. Acquired, written under, released, ended."""

from __future__ import annotations

import json
from typing import Any

from django.db import transaction
from django.db.models import Case, F, Q, Value, When
from django.utils import timezone

from console.models import Operation, OperationPart
from console.models.progress import WorkState as State
from console.usecases.audit import complete_operation
from console.usecases.bulk.bulk_requests import TAKING_OUT

SILENT_MS = 10_000
"""Whoever wrote nothing for this long is taken for dead."""

_SAVED = ("cursor", "looked_at", "done", "skipped", "failed", "place", "error", "parts")


class LeaseLost(Exception):
    """Somebody else has the operation by now, or it is gone."""


class OperationLease:
    """An operation while it is worked on. Every write is refused (`LeaseLost`) once somebody else has taken over."""

    def __init__(self, operation: Operation, runner: str) -> None:
        self.operation = operation
        self._runner = runner

    @classmethod
    def take(cls, operation_id: str, runner: str, now_ms: int) -> OperationLease | None:
        """Acquire it, if the operation is live and nobody has it."""
        free = Operation.objects.filter(pk=operation_id, state__in=Operation.LIVE, due_ms__lte=now_ms)
        taken = free.update(
            runner=runner,
            due_ms=now_ms + SILENT_MS,
            slices=F("slices") + 1,
            # A runner's name is still there only if it never let go.
            interruptions=F("interruptions") + Case(When(~Q(runner=""), then=Value(1)), default=Value(0)),
        )
        if not taken:
            return None
        lease = cls(Operation.objects.get(pk=operation_id), runner)
        operation = lease.operation
        if operation.state == State.QUEUED:
            Operation.objects.filter(pk=operation_id, state=State.QUEUED).update(state=State.RUNNING)
            operation.state = State.RUNNING
        if operation.started is None:
            operation.started = timezone.now()
            lease._write(started=operation.started)
        return lease

    def asked_to_stop(self) -> bool:
        """Raises `LeaseLost` as well."""
        mine = Operation.objects.filter(pk=self.operation.pk, runner=self._runner)
        state = mine.values_list("state", flat=True).first()
        if state is None:
            raise LeaseLost
        return state == State.STOPPING

    def save(self, now_ms: int) -> None:
        """Write down how far it is; also says that somebody is at work."""
        self._write(due_ms=now_ms + SILENT_MS, **self._saved())

    def begin_part(self, refs: str, now_ms: int) -> OperationPart:
        """Write down which messages are acted on next; `refs`: see `operation_parts`."""
        operation = self.operation
        with transaction.atomic():
            operation.parts += 1
            part = OperationPart.objects.create(operation_id=operation.pk, number=operation.parts, refs=refs)
            self.save(now_ms)
        return part

    def end_part(self, part: OperationPart, refs: str, undone: list[tuple[int, str, str]], now_ms: int) -> None:
        """Write down what became of them, with the new counts and the new place. `refs`: what can be undone."""
        with transaction.atomic():
            if not undone and self.operation.action not in TAKING_OUT:
                part.delete()
            else:
                part.acted, part.undone = True, json.dumps(undone, separators=(",", ":"))
                part.refs = refs if self.operation.action in TAKING_OUT else "[]"
                part.save()
            self.save(now_ms)

    def interrupted_part(self) -> OperationPart | None:
        """What a predecessor had begun and never ended."""
        return self.operation.chunks.filter(acted=False).order_by("number").first()

    def release(self, due_ms: int) -> None:
        """Others may go on from `due_ms` on."""
        self._write(runner="", due_ms=due_ms, **self._saved())

    def end(self, state: State, error: str = "") -> None:
        """It is over; its audit entry is completed."""
        operation = self.operation
        operation.state, operation.error, operation.finished = state, error, timezone.now()
        with transaction.atomic():
            self._write(state=state, runner="", finished=operation.finished, **self._saved())
            complete_operation(operation)

    def _saved(self) -> dict[str, Any]:
        return {name: getattr(self.operation, name) for name in _SAVED}

    def _write(self, **values: Any) -> None:
        mine = Operation.objects.filter(pk=self.operation.pk, runner=self._runner)
        if not mine.update(**values):
            raise LeaseLost
