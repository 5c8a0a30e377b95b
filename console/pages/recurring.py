"""Recurring messages: when each is due next, and what it did."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from console.pages.shell import console_page, render_page


@console_page
def page(request: HttpRequest) -> HttpResponse:
    forms = reverse("console_admin:console_recurringmessage_changelist")
    return render_page(request, "console/recurring.html", gettext("Recurring"), data={"forms": forms})
