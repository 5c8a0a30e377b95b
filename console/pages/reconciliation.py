"""Reconciliations and the pipeline's other jobs: all of them, and one run."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.access import in_scope
from console.engine import engine
from console.errors import BadRequest
from console.models import Reconciliation
from console.pages.shell import console_page, render_page
from console.usecases.runs import run_places, runs
from rmq_core.errors import RMQError
from rmq_core.model.topic import Journal


@console_page
def page(request: HttpRequest) -> HttpResponse:
    try:
        topics = [topic for topic in engine().inspector.topics() if in_scope(request.user, topic.name)]
    except RMQError:
        topics = []
    names = [topic.name for topic in topics]
    unknown = [topic.name for topic in topics if topic.journal is Journal.OFF]
    return render_page(
        request,
        "console/reconciliation.html",
        gettext("Reconciliation"),
        data={"topics": names, "unrecorded": unknown, "ledgers": run_places.ledgers()},
    )


@console_page
def one(request: HttpRequest, ident: uuid.UUID) -> HttpResponse:
    run = Reconciliation.objects.defer("tables").filter(pk=ident).first()
    if run is None or not runs.may_see(request.user, run):
        raise BadRequest(gettext("There is no run with this number; it may be too old to be kept."))
    title = gettext("Reconciliation") if run.kind == "reconcile" else run.get_kind_display().capitalize()
    return render_page(request, "console/run.html", title, data={"ident": str(ident)})
