"""What every page shares: sign-in, the view permission, Unfold's layout, the data for the browser."""

from __future__ import annotations

import contextlib
import difflib
import functools
from collections.abc import Callable
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.defaults import permission_denied

from console.access import Forbidden, Permission, allowed, grants, in_scope, require
from console.clock import now_ms
from console.engine import engine
from console.errors import BadRequest
from console.options import options
from console.preferences import as_chosen_by, as_json, preferences_of
from console.release import RELEASE
from console.site import sign_in_address, site
from console.templating import render
from rmq_core.errors import ConfigurationError, InvalidMessage, RMQError, UnknownTopic

View = Callable[..., HttpResponse]
LIKE_MOST = 5


def console_page(view: View) -> View:
    """A page to look at: GET only, signed in, allowed to view; a refusal names the missing permission."""

    @functools.wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), sign_in_address())
        try:
            require(request.user, Permission.VIEW, kwargs.get("topic"))
            with as_chosen_by(request.user):
                return view(request, *args, **kwargs)
        except Forbidden as error:
            return forbidden(request, error)
        except (BadRequest, UnknownTopic, InvalidMessage) as error:  # an old address, or one that somebody has changed
            name = kwargs.get("topic", "")
            title = _of_topic(name) or gettext("Not found")
            words, near = str(error), []
            if isinstance(error, UnknownTopic):
                words = gettext("There is nothing of this name: it was deleted, or the address is mistyped.")
                near = _like(request, name)
            return render_page(request, "console/missing.html", title, error=words, near=near, status=404)
        except RMQError as error:
            heading = (
                gettext("Redis cannot be used as it is")
                if isinstance(error, ConfigurationError)
                else gettext("Redis does not answer")
            )
            title = _of_topic(kwargs.get("topic", ""))
            return render_page(request, "console/away.html", title, heading=heading, error=str(error), status=503)

    return never_cache(require_safe(wrapped))


def _of_topic(name: str) -> str:
    """Not the name alone: the layout begins a title with a capital, and that would be another topic's name."""
    return gettext("Topic %(name)s") % {"name": name} if name else ""


def _like(request: HttpRequest, name: str) -> list[str]:
    """Topics whose names are nearly that, or begin or end like it; nothing while Redis is away."""
    with contextlib.suppress(RMQError):
        known = [each.name for each in engine().inspector.topics() if in_scope(request.user, each.name)]
        close = difflib.get_close_matches(name, known, n=LIKE_MOST, cutoff=0.7)
        word = name.lower()
        parts = [each for each in known if word in each.lower() or each.lower() in word]
        return list(dict.fromkeys([*close, *parts]))[:LIKE_MOST]
    return []


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What the admin refuses, in the console's layout."""
    if not request.user.is_authenticated:
        return permission_denied(request, exception)
    words = str(exception) or gettext("Your role does not allow this.")
    return render_page(request, "console/forbidden.html", gettext("You may not see this page"), error=words, status=403)


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form of a page that was opened before somebody signed in again, or of another site."""
    words = gettext("This page is older than your sign-in. Nothing was done: reload it and try again.")
    return render_page(request, "console/stale_form.html", gettext("Nothing was done"), error=words, status=403)


def _places(request: HttpRequest) -> dict[str, str]:
    """Addresses that keys lead to, of the pages one may open."""
    names = ["overview", "workers", "routes", "dead", "operations", "reconciliation", "recurring", "alerts"]
    if allowed(request.user, Permission.VIEW, ""):
        names += ["outbox", "screens"]
    if allowed(request.user, Permission.AUDIT):
        names.append("audit")
    return {name: reverse(f"console:{name}") for name in names}


def _now_ms() -> int | None:
    """Redis's clock; None where it does not answer."""
    try:
        return engine().inspector.now_ms()
    except RMQError:
        return None


def render_page(
    request: HttpRequest,
    template: str,
    title: str,
    *,
    data: dict[str, Any] | None = None,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """Render a template inside Unfold's layout; `data` reaches the page's modules as JSON."""
    shared = {
        "root": reverse("console:overview"),
        "api": reverse("console-api:api-root"),
        "places": _places(request),
        "csrf": get_token(request),
        "release": RELEASE,
        "icons": [static("console/img/icon.svg"), static("console/img/problem.svg")],
        "username": request.user.get_username(),
        "grants": grants(request.user).as_json(),
        "preferences": as_json(preferences_of(request.user)),
        "interval_ms": options().sample_interval_ms,
        "lag_warning_ms": options().lag_warning_ms,
        "trace_link": options().trace_link,
        # By this clock the page tells how old its first data is, and begins fields for times.
        "now_ms": _now_ms() if data and {"socket", "topic"} & data.keys() else now_ms(),
    }
    request.current_app = site.name  # the addresses in the layout are of this site
    return render(
        request,
        template,
        {
            **site.each_context(request),
            "title": title,
            "page_data": {**shared, **(data or {})},
            "is_fullwidth": "1",
            **context,
        },
        status,
    )
