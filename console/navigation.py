"""What Unfold's layout asks of us: the sidebar, languages, the command palette, style and icon."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import Model
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils.translation import get_language_info, gettext
from unfold.dataclasses import SearchResult

from console.access import Action, Permission, allowed, in_scope
from console.engine import engine
from console.kept import SHARED, favourites_of, views_of
from console.topic_tabs import tabs_of
from rmq_core.errors import RMQError
from rmq_core.model.group import AT
from rmq_core.model.topic import Topic

RESULTS_MOST = 60
LANGUAGES = ("en", "zh-hans")


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The navigation; entries one may not open are left out."""
    overview = _entry(gettext("Overview"), "monitoring", "console:overview")
    groups = _entry(gettext("Groups"), "groups", "console:overview")
    groups["active"] = request.path == groups["link"] and request.GET.get("q") == AT
    overview["active"] = not groups["active"] and (request.path == overview["link"] or "/topics/" in request.path)
    groups["link"] += f"?q={AT}"
    return [
        {
            "title": gettext("Queue"),
            "items": [
                overview,
                groups,
                _page(request, gettext("Alerts"), "notifications", "alerts"),
                _page(request, gettext("Workers"), "memory", "workers"),
                _page(request, gettext("Routes"), "alt_route", "routes"),
                _page(request, gettext("Dead letters"), "skull", "dead"),
                _page(request, gettext("Operations"), "playlist_play", "operations"),
                _page(request, gettext("Reconciliation"), "fact_check", "reconciliation"),
                _page(request, gettext("Outbox"), "outbox", "outbox", may_view_all),
                _page(request, gettext("Recurring"), "event_repeat", "recurring"),
                _page(request, gettext("Screens"), "tv", "screens", may_view_all),
                *_of_demo(request),
            ],
        },
        {
            "title": gettext("Administration"),
            "separator": True,
            "items": [
                _page(request, gettext("Audit"), "history", "audit", may_audit),
                _entry(gettext("Topic definitions"), "tune", "console_admin:console_topicdefinition_changelist"),
                _entry(gettext("Alert rules"), "rule", "console_admin:console_alertrule_changelist"),
                _entry(
                    gettext("Alert receivers"),
                    "outgoing_mail",
                    "console_admin:console_alertreceiver_changelist",
                    may_define_receivers,
                ),
                _entry(gettext("API tokens"), "key", "console_admin:console_apitoken_changelist", may_manage_tokens),
                _entry(
                    gettext("Topics of roles"),
                    "rule_folder",
                    "console_admin:console_topicscope_changelist",
                    may_give_topics,
                ),
                _entry(gettext("Records"), "table_rows", "console_admin:records"),
                _entry(gettext("API documentation"), "api", "console-api:openapi-view"),
                *_admin_item(gettext("Users"), "person", get_user_model()),
                *_admin_item(gettext("Roles"), "group", Group),
            ],
        },
    ]


def may_view(request: HttpRequest) -> bool:
    return allowed(request.user, Permission.VIEW)


def may_view_all(request: HttpRequest) -> bool:
    """What is not of one topic."""
    return allowed(request.user, Permission.VIEW, "")


def may_audit(request: HttpRequest) -> bool:
    return allowed(request.user, Permission.AUDIT)


def may_define_receivers(request: HttpRequest) -> bool:
    return allowed(request.user, Action.ALERT_RECEIVER)


def may_manage_tokens(request: HttpRequest) -> bool:
    return allowed(request.user, Action.TOKENS)


def may_give_topics(request: HttpRequest) -> bool:
    return allowed(request.user, Action.TOPIC_SCOPE)


def _entry(title: str, icon: str, name: str, may: Callable[[HttpRequest], bool] = may_view) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse(name), "permission": may}


def _page(
    request: HttpRequest, title: str, icon: str, name: str, may: Callable[[HttpRequest], bool] = may_view
) -> dict[str, Any]:
    """One of the console's own pages, marked while that, or what is below it, is open."""
    entry = _entry(title, icon, f"console:{name}", may)
    return entry | {"active": request.path.startswith(entry["link"])}


def _of_demo(request: HttpRequest) -> list[dict[str, Any]]:
    """Where the demo is installed, its page."""
    with contextlib.suppress(NoReverseMatch):
        entry = _entry(gettext("Bookings (demo)"), "airplane_ticket", "demo:bookings")
        return [entry | {"active": request.path.startswith(entry["link"])}]
    return []


def _admin_item(title: str, icon: str, model: type[Model]) -> list[dict[str, Any]]:
    """Where the console's admin, or the project's, keeps them; nothing where neither does."""
    about = model._meta
    for site in ("console_admin", "admin"):
        with contextlib.suppress(NoReverseMatch):
            link = reverse(f"{site}:{about.app_label}_{about.model_name}_changelist")
            needed = f"{about.app_label}.view_{about.model_name}"
            return [{"title": title, "icon": icon, "link": link, "permission": _holds(needed)}]
    return []


def _holds(permission: str) -> Callable[[HttpRequest], bool]:
    return lambda request: request.user.has_perm(permission)


def account_links(request: HttpRequest) -> list[dict[str, Any]]:
    """What is in the menu of the account, beside theme, language and log out."""
    links = []
    if may_view(request):
        links.append({"title": gettext("Preferences"), "link": reverse("console:preferences")})
    if request.user.is_authenticated and request.user.has_usable_password():
        links.append({"title": gettext("Change password"), "link": reverse("console_admin:password_change")})
    return links


def languages(request: HttpRequest) -> list[dict[str, str]]:
    """Those that the console speaks and the project offers."""
    return [get_language_info(code) for code, _name in settings.LANGUAGES if code in LANGUAGES]


