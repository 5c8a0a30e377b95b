"""Every refusal of the API in one form: `{code, message, request_id, fields: [{field, problem}]}`, and beside that the
members of RFC 9457 (`application/problem+json`) for programs that know those."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from console.access import Forbidden, OutOfScope
from console.api.http.unions import Wrong, together
from console.errors import (
    BadRequest,
    ChangedMeanwhile,
    InvalidField,
    LossOver,
    NameTaken,
    NotConfirmed,
    ScheduleMoved,
    UnknownAlert,
    UnknownMessage,
    UnknownRecurring,
    UnknownSchedule,
    UnknownScreen,
    UnknownView,
    UnknownWorker,
    ViewExists,
    say_why,
)
from rmq_core import errors
from rmq_core.errors import RMQError

log = logging.getLogger("console.api")

Fields = Iterable[tuple[str, str]]
NO_REASON = "no_reason"
"""The type of what a body's check says of a reason that is none."""
PROBLEM = "application/problem+json"
MOVED = (ChangedMeanwhile, ScheduleMoved, errors.VersionConflict)
"""Somebody else was faster."""
RETRY_SOON_S = 1
DATABASE_AWAY = "The console's database does not take this just now; the server's log says why."

_ENGINE: dict[type[RMQError], int] = {
    errors.UnknownTopic: 404,
    errors.ContentTooLarge: 413,
    errors.TopicConflict: 409,
    errors.OrderMoved: 409,
    errors.UnreadableTopic: 409,
    errors.VersionConflict: 409,
    errors.TopicNotEmpty: 409,
    errors.OwnershipError: 409,
    errors.TopicError: 422,
    errors.UnknownRoute: 404,
    errors.RouteConflict: 409,
    errors.RouteNotEmpty: 409,
    errors.TargetRefuses: 409,
    errors.RouteError: 422,
    errors.MessageError: 422,
    errors.ConnectionLost: 503,
    errors.ServerFull: 503,
    errors.ConfigurationError: 503,
}


