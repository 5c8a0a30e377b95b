"""Operations: how far bulk actions are; stop, resume, undo; the report."""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from ninja import Query, Router, Schema, Status

from console.access import Permission, rows_in_scope
from console.api.http.callers import Caller, caller_of
from console.api.http.cursors import cursor_of, ident_in
from console.api.http.description import plain
from console.api.http.downloads import download
from console.api.http.errors import ApiError, invalid
from console.api.http.lists import readable
from console.api.http.schemas import Cursor, InSeconds, Limit, WithNeededReason
from console.api.http.states import of_today
from console.clock import now_ms
from console.models import Operation
from console.serializers.operations import canary_messages, not_done, operation_json, report
from console.serializers.text import FORMATS
from console.usecases.actor import started
from console.usecases.bulk import bulk

router = Router(tags=["operations"])


class CanaryView(Schema):
    size: int
    phase: str
    sent: int
    well: int
    died: int
    under_way: int


class OperationView(Schema):
    """A bulk action. `done`, `skipped` and `failed` count messages; not `total_exact`: `total` is an estimate. `mine`:
    whether the caller has started it."""

    id: uuid.UUID
    action: str
    topic: str
    filter: dict[str, Any] | None
    named: int
    values: dict[str, Any]
    undoes: uuid.UUID | None
    reason: str
    who: str
    mine: bool
    via: str
    state: Literal["queued", "running", "stopping", "stopped", "done", "failed"]
    total: int
    total_exact: bool
    looked_at: int
    done: int
    skipped: int
    failed: int
    error: str
    rate_per_s: float
    spread_ms: int
    spread_s: InSeconds
    canary: CanaryView | None
    interruptions: int
    created_ms: int
    started_ms: int | None
    finished_ms: int | None
    undoable: bool


class NotDone(Schema):
    """A message that was not acted on, and why; `id` is null where content is masked."""

    id: str | None
    slot: int
    status: str


class CanaryMessage(Schema):
    """One that went first, and what became of it. `not_due`: it waits for its time. `id` is null where it is masked."""

    id: str | None
    slot: int
    fate: Literal["died", "under_way", "not_due", "well"]


class OperationDetail(OperationView):
    """`not_done`: the first of them; the report has all. `undone_by`: what restored the messages it took out.
    `canary_messages`: the first of those that went first, what died at the top."""

    canary_messages: list[CanaryMessage]
    not_done: list[NotDone]
    undone_by: list[uuid.UUID]
    as_of_ms: int


class Operations(Schema):
    operations: list[OperationView]
    next: str | None
    as_of_ms: int


@router.get("", response=Operations, url_name="operations", summary="Bulk actions, newest first")
def operations(
    request: HttpRequest,
    topic: Annotated[str, Query(max_length=100, pattern=r"^[A-Za-z0-9_.@-]*$")] = "",
    state: Literal["", "live", "ended", "queued", "running", "stopping", "stopped", "done", "failed"] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """`live`: those that go on; `ended`: the others."""
    caller = caller_of(request)
    caller.require(Permission.VIEW, topic or None)
    states = {"live": Operation.LIVE, "ended": set(Operation.State.values) - set(Operation.LIVE)}.get(state, {state})
    found = Operation.objects.filter(rows_in_scope(caller.user)).defer("refs").order_by("-created", "-id")
    if topic:
        found = found.filter(topic=topic)
    if state:
        found = found.filter(state__in=states)
    query = ("operations", topic, state)
    if cursor:
        last = Operation.objects.filter(pk=ident_in(cursor, *query)).first()
        if last is None:
            raise invalid("cursor", "the operation it names is no longer kept; begin again without it")
        found = found.filter(created__lte=last.created).exclude(created=last.created, id__gte=last.pk)
    page = list(found[: limit + 1])
    following = cursor_of(page[limit - 1].pk, *query) if len(page) > limit else None
    return {
        "operations": readable(OperationView, page[:limit], lambda each: operation_of(each, caller)),
        "next": following,
        "as_of_ms": now_ms(),
    }


@router.get("/{uuid:operation}", response=OperationDetail, url_name="operation", summary="How far one is")
def operation(request: HttpRequest, operation: uuid.UUID) -> dict[str, Any]:
    caller = caller_of(request)
    found = _find(caller, operation)
    return operation_of(found, caller) | {
        "not_done": not_done(found, caller.payload),
        "canary_messages": canary_messages(found, caller.payload),
        "undone_by": list(found.undone_by.order_by("created").values_list("pk", flat=True)),
        "as_of_ms": now_ms(),
    }


@router.get(
    "/{uuid:operation}/report",
    url_name="operation-report",
    summary="Every message that was not done, and why",
    openapi_extra=plain(200, FORMATS.values(), "A line per message: id, slot, status"),
)
def operation_report(
    request: HttpRequest, operation: uuid.UUID, form: Literal["jsonl", "csv"] = "jsonl"
) -> StreamingHttpResponse:
    caller = caller_of(request)
    found = _find(caller, operation)

    def may(who: Caller) -> None:
        who.require(Permission.READ_PAYLOAD, found.topic)

    may(caller)
    return download(request, report(found, form), f"operation-{found.pk}.{form}", FORMATS[form], may)


@router.post("/{uuid:operation}:stop", response=OperationView, url_name="operation-stop", summary="Stop it")
def operation_stop(request: HttpRequest, operation: uuid.UUID) -> dict[str, Any]:
    """After what is being done right now. It can be resumed."""
    caller = caller_of(request)
    return operation_of(bulk.stop(caller.actor, _find(caller, operation)), caller)


@router.post("/{uuid:operation}:resume", response=OperationView, url_name="operation-resume", summary="Go on with it")
def operation_resume(request: HttpRequest, operation: uuid.UUID) -> dict[str, Any]:
    """With one that was stopped or has failed, from where it was."""
    caller = caller_of(request)
    return operation_of(bulk.resume(caller.actor, _find(caller, operation)), caller)


@router.post(
    "/{uuid:operation}:undo",
    response={202: OperationView},
    url_name="operation-undo",
    summary="Restore what it took out",
)
def operation_undo(request: HttpRequest, response: HttpResponse, operation: uuid.UUID, body: WithNeededReason) -> Any:
    """As an operation of its own, while the messages are kept (the topic's `undo_ms`)."""
    caller = caller_of(request)
    started = bulk.undo(caller.actor, _find(caller, operation), body.reason)
    response["Location"] = reverse("console-api:operation", kwargs={"operation": started.pk})
    return Status(202, operation_of(started, caller))


def operation_of(operation: Operation, caller: Caller) -> dict[str, Any]:
    found = operation_json(operation, caller.payload)
    found["who"], found["mine"] = found.pop("user"), started(caller.user, operation)
    if found["filter"] is not None and "state" in found["filter"]:
        found["filter"]["state"] = of_today(found["filter"]["state"])
    return found


def _find(caller: Caller, ident: uuid.UUID) -> Operation:
    caller.require(Permission.VIEW)
    found = Operation.objects.filter(pk=ident).first()
    if found is None or not caller.sees(found.topic):
        raise ApiError(404, "unknown_operation", "There is no operation of that id.")
    return found
