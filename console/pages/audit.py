"""The audit: who did what, to what, why, with what result, from where."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from console.access import Forbidden, Permission, require
from console.api.downloads import download
from console.models import AuditEntry
from console.models.audit import ACTIONS, LABELS
from console.pages.data import choice, data_view, error_response, raw_text, text, whole
from console.pages.shell import console_page, render_page
from console.serializers.audit import detail_json, entry_json
from console.usecases import audit_list
from console.usecases.audit_list import AuditFilter

LIMIT_MAX = 200
TYPES = {"csv": "text/csv", "jsonl": "application/x-ndjson"}


@console_page
def page(request: HttpRequest) -> HttpResponse:
    try:
        require(request.user, Permission.AUDIT)
    except Forbidden as error:
        return render_page(request, "console/forbidden.html", gettext("Audit"), error=str(error), status=403)
    vias = AuditEntry.objects.order_by("via").values_list("via", flat=True).distinct()
    return render_page(
        request,
        "console/audit.html",
        gettext("Audit"),
        data={
            "urls": {
                "data": reverse("console:audit-data"),
                "export": reverse("console:audit-export"),
                "entries": reverse("console:audit"),
            },
            "actions": [[name, str(LABELS[name])] for name in ACTIONS],
            "results": [[value, str(label)] for value, label in AuditEntry.Result.choices],
            "vias": list(vias[:50]),
        },
    )


@data_view
def data(request: HttpRequest) -> dict[str, Any]:
    """A page of entries; `cursor` goes on where the page before ended."""
    require(request.user, Permission.AUDIT)
    found = audit_list.page(
        AuditFilter.from_mapping(request.GET),
        text(request.GET, "cursor", 100),
        whole(request.GET, "limit", 50, 1, LIMIT_MAX) or 50,
    )
    return {
        "entries": [entry_json(entry) for entry in found.entries],
        "next": found.next_cursor,
        "count": found.count,
        "exact": found.exact,
    }


@data_view
def entry(request: HttpRequest, number: int) -> Any:
    """All of one entry."""
    require(request.user, Permission.AUDIT)
    found = AuditEntry.objects.filter(pk=number).first() if number < 2**63 else None
    if found is None:
        return error_response(404, "not_found", gettext("There is no such entry."))
    return detail_json(found)


@data_view
def export(request: HttpRequest) -> StreamingHttpResponse:
    """Every entry the filter lets through, as a file."""
    require(request.user, Permission.AUDIT)
    form = choice(request.GET, "format", ("csv", "jsonl"))
    pieces = audit_list.export(AuditFilter.from_mapping(request.GET), form)
    return download(request, pieces, f"audit-{timezone.now():%Y%m%d-%H%M%S}.{form}", TYPES[form])


@data_view
def of_message(request: HttpRequest, topic: str) -> dict[str, Any]:
    """What people did to one message; for everybody who may look, without where they sat."""
    ident = raw_text(request.GET, "id", 4000)
    slot = whole(request.GET, "slot", None, 0, 4095)
    entries, complete = audit_list.actions_on(topic, slot, ident) if ident else ([], True)
    shown = ("at_ms", "who", "action", "reason", "via")
    return {
        "actions": [
            {name: entry_json(each)[name] for name in shown} | {"status": audit_list.status_of(each, slot, ident)}
            for each in entries
        ],
        "complete": complete,
    }
