"""Runs of the data pipeline: start, follow, stop; what a reconciliation found."""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from console.access import Permission
from console.api.callers import Caller, caller_of
from console.api.errors import ApiError, invalid
from console.api.schemas import Limit, Reason, Strict, Text
from console.models import Finding, Reconciliation
from console.reconciliation import jobs, runs, shapes
from console.reconciliation.runs import RunOrder
from rmq_core.errors import UnknownTopic

router = Router(tags=["reconciliation"])
Kind = Literal["reconcile", "archive", "restore"]


class RunBody(Strict):
    """`topics` empty: all of them. `confirm`: the word “restore”, where messages are to be put back."""

    kind: Kind = "reconcile"
    topics: list[Annotated[Text, Field(max_length=100)]] = Field([], max_length=500)
    ledger: Text = Field("", max_length=200, description="The name of a business ledger on the server.")
    reason: Reason = ""
    confirm: Text = Field("", max_length=40)


class Stage(Schema):
    name: str
    since_ms: int
    done: int
    total: int


class Run(Schema):
    """A run. `complete` false: journals had gaps, and of what is missing nothing is said. `counts`: findings by kind,
    `listed`: so many of the `findings` can be read here, the others are in the report."""

    id: str
    kind: Kind
    topics: list[str]
    ledger: str
    state: Literal["queued", "running", "stopping", "stopped", "done", "failed"]
    percent: int
    stages: list[Stage]
    error: str
    complete: bool | None
    findings: int
    listed: int
    counts: dict[str, int]
    user: str
    via: str
    reason: str
    created_ms: int
    started_ms: int | None
    finished_ms: int | None


class Runs(Schema):
    runs: list[Run]
    next: str | None


class Detail(Run):
    """`tables`: the report's figures, a row per topic. `changes`: by kind, against the run before."""

    gaps: list[Any]
    changes: Any
    compared_with: str | None
    tables: list[dict[str, Any]]


class FindingShown(Schema):
    """`id` is null for callers who may not read content. `operation`: what was started to repair it."""

    number: int
    kind: str
    topic: str
    slot: int | None
    id: str | None
    evidence: dict[str, Any]
    repair: str
    operation: str | None


class Findings(Schema):
    findings: list[FindingShown]
    next: str | None


Before = Query(None, max_length=40, description="The `next` of the page before.")
Word = Query("", max_length=100, pattern=r"^[^\x00]*$")


@router.get("", response=Runs, url_name="reconciliations", summary="Runs, newest first")
def listed(
    request: HttpRequest, kind: Kind | None = None, limit: Limit = 50, cursor: str | None = Before
) -> dict[str, Any]:
    """`kind` leaves only runs of one job."""
    _require(request)
    rows = Reconciliation.objects.defer("tables")
    if kind:
        rows = rows.filter(kind=kind)
    if cursor:
        last = Reconciliation.objects.filter(pk=_ident(cursor)).first()
        if last is None:
            raise invalid("cursor", "belongs to no run")
        rows = rows.filter(created__lt=last.created)
    some = list(rows[: limit + 1])
    following = str(some[limit - 1].pk) if len(some) > limit else None
    return {"runs": [shapes.run_json(each) for each in some[:limit]], "next": following}


@router.post("", response={202: Run}, url_name="reconciliation-start", summary="Start a run")
def start(request: HttpRequest, body: RunBody) -> Any:
    """It goes on by itself: follow it at its own address."""
    order = RunOrder(body.kind, tuple(body.topics), body.ledger, body.reason, body.confirm)
    try:
        run = runs.start(caller_of(request).who, order)
    except UnknownTopic as error:
        raise invalid("topics", str(error)) from None
    jobs.enqueue(str(run.pk))
    return Status(202, shapes.run_json(run))


@router.get("/{uuid:ident}", response=Detail, url_name="reconciliation", summary="One run, with its figures")
def one(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any]:
    caller = _require(request)
    return shapes.detail_json(_run(ident), caller.payload)


@router.post("/{uuid:ident}:stop", response=Run, url_name="reconciliation-stop", summary="Stop a run")
def stop(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any]:
    caller = caller_of(request)
    caller.require(Permission.OPERATE)
    return shapes.run_json(runs.stop(caller.who, _run(ident)))


@router.get("/{uuid:ident}/findings", response=Findings, url_name="reconciliation-findings", summary="What it found")
def findings(
    request: HttpRequest,
    ident: uuid.UUID,
    kind: str = Word,
    topic: str = Word,
    repair: str = Word,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,18}$", description="The `next` of the page before.")] = None,
) -> dict[str, Any]:
    caller = _require(request)
    rows = Finding.objects.filter(run=_run(ident), pk__gt=int(cursor or 0)).order_by("pk")
    wanted = {"kind": kind, "topic": topic, "repair": repair}
    some = list(rows.filter(**{name: value for name, value in wanted.items() if value})[: limit + 1])
    following = str(some[limit - 1].pk) if len(some) > limit else None
    return {"findings": [shapes.finding_json(each, caller.payload) for each in some[:limit]], "next": following}


def _require(request: HttpRequest) -> Caller:
    # A run is about many topics, so a token for some of them does not see it.
    caller = caller_of(request)
    caller.require(Permission.VIEW, "")
    return caller


def _run(ident: uuid.UUID) -> Reconciliation:
    found = Reconciliation.objects.filter(pk=ident).first()
    if found is None:
        raise ApiError(404, "unknown_run", f"There is no run {ident}; it may be too old to be kept.")
    return found


def _ident(given: str) -> uuid.UUID:
    try:
        return uuid.UUID(given)
    except ValueError:
        raise invalid("cursor", "is not one of ours") from None