class ApiError(Exception):
    """A refusal with its status, a word for programs and a sentence for people."""

    def __init__(
        self, status: int, code: str, message: str, fields: Fields = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.fields = tuple(fields)
        self.headers = dict(headers or {})


def invalid(field: str, problem: str) -> ApiError:
    """One field of the request is wrong."""
    return ApiError(422, "invalid", f"{field}: {problem}" if field else problem, [(field, problem)])


def no_reason() -> ApiError:
    """It has to be said why; for whoever reads it in a dialog, too."""
    return ApiError(422, "invalid", say_why(), [("reason", say_why())])


def unauthorized(code: str, message: str) -> ApiError:
    return ApiError(401, code, message, headers={"WWW-Authenticate": 'Bearer realm="RMQ Console"'})


def from_engine(error: RMQError) -> ApiError:
    """What an error of the engine is for a caller."""
    status = next((_ENGINE[kind] for kind in type(error).__mro__ if kind in _ENGINE), 500)
    headers = {}
    wait_ms = getattr(error, "retry_after_ms", None)
    if wait_ms is not None:  # the producer is asked to wait: BacklogFull
        status = 429
        headers["Retry-After"] = str(max(1, -(-wait_ms // 1000)))
    elif status == 503:
        headers["Retry-After"] = str(RETRY_SOON_S)
    fields = _fields_of(error)
    if fields:
        return ApiError(422, "invalid", str(error), fields)
    return ApiError(status, word_for(type(error)), str(error), (), headers)


def _fields_of(error: RMQError) -> list[tuple[str, str]]:
    """Some errors say which fields they are about, one or several."""
    problems = getattr(error, "problems", None)
    if isinstance(problems, Mapping):
        return [(str(field), str(problem)) for field, problem in problems.items()]
    field = getattr(error, "field", None)
    return [(field, str(getattr(error, "problem", error)))] if isinstance(field, str) else []


def word_for(kind: type[Exception]) -> str:
    """`UnknownTopic` → `unknown_topic`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def respond(request: HttpRequest, error: ApiError) -> HttpResponse:
    """The answer that says it."""
    response = JsonResponse(
        body_of(error, getattr(request, "request_id", ""), request.path), status=error.status, content_type=PROBLEM
    )
    for name, value in error.headers.items():
        response[name] = value
    return response


def body_of(error: ApiError, request_id: str, path: str) -> dict[str, Any]:
    return {
        "type": f"urn:rmq-console:{error.code}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": error.status,
        "detail": error.message,
        "instance": path,
        "code": error.code,
        "message": error.message,
        "request_id": request_id,
        "fields": [{"field": field, "problem": problem} for field, problem in error.fields],
    }


def in_our_form(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Refusals that Django or a library wrote (404 of unknown addresses, 405, …) say the same as ours."""
    if response.status_code < 400 or response.get("Content-Type", "").startswith(PROBLEM):
        return response
    if getattr(request, "own_form", False):  # a look at the health is no refusal
        return response
    status = response.status_code
    word, message = _PLAIN.get(status, (None, None))
    if word is None or message is None:
        phrase = HTTPStatus(status).phrase if status in list(HTTPStatus) else "Refused"
        word, message = phrase.lower().replace(" ", "_"), f"{phrase}."
    if status == 405:
        response["Allow"] = _allowed(response)
        message = f"{request.method} is not possible here; allowed: {response['Allow']}."
    ours = respond(request, ApiError(status, word, message))
    for name in ("Allow", "Retry-After", "WWW-Authenticate"):
        if name in response:
            ours[name] = response[name]
    return ours


def without_body(response: HttpResponseBase) -> HttpResponse:
    """The answer to HEAD: that of GET, headers only."""
    bare = HttpResponse(status=response.status_code)
    bare.headers = response.headers
    bare.cookies = response.cookies
    if isinstance(response, HttpResponse):
        bare.headers.setdefault("Content-Length", str(len(response.content)))
    response.close()
    return bare


def options_of(response: HttpResponseBase) -> HttpResponse:
    """The answer to OPTIONS, out of the refusal of it."""
    return HttpResponse(status=204, headers={"Allow": _allowed(response)})


def _allowed(response: HttpResponseBase) -> str:
    methods = {each.strip() for each in response.get("Allow", "").split(",")} - {""}
    if "GET" in methods:
        methods.add("HEAD")
    return ", ".join(sorted(methods | {"OPTIONS"}))


_PLAIN = {
    400: ("bad_request", "The request is malformed."),
    403: ("forbidden", "This is refused."),
    404: ("not_found", "There is nothing at this address; see /api/v1/docs for what there is."),
    405: ("method_not_allowed", ""),
    500: ("internal", "Something failed here; the server's log has the details under this request_id."),
}


def translate(error: Exception) -> ApiError:
    """Any exception of a view as a refusal; what nobody expected is an `internal` error."""
    match error:
        case ApiError():
            return error
        case OutOfScope():
            return ApiError(403, "out_of_scope", str(error))
        case Forbidden():
            return ApiError(403, "forbidden", str(error))
        case UnknownWorker():
            return ApiError(404, "unknown_worker", str(error))
        case UnknownMessage():
            return ApiError(404, "unknown_message", str(error))
        case UnknownRecurring():
            return ApiError(404, "unknown_recurring", str(error))
        case UnknownAlert():
            return ApiError(404, "unknown_alert", str(error))
        case UnknownScreen():
            return ApiError(404, "unknown_screen", str(error))
        case UnknownSchedule():
            return ApiError(404, "unknown_schedule", str(error))
        case ScheduleMoved():
            return ApiError(409, "schedule_moved", str(error))
        case ChangedMeanwhile():
            return ApiError(409, "changed_meanwhile", str(error))
        case LossOver():
            return ApiError(409, "loss_over", str(error))
        case UnknownView():
            return ApiError(404, "unknown_view", str(error))
        case ViewExists():
            return ApiError(409, "view_exists", str(error))
        case InvalidField():
            return invalid(error.field, str(error))
        case NameTaken():
            return ApiError(409, error.code, str(error))
        case NotConfirmed():
            return ApiError(422, "bad_request", str(error), [("confirm", str(error))])
        case BadRequest():
            return ApiError(422, "bad_request", str(error))
        case RMQError():
            return from_engine(error)
        case ValidationError():
            return _validation(error)
        case OperationalError() | InterfaceError():  # full, locked, gone; its own words may name hosts and folders
            headers = {"Retry-After": str(RETRY_SOON_S)}
            return ApiError(503, "database_unavailable", DATABASE_AWAY, headers=headers)
        case RequestDataTooBig():
            return too_large()
        case Http404():
            return ApiError(404, *_PLAIN[404])
        case HttpError(__cause__=ApiError() as cause):  # ninja wraps what the parser says
            return cause
        case HttpError(status_code=400):
            return ApiError(422, "invalid", "The body is not JSON.", [("body", "not JSON")])
        case HttpError():
            return ApiError(error.status_code, "refused", str(error))
    return ApiError(500, *_PLAIN[500])


def too_large() -> ApiError:
    return ApiError(413, "body_too_large", "The request is too large; send fewer messages at once.")


def _validation(error: ValidationError) -> ApiError:
    if [each["type"] for each in error.errors] == [NO_REASON]:
        return no_reason()
    fields = []
    for path, kind, words in together(Wrong(tuple(each["loc"]), each["type"], each["msg"]) for each in error.errors):
        source, *inner = path
        if source == "body" and inner[:1] == ["body"]:
            inner = inner[1:]
        name = ".".join(str(part) for part in inner) or str(source)
        if kind == NO_REASON:
            fields.append(("reason", say_why()))
        else:
            fields.append((name, str(words).removeprefix("Value error, ")))
    words = "; ".join(f"{field}: {problem}" for field, problem in fields[:3])
    more = len(fields) - 3
    return ApiError(422, "invalid", words + (f"; and {more} more" if more > 0 else ""), fields[:50])


def install(api: NinjaAPI) -> None:
    """Every exception of every view goes through `translate`."""

    for kind in (Exception, Http404, HttpError, ValidationError):
        api.add_exception_handler(kind, refused)  # type: ignore[arg-type]


def names_version(if_match: str) -> bool:
    """Whether that asks for a version, and not only that there is one."""
    return if_match.strip() not in ("", "*")


def refused(request: HttpRequest, error: Exception) -> HttpResponse:
    """The answer to an exception; what callers are not told is in the log."""
    found = translate(error)
    if isinstance(error, MOVED) and names_version(request.headers.get("If-Match", "")):
        found.status = 412  # that version was there when we looked, and is no more
    if found.status == 500 or found.code == "database_unavailable":
        log.error("%s %s: request %s", request.method, request.path, _id(request), exc_info=error)
    return respond(request, found)


def _id(request: HttpRequest) -> str:
    return getattr(request, "request_id", "?")


def as_bytes(error: ApiError, request_id: str, path: str) -> bytes:
    """The body of a refusal before there is a request object."""
    return json.dumps(body_of(error, request_id, path)).encode()
