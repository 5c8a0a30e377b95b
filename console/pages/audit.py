"""The audit: who did what, to what, why, with what result, from where."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.access import Permission, require
from console.models import AuditEntry
from console.models.audit import ACTIONS, LABELS
from console.pages.shell import console_page, render_page


@console_page
def page(request: HttpRequest) -> HttpResponse:
    require(request.user, Permission.AUDIT)
    vias = AuditEntry.objects.order_by("via").values_list("via", flat=True).distinct()
    return render_page(
        request,
        "console/audit.html",
        gettext("Audit"),
        data={
            "actions": [[name, str(LABELS[name])] for name in ACTIONS],
            "results": [[value, str(label)] for value, label in AuditEntry.Result.choices],
            "vias": list(vias[:50]),
        },
    )
