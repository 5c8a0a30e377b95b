"""The routes: what is forwarded from topic to topic, and how that does."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from console.access import User, in_scope
from console.engine import engine
from console.pages.shell import console_page, render_page
from rmq_core.errors import RMQError


@console_page
def page(request: HttpRequest) -> HttpResponse:
    return render_page(request, "console/routes.html", gettext("Routes"), data={"topics": _topics(request.user)})


def _topics(user: User) -> list[dict[str, Any]]:
    """What a route may lead from and to."""
    try:
        found = engine().inspector.topics()
    except RMQError:
        return []
    return [{"name": topic.name, "kind": topic.kind.value} for topic in found if in_scope(user, topic.name)]