def language_action(request: HttpRequest) -> str:
    return reverse("console:set_language")


def stylesheet(request: HttpRequest) -> str:
    return static("console/css/console.css")


def texts_script(request: HttpRequest) -> str:
    return reverse("console:texts")


def layout_script(request: HttpRequest) -> str:
    return static("console/js/layout.js")


def release_script(request: HttpRequest) -> str:
    return static("console/js/release.js")


def admin_form_script(request: HttpRequest) -> str:
    return static("console/js/adminform.js")


def favicon(request: HttpRequest) -> str:
    return static("console/img/icon.svg")


def search(request: HttpRequest, term: str) -> list[SearchResult]:
    """Saved views, pages, and topics with what can be done there, favourites first: the palette's first part."""
    if not may_view(request):
        return []
    found = _views(request, term)
    found += [SearchResult(title, about, reverse(name), symbol)
             for title, about, name, symbol, may in _pages()
             if term in title.lower() and may(request)]  # fmt: skip
    try:
        topics = engine().inspector.topics()
        topics = [*topics, *(each for each in engine().inspector.queues() if each.is_group)]
    except RMQError:
        return found
    starred = set(favourites_of(request.user))
    for topic in sorted(topics, key=lambda each: (each.name not in starred, each.name)):
        if in_scope(request.user, topic.name) and all(
            word in f"{topic.name} {_words()}".lower() for word in term.split()
        ):
            found += _of_topic(request, topic, term)
    return found[:RESULTS_MOST]


def _pages() -> list[tuple[str, str, str, str, Callable[[HttpRequest], bool]]]:
    return [
        (gettext("Overview"), gettext("All topics"), "console:overview", "monitoring", may_view),
        (gettext("Workers"), gettext("Who works, who owns which slot"), "console:workers", "memory", may_view),
        (gettext("Routes"), gettext("What is forwarded from topic to topic"), "console:routes", "alt_route", may_view),
        (gettext("New topic"), gettext("Define a topic"), "console:define", "add_circle", _may(Action.CREATE_TOPIC)),
        (gettext("Topic definitions"), gettext("All topics, and who changed them last"),
         "console_admin:console_topicdefinition_changelist", "tune", may_view),
        (gettext("Dead letters"), gettext("What failed for good, in all topics"), "console:dead", "skull", may_view),
        (gettext("Operations"), gettext("Bulk actions and how far they are"), "console:operations", "playlist_play",
         may_view),
        (gettext("Reconciliation"), gettext("Did every message do what it should?"), "console:reconciliation",
         "fact_check", may_view),
        (gettext("Recurring"), gettext("Messages sent again and again"), "console:recurring", "event_repeat", may_view),
        (gettext("Outbox"), gettext("What was committed and is not sent yet"), "console:outbox", "outbox",
         may_view_all),
        (gettext("Alerts"), gettext("What fires, since when, who silenced it"), "console:alerts", "notifications",
         may_view),
        (gettext("Screens"), gettext("What hangs on a wall, and its links"), "console:screens", "tv", may_view_all),
        (gettext("Preferences"), gettext("Time zone, and how numbers are written"), "console:preferences", "settings",
         may_view),
        (gettext("Audit"), gettext("Who did what, and why"), "console:audit", "history", may_audit),
    ]  # fmt: skip


def _may(action: Action) -> Callable[[HttpRequest], bool]:
    return lambda request: allowed(request.user, action)


def _views(request: HttpRequest, term: str) -> list[SearchResult]:
    root = reverse("console:overview")
    return [
        SearchResult(
            view.name,
            gettext("Shared view") if view.owner == SHARED else gettext("Saved view"),
            root + view.address,
            "bookmark",
        )
        for view in views_of(request.user)
        if all(word in f"{view.name} {view.topic}".lower() for word in term.split())
    ]


def _tabs(topic: Topic | None = None) -> list[tuple[str, str, str]]:
    """The tabs of a topic's page; None: of any."""
    found = [
        ("messages", gettext("Messages"), "mail"),
        ("dead", gettext("Dead letters"), "skull"),
        ("groups", gettext("Groups"), "groups"),
        ("slots", gettext("Slots"), "grid_view"),
        ("trends", gettext("Trends"), "show_chart"),
        ("definition", gettext("Definition"), "tune"),
    ]
    return [each for each in found if topic is None or each[0] in tabs_of(topic)]


def _words() -> str:
    """Words that narrow a search for a topic down to a part of it."""
    return " ".join([*(title for _, title, _ in _tabs()), gettext("Send")])


def _of_topic(request: HttpRequest, topic: Topic, term: str) -> list[SearchResult]:
    """The topic itself, and its tabs where they are asked for ("orders dead") or the topic is named in full."""
    name, about = topic.name, gettext("Consumer group") if topic.is_group else gettext("Topic")
    own = name.lower()
    extra = [word for word in term.split() if word not in own]
    found = []
    if not extra:
        address = reverse("console:topic", args=[name])
        found.append(SearchResult(name, topic.description or about, address, "groups" if topic.is_group else "stacks"))
    for tab, title, symbol in _tabs(topic):
        if _asked(title, extra, term, own):
            address = reverse("console:topic-tab", args=[name, tab])
            found.append(SearchResult(f"{name} · {title}", about, address, symbol))
    if not topic.is_group and _asked(gettext("Send"), extra, term, own) and allowed(request.user, Action.SEND):
        title = f"{name} · {gettext('Send')}"
        found.append(SearchResult(title, gettext("Send a message"), reverse("console:send", args=[name]), "send"))
    return found


def _asked(title: str, extra: list[str], term: str, own: str) -> bool:
    return all(word in title.lower() for word in extra) if extra else term == own
