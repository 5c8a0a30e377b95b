"""What pages fetch: JSON answers, and errors as `{code, message}` in words for people."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import requires_csrf_token
from django.views.decorators.http import require_POST, require_safe

from console.access import Forbidden, Permission, missing, require
from console.errors import BadRequest
from console.json_input import NotJson, read_json
from console.usecases.actor import Actor
from rmq_core.errors import (
    BacklogFull,
    ConfigurationError,
    ConnectionLost,
    InvalidFilter,
    MessageError,
    RMQError,
    TopicError,
    UnknownTopic,
    UnreadableTopic,
    VersionConflict,
)
from rmq_core.model.text import NotText, check_text, check_unicode

log = logging.getLogger("console.pages")
View = Callable[..., Any]
_WHOLE = re.compile(r"-?[0-9]{1,20}")

STATUS: dict[type[RMQError], int] = {
    BacklogFull: 429,
    InvalidFilter: 422,
    UnknownTopic: 404,
    UnreadableTopic: 409,
    VersionConflict: 409,
    TopicError: 422,
    MessageError: 422,
    ConnectionLost: 503,
    ConfigurationError: 503,
}


def data_view(view: View) -> View:
    """A GET that returns a JSON-able value or a response of its own; signed in and allowed to view."""
    return never_cache(require_safe(_guarded(view)))


def action_view(view: View) -> View:
    """A POST with a JSON body that changes something; Django's middleware checks the CSRF token."""
    return never_cache(require_POST(requires_csrf_token(_guarded(view))))


def error_response(status: int, code: str, message: str) -> JsonResponse:
    return JsonResponse({"code": code, "message": message}, status=status)


def _guarded(view: View) -> View:
    @functools.wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return error_response(401, "signed_out", gettext("You are signed out; sign in again."))
        try:
            require(request.user, Permission.VIEW)
            found = view(request, *args, **kwargs)
        except Forbidden as error:
            return error_response(403, "forbidden", missing(error.permission))
        except BadRequest as error:
            return error_response(422, "bad_request", str(error))
        except RMQError as error:
            status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
            if status == 500:
                log.exception("%s %s", request.method, request.path)
            return error_response(status, type(error).__name__, _words(error))
        return found if isinstance(found, HttpResponseBase) else JsonResponse(found)

    return wrapped


def _words(error: RMQError) -> str:
    """For people; the engine's own sentence about a missing topic tells programmers how to define one."""
    return gettext("This topic was deleted.") if isinstance(error, UnknownTopic) else str(error)


def who_of(request: HttpRequest) -> Actor:
    """Who asks, and from where."""
    return Actor(request.user, request.META.get("REMOTE_ADDR") or None)


def body_of(request: HttpRequest) -> dict[str, Any]:
    """The JSON object of a POST. Raises `BadRequest`."""
    try:
        found = read_json(request.body or b"{}")
    except NotJson as error:
        words = gettext("The request is not JSON.")
        raise BadRequest(f"{words} {error.field}: {error}" if error.field else words) from None
    if not isinstance(found, dict):
        raise BadRequest(gettext("The request must be a JSON object."))
    return found


def whole(values: Mapping[str, Any], name: str, default: int | None, low: int, high: int) -> int | None:
    """A whole number out of query or body, within bounds. Raises `BadRequest`."""
    value = values.get(name)
    if value in (None, ""):
        return default
    if isinstance(value, str):  # out of an address, or of JavaScript, which loses digits of large numbers
        value = int(value) if _WHOLE.fullmatch(value) else None
    number = value if type(value) is int else None
    if number is None or not low <= number <= high:
        raise BadRequest(
            gettext("%(name)s must be a whole number from %(low)d to %(high)d.")
            % {"name": name, "low": low, "high": high}
        )
    return number


def text(values: Mapping[str, Any], name: str, most: int = 1000) -> str:
    """A text out of query or body; "" where it is not given. Raises `BadRequest`."""
    value = values.get(name)
    if value is None:
        return ""
    try:
        return check_text(value, most)
    except NotText:
        raise BadRequest(
            gettext("%(name)s must be text of at most %(most)d characters.") % {"name": name, "most": most}
        ) from None


def raw_text(values: Mapping[str, Any], name: str, most: int = 1000) -> str:
    """What belongs to an application: an id, a content, what to look for in them. Raises `BadRequest`."""
    value = values.get(name)
    if value is None:
        return ""
    try:
        if len(check_unicode(value)) <= most:
            return value
    except NotText:
        pass
    raise BadRequest(gettext("%(name)s must be text of at most %(most)d characters.") % {"name": name, "most": most})


def flag(values: Mapping[str, Any], name: str) -> bool:
    """True or false out of a body; false where it is not given. Raises `BadRequest`."""
    value = values.get(name, False)
    if not isinstance(value, bool):
        raise BadRequest(gettext("%(name)s must be true or false.") % {"name": name})
    return value


def choice(values: Mapping[str, Any], name: str, options: tuple[str, ...]) -> str:
    """One of some words; the first by default. Raises `BadRequest`."""
    value = text(values, name) or options[0]
    if value not in options:
        raise BadRequest(
            gettext("%(name)s must be one of %(options)s.") % {"name": name, "options": ", ".join(options)}
        )
    return value
