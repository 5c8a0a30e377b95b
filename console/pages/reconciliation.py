"""Reconciliations and the pipeline's other jobs: history, a run as it goes, its findings, their repair, schedules."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from console.access import Permission, allowed, require
from console.api.downloads import download
from console.engine import engine
from console.errors import BadRequest
from console.models import Finding, PipelineSchedule, Reconciliation
from console.pages.data import action_view, body_of, choice, data_view, error_response, flag, text, who_of, whole
from console.pages.shell import console_page, render_page
from console.serializers import runs as shapes
from console.serializers.operations import operation_json
from console.serializers.text import FORMATS
from console.usecases import repairs, run_places, run_reports, runs
from console.usecases.audit import REASON_MAX
from console.usecases.repairs import RepairOrder
from console.usecases.runs import RunOrder
from rmq_core.errors import RMQError

PAGE = 50
TREND = 60


@console_page
def page(request: HttpRequest) -> HttpResponse:
    try:
        topics = [topic.name for topic in engine().inspector.topics()]
    except RMQError:
        topics = []
    return render_page(
        request,
        "console/reconciliation.html",
        gettext("Reconciliation"),
        data={
            "urls": {
                "data": reverse("console:reconciliation-data"),
                "start": reverse("console:reconciliation-start"),
                "schedule": reverse("console:reconciliation-schedule"),
                "runs": reverse("console:reconciliation"),
            },
            "topics": topics,
            "ledgers": run_places.ledgers(),
            "list": _list(request),
        },
    )


@console_page
def one(request: HttpRequest, ident: uuid.UUID) -> HttpResponse:
    run = _find(ident)
    if run is None:
        return render_page(request, "console/missing.html", gettext("Reconciliation"), error=_unknown(), status=404)
    names = ("data", "findings", "log", "download", "stop", "preview", "repair")
    return render_page(
        request,
        "console/run.html",
        gettext("Reconciliation") if run.kind == "reconcile" else run.get_kind_display().capitalize(),
        data={
            "urls": {
                **{name: reverse(f"console:run-{name}", args=[ident]) for name in names},
                "runs": reverse("console:reconciliation"),
                "operations": reverse("console:operations"),
            },
            "run": _detail(request, run),
        },
    )


@data_view
def listed(request: HttpRequest) -> dict[str, Any]:
    """The newest runs (of a `kind`), or those before `before`; the schedules."""
    return _list(request)


@action_view
def start(request: HttpRequest) -> dict[str, Any]:
    """`{kind, topics, ledger, reason, confirm}` → the run."""
    run = runs.start(who_of(request), _order(body_of(request)))
    return shapes.run_json(run)


@action_view
def schedule(request: HttpRequest) -> dict[str, Any] | HttpResponse:
    """`{kind, topics, ledger, every_s}` makes one; `{id, enabled}` switches, `{id, delete, reason}` deletes one."""
    body = body_of(request)
    number = whole(body, "id", None, 1, 2**53)
    if number is None:
        every_s = whole(body, "every_s", 0, 0, runs.EVERY_MOST_S) or 0
        return shapes.schedule_json(runs.schedule(who_of(request), _order(body), every_s))
    found = PipelineSchedule.objects.filter(pk=number).first()
    if found is None:
        return error_response(404, "unknown_schedule", gettext("There is no such schedule."))
    if flag(body, "delete"):
        runs.remove(who_of(request), found, text(body, "reason", REASON_MAX))
        return {}
    return shapes.schedule_json(runs.switch(who_of(request), found, flag(body, "enabled")))


@data_view
def data(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any] | HttpResponse:
    run = _find(ident)
    return _gone() if run is None else _detail(request, run)


@data_view
def findings(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any] | HttpResponse:
    """A page of findings; `kind`, `topic`, `repair` and `open` narrow them, `after` goes on."""
    run = _find(ident)
    if run is None:
        return _gone()
    rows = Finding.objects.filter(run=run)
    for name in ("kind", "topic", "repair"):
        wanted = text(request.GET, name, 100)
        if wanted:
            rows = rows.filter(**{name: wanted})
    if request.GET.get("open"):
        rows = rows.filter(operation__isnull=True)
    after = whole(request.GET, "after", 0, 0, 2**53) or 0
    some = list(rows.filter(pk__gt=after).order_by("pk")[: PAGE + 1])
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    return {
        "findings": [shapes.finding_json(each, payload) for each in some[:PAGE]],
        "more": len(some) > PAGE,
        "count": rows.count(),
    }


@data_view
def log(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any] | HttpResponse:
    """The end of what the run printed."""
    require(request.user, Permission.READ_PAYLOAD)
    run = _find(ident)
    return _gone() if run is None else {"log": run_reports.log_text(run)}


@data_view
def report_file(request: HttpRequest, ident: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
    """Every finding, as a file."""
    require(request.user, Permission.READ_PAYLOAD)
    form = choice(request.GET, "format", tuple(FORMATS))
    run = _find(ident)
    if run is None:
        return _gone()
    try:
        pieces = run_reports.download(run, form)
        return download(request, pieces, f"findings-{ident}.{form}", FORMATS[form])
    except run_reports.BadReport as error:
        raise BadRequest(str(error)) from None


@action_view
def stop(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any] | HttpResponse:
    run = _find(ident)
    return _gone() if run is None else shapes.run_json(runs.stop(who_of(request), run))


@action_view
def preview(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any] | HttpResponse:
    """`{repair, kind, topic, finding}` → what that would do now. Changes nothing."""
    run = _find(ident)
    if run is None:
        return _gone()
    found = repairs.preview(who_of(request), _repair(run, body_of(request)))
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    return {
        "count": found.count,
        "looked_at": found.looked_at,
        "outcomes": dict(found.outcomes),
        "examples": [shapes.finding_json(each, payload) for each in found.examples],
    }


@action_view
def repair(request: HttpRequest, ident: uuid.UUID) -> dict[str, Any] | HttpResponse:
    """The same with `reason` → the operations that do it."""
    run = _find(ident)
    if run is None:
        return _gone()
    made = repairs.start(who_of(request), _repair(run, body_of(request)))
    payload = allowed(request.user, Permission.READ_PAYLOAD)
    return {"operations": [operation_json(each, payload) for each in made]}


def _list(request: HttpRequest) -> dict[str, Any]:
    rows = Reconciliation.objects.defer("tables")
    kind = text(request.GET, "kind", 20)
    if kind in runs.ACTIONS:
        rows = rows.filter(kind=kind)
    before = text(request.GET, "before", 40)
    if before:
        last = _find(_ident(before))
        if last is not None:
            rows = rows.filter(Q(created__lt=last.created) | Q(created=last.created, pk__lt=last.pk))
    some = list(rows[: PAGE + 1])
    return {
        "runs": [shapes.run_json(each) for each in some[:PAGE]],
        "more": len(some) > PAGE,
        "schedules": [shapes.schedule_json(each) for each in PipelineSchedule.objects.all()[:100]],
        "trend": _trend(),
        "as_of_ms": _now_ms(),
    }


def _trend() -> list[dict[str, Any]]:
    """The newest finished reconciliations, oldest first, with their figures over all topics."""
    done = Reconciliation.objects.filter(kind="reconcile", state="done").order_by("-created")[:TREND]
    return [shapes.trend_json(run) for run in reversed(done)]


def _detail(request: HttpRequest, run: Reconciliation) -> dict[str, Any]:
    groups = run.found.values("kind", "topic", "repair").annotate(n=Count("pk"), open=Count("pk", Q(operation=None)))
    return shapes.detail_json(run, allowed(request.user, Permission.READ_PAYLOAD)) | {
        "groups": list(groups.order_by("kind", "topic", "repair")[:500]),
        "as_of_ms": _now_ms(),
    }


def _order(body: dict[str, Any]) -> RunOrder:
    topics = body.get("topics", [])
    if not isinstance(topics, list) or not all(isinstance(each, str) and len(each) <= 100 for each in topics):
        raise BadRequest(gettext("topics must be a list of names."))
    return RunOrder(
        kind=choice(body, "kind", tuple(runs.ACTIONS)),
        topics=topics,
        ledger=text(body, "ledger", 200),
        reason=text(body, "reason", REASON_MAX),
        confirm=text(body, "confirm", 40),
    )


def _repair(run: Reconciliation, body: dict[str, Any]) -> RepairOrder:
    return RepairOrder(
        run=run,
        repair=text(body, "repair", 20),
        kind=text(body, "kind", 60),
        topic=text(body, "topic", 100),
        finding=whole(body, "finding", None, 1, 2**53),
        reason=text(body, "reason", REASON_MAX),
    )


def _find(ident: uuid.UUID) -> Reconciliation | None:
    return Reconciliation.objects.filter(pk=ident).first()


def _ident(given: str) -> uuid.UUID:
    try:
        return uuid.UUID(given)
    except ValueError:
        raise BadRequest(_unknown()) from None


def _unknown() -> str:
    return gettext("There is no run with this number; it may be too old to be kept.")


def _gone() -> HttpResponse:
    return error_response(404, "unknown_run", _unknown())


def _now_ms() -> int:
    return round(timezone.now().timestamp() * 1000)
