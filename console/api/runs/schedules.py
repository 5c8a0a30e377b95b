"""Schedules: runs of the data pipeline that start by themselves."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Router, Schema, Status
from pydantic import Field

from console.access import Action
from console.api.http.callers import Caller, caller_of
from console.api.http.errors import invalid
from console.api.http.lists import readable
from console.api.http.preconditions import IfMatch, check_row
from console.api.http.schemas import NEEDED_WHY, InSeconds, Reason, Strict
from console.api.runs.reconciliations import Kind, Ledger, Topics, looker
from console.models import PipelineSchedule
from console.serializers.runs import schedule_json
from console.usecases.runs import runs
from console.usecases.runs.runs import EVERY_LEAST_MS, EVERY_MOST_MS, RunRequest
from rmq_core.errors import UnknownTopic

router = Router(tags=["reconciliation"])
SHOWN = 200
# Somebody has to want a restore, each time.
Scheduled = Literal["reconcile", "archive"]
_FORMER = {"every_s": ("every_ms", 1000)}


class Schedule(Schema):
    """`topics` empty: all. `next_ms`: when its next run begins, if it is `enabled`. `user`: who made or changed it.
    `etag`: for `If-Match`."""

    id: int
    kind: Kind
    topics: list[str]
    ledger: str
    every_ms: int
    every_s: InSeconds
    enabled: bool
    next_ms: int
    user: str
    etag: str


class Schedules(Schema):
    schedules: list[Schedule]


class ScheduleBody(Strict):
    FORMER: ClassVar[dict[str, tuple[str, int]]] = _FORMER
    kind: Scheduled = "reconcile"
    topics: Topics = Field([], max_length=500)
    ledger: Ledger = Field("", max_length=200, description="The name of a business ledger on the server.")
    every_ms: int = Field(ge=EVERY_LEAST_MS, le=EVERY_MOST_MS)
    reason: Reason = ""


class ScheduleChange(Strict):
    """What is left out stays as it is."""

    FORMER: ClassVar[dict[str, tuple[str, int]]] = _FORMER
    kind: Scheduled | None = None
    topics: Topics | None = Field(None, max_length=500)
    ledger: Ledger | None = Field(None, max_length=200)
    every_ms: int | None = Field(None, ge=EVERY_LEAST_MS, le=EVERY_MOST_MS)
    enabled: bool | None = None
    reason: Reason = ""


@router.get("", response=Schedules, url_name="schedules", summary="Runs that start by themselves")
def schedules(request: HttpRequest) -> dict[str, Any]:
    caller = looker(request)
    seen = [each for each in PipelineSchedule.objects.all() if runs.may_see_schedule(caller.user, each)]
    return {"schedules": readable(Schedule, seen[:SHOWN], schedule_json)}


@router.get("/{int:number}", response=Schedule, url_name="schedule", summary="One schedule")
def schedule(request: HttpRequest, response: HttpResponse, number: int) -> dict[str, Any]:
    return _tagged(response, _find(looker(request), number))


@router.post("", response={201: Schedule}, url_name="schedule-create", summary="Run something again and again")
def create_schedule(request: HttpRequest, response: HttpResponse, body: ScheduleBody) -> Any:
    """Its first run comes soon."""
    caller = caller_of(request)
    asked = RunRequest(body.kind, tuple(body.topics), body.ledger, body.reason)
    made = _scheduled(caller, asked, body.every_ms)
    response["Location"] = reverse("console-api:schedule", kwargs={"number": made.pk})
    return Status(201, _tagged(response, made))


@router.patch("/{int:number}", response=Schedule, url_name="schedule-change", summary="Change it, or disable it")
def change_schedule(
    request: HttpRequest, response: HttpResponse, number: int, body: ScheduleChange, if_match: IfMatch = ""
) -> dict[str, Any]:
    """With `If-Match` only what is as it was seen."""
    caller = caller_of(request)
    caller.require(Action.SCHEDULE)
    known = _find(caller, number)
    check_row(known.changed, if_match)
    given = body.model_dump(exclude_none=True, exclude={"reason"})
    enabled = given.pop("enabled", known.enabled)
    if not given:  # also where its topics or its ledger are gone
        return _tagged(response, runs.switch(caller.actor, known, enabled, body.reason))
    wanted = {name: getattr(known, name) for name in ("kind", "topics", "ledger", "every_ms")} | given
    asked = RunRequest(wanted["kind"], tuple(wanted["topics"]), wanted["ledger"], body.reason)
    return _tagged(response, _scheduled(caller, asked, wanted["every_ms"], known, enabled))


@router.delete("/{int:number}", response={204: None}, url_name="schedule-delete", summary="Delete it; its runs stay")
def delete_schedule(request: HttpRequest, number: int, if_match: IfMatch = "", reason: str = NEEDED_WHY) -> Any:
    """With `If-Match` only what is as it was seen."""
    caller = caller_of(request)
    caller.require(Action.SCHEDULE)
    known = _find(caller, number)
    check_row(known.changed, if_match)
    runs.remove(caller.actor, known, reason)
    return Status(204, None)


def _scheduled(
    caller: Caller, asked: RunRequest, every_ms: int, known: PipelineSchedule | None = None, enabled: bool = True
) -> PipelineSchedule:
    try:
        return runs.schedule(caller.actor, asked, every_ms, known, enabled)
    except UnknownTopic as error:
        raise invalid("topics", str(error)) from None


def _tagged(response: HttpResponse, row: PipelineSchedule) -> dict[str, Any]:
    found = schedule_json(row)
    response["ETag"] = found["etag"]
    return found


def _find(caller: Caller, number: int) -> PipelineSchedule:
    found = PipelineSchedule.objects.filter(pk=number).first() if number < 2**63 else None
    if found is None or not runs.may_see_schedule(caller.user, found):
        raise runs.unknown_schedule()
    return found
