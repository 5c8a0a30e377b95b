"""The dead letters of all topics."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.pages.shell import console_page, render_page


@console_page
def page(request: HttpRequest) -> HttpResponse:
    return render_page(request, "console/dead_letters.html", gettext("Dead letters"), data={})
