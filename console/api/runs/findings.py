"""What a run found: its findings, their repair, its report and log."""

from __future__ import annotations

import uuid
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from ninja import Schema, Status
from ninja.params.functions import Query
from pydantic import Field

from console.access import Permission
from console.api.http.callers import Caller, caller_of
from console.api.http.cursors import cursor_of, number_in
from console.api.http.description import plain
from console.api.http.downloads import download
from console.api.http.errors import ApiError
from console.api.http.lists import readable
from console.api.http.schemas import Limit, Reason, Strict, Text
from console.api.operations import OperationView, operation_of
from console.api.runs.reconciliations import Before, looker, router, run_of
from console.models import Finding
from console.serializers import runs as shapes
from console.serializers.text import FORMATS
from console.usecases.bulk.bulk_requests import CANARY_MAX
from console.usecases.runs import repairs, run_reports
from console.usecases.runs.repairs import RepairRequest
from console.usecases.runs.returned import returned

Word = Query("", max_length=100, pattern=r"^[^\x00]*$")


class FindingShown(Schema):
    """`id` is null for callers who may not read content. `operation`: what was started to repair it."""

    number: int
    kind: str
    topic: str
    slot: int | None
    id: str | None
    evidence: dict[str, Any]
    cause: str
    repair: str
    operation: str | None


class Findings(Schema):
    """`count` of all that match."""

    findings: list[FindingShown]
    next: str | None
    count: int


class RepairBody(Strict):
    """All findings of one `repair` that nobody has started to repair, narrowed by `kind` and `topic`; or one, by its
    number. With `validate_only` nothing happens, and the answer is what it would do now; else say why."""

    repair: Text = Field(min_length=1, max_length=20)
    kind: Text = Field("", max_length=60)
    topic: Text = Field("", max_length=100)
    finding: int | None = Field(None, ge=1, le=2**53)
    reason: Reason = ""
    canary: int = Field(
        0, ge=0, le=CANARY_MAX, description="Of each topic so many first; the rest only if none of those dies."
    )
    validate_only: bool = False


class Outcomes(Schema):
    """`done`: would be repaired; `not_needed`: well by now; `unknown`: nobody knows the content."""

    done: int = 0
    not_needed: int = 0
    unknown: int = 0


class Forecast(Schema):
    """What a repair would do now to the first `looked_at` of `count` findings."""

    count: int
    looked_at: int
    outcomes: Outcomes
    examples: list[FindingShown]


class Repairs(Schema):
    """One operation for each topic. `left`: so many findings were too much for one request; the same one goes on."""

    operations: list[OperationView]
    left: int


class Log(Schema):
    log: str


@router.get("/{uuid:ident}/findings", response=Findings, url_name="reconciliation-findings", summary="What it found")
def findings(
    request: HttpRequest,
    ident: uuid.UUID,
    kind: str = Word,
    topic: str = Word,
    repair: str = Word,
    cause: str = Word,
    open: bool = False,
    limit: Limit = 50,
    cursor: str | None = Before,
) -> dict[str, Any]:
    """`open`: only those that nobody has started to repair. `repaired_by` in `evidence`: it came back after this
    operation, a repair of one of the ten runs before."""
    caller = looker(request)
    query = ("findings", str(ident), kind, topic, repair, cause, str(open))
    after = 0 if cursor is None else number_in(cursor, *query)
    words = {"kind": kind, "topic": topic, "repair": repair, "cause": cause}
    wanted = {name: value for name, value in words.items() if value}
    run = run_of(caller, ident)
    rows = Finding.objects.filter(run=run, **wanted)
    if open:
        rows = rows.filter(operation__isnull=True)
    some = list(rows.filter(pk__gt=after).order_by("pk")[: limit + 1])
    following = cursor_of(some[limit - 1].pk, *query) if len(some) > limit else None
    again = returned(run, some[:limit])

    def shown(each: Finding) -> dict[str, Any]:
        return shapes.finding_json(each, caller.payload, again.get(each.pk))

    return {
        "findings": readable(FindingShown, some[:limit], shown),
        "next": following,
        "count": rows.count(),
    }


@router.post(
    "/{uuid:ident}:repair",
    response={200: Forecast, 202: Repairs},
    url_name="reconciliation-repair",
    summary="Repair what it found",
)
def repair(request: HttpRequest, response: HttpResponse, ident: uuid.UUID, body: RepairBody) -> Any:
    """As operations, one for each topic: follow them at their addresses."""
    caller = caller_of(request)
    caller.require(Permission.OPERATE)
    about = (body.repair, body.kind, body.topic, body.finding, body.reason, body.canary)
    wanted = RepairRequest(run_of(caller, ident), *about)
    if body.validate_only:
        found = repairs.preview(caller.actor, wanted)
        examples = [shapes.finding_json(each, caller.payload) for each in found.examples]
        counted = {"count": found.count, "looked_at": found.looked_at, "outcomes": dict(found.outcomes)}
        return Status(200, counted | {"examples": examples})
    made = repairs.start(caller.actor, wanted)
    response["Location"] = reverse("console-api:operation", kwargs={"operation": made[0].pk})
    return Status(202, {"operations": [operation_of(each, caller) for each in made], "left": repairs.left(wanted)})


@router.get("/{uuid:ident}/log", response=Log, url_name="reconciliation-log", summary="The end of what it printed")
def log(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any]:
    caller = looker(request)
    caller.require(Permission.READ_PAYLOAD)
    return {"log": run_reports.log_text(run_of(caller, ident))}


@router.get(
    "/{uuid:ident}/report",
    url_name="reconciliation-report",
    summary="Every finding, as a file",
    openapi_extra=plain(200, FORMATS.values(), "A line per finding: kind, topic, slot, id, repair, evidence", 409),
)
def report(request: HttpRequest, ident: uuid.UUID, form: Literal["jsonl", "csv"] = "jsonl") -> StreamingHttpResponse:
    """Also of those that are too many to be listed."""

    def may(who: Caller) -> None:
        who.require(Permission.READ_PAYLOAD)

    caller = looker(request)
    may(caller)
    try:
        pieces = run_reports.download(run_of(caller, ident), form)
    except run_reports.BadReport as error:
        raise ApiError(409, "bad_report", str(error)) from None
    return download(request, pieces, f"findings-{ident}.{form}", FORMATS[form], may)
