"""Preferences: how times and numbers are written for whoever is signed in."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.models.preferences import NUMBERS
from console.pages.shell import console_page, render_page


@console_page
def page(request: HttpRequest) -> HttpResponse:
    return render_page(request, "console/preferences.html", gettext("Preferences"), data={"number_formats": NUMBERS})
