"""Screens: the list of them, one for somebody signed in, and one by its link, without signing in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.access import Permission, require
from console.models import Screen
from console.pages.shell import console_page, render_page
from console.preferences import as_json, preferences_of
from console.release import RELEASE
from console.templating import render
from console.usecases import screens


@console_page
def page(request: HttpRequest) -> HttpResponse:
    require(request.user, Permission.VIEW, "")  # a screen may show any topic
    data = {
        "forms": reverse("console_admin:console_screen_changelist"),
        "show": reverse("console:screen", args=["NAME"]),
    }
    return render_page(request, "console/screens.html", gettext("Screens"), data=data)


@console_page
def one(request: HttpRequest, name: str) -> HttpResponse:
    require(request.user, Permission.VIEW, "")
    chosen = as_json(preferences_of(request.user))
    return _show(request, screens.find(name), reverse("console-api:screen-data", args=[name]), chosen)


@never_cache
@require_safe
def by_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Whoever has the link; nothing else is open to them."""
    screen = screens.by_secret(secret)
    if screen is None:
        return _private(render(request, "console/screen_gone.html", {"title": gettext("This link has ended")}, 404))
    return _private(_show(request, screen, reverse("console-api:screen-by-link", args=[secret])))


def _show(request: HttpRequest, screen: Screen, address: str, chosen: dict[str, str] | None = None) -> HttpResponse:
    """`chosen`: the preferences of who looks, where that is known."""
    data: dict[str, Any] = {"data": address, "release": RELEASE, "preferences": chosen}
    context = {"page_data": data, "title": screen.title or screen.name, "texts": reverse("console:texts")}
    return render(request, "console/screen.html", {**context, "theme": screen.theme})


def _private(response: HttpResponse) -> HttpResponse:
    """The address is a secret: it goes to nobody else, and into no index."""
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Robots-Tag"] = "noindex"
    return response
