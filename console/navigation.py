"""What Unfold's frame asks of us: the sidebar, languages, the command palette, style and icon."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import get_language_info, gettext
from unfold.dataclasses import SearchResult

from console.access import Permission, allowed
from console.engine import engine
from rmq_core.errors import RMQError


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The navigation; entries one may not open are left out."""
    return [
        {
            "title": gettext("Queue"),
            "items": [
                {
                    "title": gettext("Overview"),
                    "icon": "monitoring",
                    "link": reverse("overview"),
                    "active": request.path == reverse("overview") or "/topics/" in request.path,
                    "permission": may_view,
                },
                {
                    "title": gettext("Workers"),
                    "icon": "memory",
                    "link": reverse("workers"),
                    "active": request.path == reverse("workers"),
                    "permission": may_view,
                },
            ],
        },
        {
            "title": gettext("Administration"),
            "separator": True,
            "items": [
                _admin_item(gettext("Audit"), "history", "console.view_auditentry", "console_auditentry"),
                _admin_item(gettext("Users"), "person", "auth.view_user", "auth_user"),
                _admin_item(gettext("Roles"), "group", "auth.view_group", "auth_group"),
            ],
        },
    ]


def may_view(request: HttpRequest) -> bool:
    return allowed(request.user, Permission.VIEW)


def _admin_item(title: str, icon: str, permission: str, model: str) -> dict[str, Any]:
    return {
        "title": title,
        "icon": icon,
        "link": reverse(f"admin:{model}_changelist"),
        "permission": lambda request: request.user.has_perm(permission),
    }


def languages(request: HttpRequest) -> list[dict[str, str]]:
    return [get_language_info(code) for code, _name in settings.LANGUAGES]


def language_action(request: HttpRequest) -> str:
    return reverse("set_language")


def stylesheet(request: HttpRequest) -> str:
    return static("console/css/console.css")


def favicon(request: HttpRequest) -> str:
    return static("console/img/icon.svg")


def search(request: HttpRequest, term: str) -> list[SearchResult]:
    """Pages and topics for the command palette."""
    if not may_view(request):
        return []
    found = []
    for title, about, name, symbol in (
        (gettext("Overview"), gettext("All topics"), "overview", "monitoring"),
        (gettext("Workers"), gettext("Who works, who owns which slot"), "workers", "memory"),
    ):
        if term in title.lower():
            found.append(SearchResult(title, about, reverse(name), symbol))
    try:
        topics = engine().inspector.topics()
    except RMQError:
        return found
    found += [
        SearchResult(topic.name, topic.description or gettext("Topic"), reverse("topic", args=[topic.name]), "stacks")
        for topic in topics
        if term in topic.name.lower()
    ]
    return found
