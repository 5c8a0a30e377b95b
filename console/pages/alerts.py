"""Alerts: what fires now, what did, and what is silenced."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from console.pages.shell import console_page, render_page


@console_page
def page(request: HttpRequest) -> HttpResponse:
    places = ("rules", "console_admin:console_alertrule_changelist"), (
        "receivers", "console_admin:console_alertreceiver_changelist",
    )  # fmt: skip
    data = {name: reverse(address) for name, address in places}
    return render_page(request, "console/alerts.html", gettext("Alerts"), data=data)
