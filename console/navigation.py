"""What Unfold's frame asks of us: the sidebar, languages, the command palette, style and icon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import get_language_info, gettext
from unfold.dataclasses import SearchResult

from console.access import Action, Permission, allowed
from console.engine import engine
from rmq_core.errors import RMQError

RESULTS_MOST = 60


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
                {
                    "title": gettext("Dead letters"),
                    "icon": "skull",
                    "link": reverse("dead"),
                    "active": request.path == reverse("dead"),
                    "permission": may_view,
                },
                {
                    "title": gettext("Operations"),
                    "icon": "playlist_play",
                    "link": reverse("operations"),
                    "active": request.path.startswith(reverse("operations")),
                    "permission": may_view,
                },
                {
                    "title": gettext("Reconciliation"),
                    "icon": "fact_check",
                    "link": reverse("reconciliation"),
                    "active": request.path.startswith(reverse("reconciliation")),
                    "permission": may_view,
                },
            ],
        },
        {
            "title": gettext("Administration"),
            "separator": True,
            "items": [
                {
                    "title": gettext("Audit"),
                    "icon": "history",
                    "link": reverse("audit"),
                    "active": request.path == reverse("audit"),
                    "permission": may_audit,
                },
                {
                    "title": gettext("Topic definitions"),
                    "icon": "tune",
                    "link": reverse("admin:console_topicdefinition_changelist"),
                    "permission": may_view,
                },
                {
                    "title": gettext("API tokens"),
                    "icon": "key",
                    "link": reverse("admin:console_apitoken_changelist"),
                    "permission": may_manage_tokens,
                },
                {
                    "title": gettext("API documentation"),
                    "icon": "api",
                    "link": reverse("api-1:openapi-view"),
                    "permission": may_view,
                },
                _admin_item(gettext("Users"), "person", "auth.view_user", "auth_user"),
                _admin_item(gettext("Roles"), "group", "auth.view_group", "auth_group"),
            ],
        },
    ]


def may_view(request: HttpRequest) -> bool:
    return allowed(request.user, Permission.VIEW)


def may_audit(request: HttpRequest) -> bool:
    return allowed(request.user, Permission.AUDIT)


def may_manage_tokens(request: HttpRequest) -> bool:
    return allowed(request.user, Action.TOKENS)


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


def texts_script(request: HttpRequest) -> str:
    return reverse("texts")


def frame_script(request: HttpRequest) -> str:
    return static("console/js/frame.js")


def favicon(request: HttpRequest) -> str:
    return static("console/img/icon.svg")


def search(request: HttpRequest, term: str) -> list[SearchResult]:
    """Pages, and topics with what can be done there, for the command palette."""
    if not may_view(request):
        return []
    found = [SearchResult(title, about, reverse(name), symbol)
             for title, about, name, symbol, may in _pages()
             if term in title.lower() and may(request)]  # fmt: skip
    try:
        topics = engine().inspector.topics()
    except RMQError:
        return found
    for topic in topics:
        if all(word in f"{topic.name} {_words()}".lower() for word in term.split()):
            found += _of_topic(request, topic.name, topic.description, term)
    return found[:RESULTS_MOST]


def _pages() -> list[tuple[str, str, str, str, Callable[[HttpRequest], bool]]]:
    return [
        (gettext("Overview"), gettext("All topics"), "overview", "monitoring", may_view),
        (gettext("Workers"), gettext("Who works, who owns which slot"), "workers", "memory", may_view),
        (gettext("New topic"), gettext("Define a topic"), "define", "add_circle", _may(Action.CREATE_TOPIC)),
        (gettext("Topic definitions"), gettext("All topics, and who changed them last"),
         "admin:console_topicdefinition_changelist", "tune", may_view),
        (gettext("Dead letters"), gettext("What failed for good, in all topics"), "dead", "skull", may_view),
        (gettext("Operations"), gettext("Bulk actions and how far they are"), "operations", "playlist_play", may_view),
        (gettext("Reconciliation"), gettext("Did every message do what it should?"), "reconciliation", "fact_check",
         may_view),
        (gettext("Audit"), gettext("Who did what, and why"), "audit", "history", may_audit),
    ]  # fmt: skip


def _may(action: Action) -> Callable[[HttpRequest], bool]:
    return lambda request: allowed(request.user, action)


def _tabs() -> list[tuple[str, str, str]]:
    return [
        ("messages", gettext("Messages"), "mail"),
        ("dead", gettext("Dead letters"), "skull"),
        ("slots", gettext("Slots"), "grid_view"),
        ("definition", gettext("Definition"), "tune"),
    ]


def _words() -> str:
    """Words that narrow a search for a topic down to a part of it."""
    return " ".join([*(title for _, title, _ in _tabs()), gettext("Send")])


def _of_topic(request: HttpRequest, name: str, description: str, term: str) -> list[SearchResult]:
    """The topic itself, and its tabs where they are asked for ("orders dead") or the topic is named in full."""
    own = name.lower()
    extra = [word for word in term.split() if word not in own]
    found = (
        [] if extra else [SearchResult(name, description or gettext("Topic"), reverse("topic", args=[name]), "stacks")]
    )
    for tab, title, symbol in _tabs():
        if _asked(title, extra, term, own):
            address = reverse("topic-tab", args=[name, tab])
            found.append(SearchResult(f"{name} · {title}", gettext("Topic"), address, symbol))
    if _asked(gettext("Send"), extra, term, own) and allowed(request.user, Action.SEND):
        title = f"{name} · {gettext('Send')}"
        found.append(SearchResult(title, gettext("Send a message"), reverse("send", args=[name]), "send"))
    return found


def _asked(title: str, extra: list[str], term: str, own: str) -> bool:
    return all(word in title.lower() for word in extra) if extra else term == own
