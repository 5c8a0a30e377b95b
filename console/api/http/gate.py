"""What every request for the API goes through, whatever route it is for.

`guarded` wraps the views of all routes, so that none can forget it and any project can include them. It gives the
request an id, finds out who calls and lets nobody else in, counts requests, answers repeated ones, and says every
refusal in our form.
"""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.urls import URLPattern

from console.api.http import idempotency, limits
from console.api.http.callers import Caller, identify
from console.api.http.errors import (
    ApiError,
    in_our_form,
    options_of,
    refused,
    respond,
    too_large,
    unauthorized,
    without_body,
)
from console.api.http.limits import Spent
from console.api.http.lives import check_life
from console.api.http.preconditions import knows
from console.engine import engine
from console.models import KeptAnswer
from console.options import options
from console.preferences import numbers_of, preferences_of
from console.site import sign_in_address
from rmq_core.errors import RMQError

OPEN = ("health/", "links/")
"""Routes that ask nobody who they are begin with one of these: links have a secret in the address."""
DOCS = "openapi-view"
REQUEST_ID = "X-Request-Id"
_CLOCK = re.compile(rb'^\{"at_ms": [0-9]+|"as_of_ms": [0-9]+')
"""When it was looked at: an answer that differs in nothing else is the same, which is what a weak tag says."""
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

Response = HttpResponse | Awaitable[HttpResponse]


def guarded(patterns: Iterable[Any]) -> list[URLPattern]:
    """The same addresses, behind the gate."""
    found = []
    for each in patterns:
        view = each.callback if str(each.pattern).startswith(OPEN) else _gated(each.callback, each.name == DOCS)
        each.callback = _framed(view)
        found.append(each)
    return found


def named(request: HttpRequest) -> None:
    """Give a request its id, and make HEAD a GET: it is wherever there is GET."""
    if hasattr(request, "request_id"):
        return
    given = request.headers.get(REQUEST_ID, "")
    request.request_id = given if _ID.fullmatch(given) else uuid.uuid4().hex  # type: ignore[attr-defined]
    if request.method == "HEAD":
        request.is_head, request.method = True, "GET"  # type: ignore[attr-defined]


def framed(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """The answer in our form, unless it is already."""
    if REQUEST_ID in response:
        return response
    if request.method == "OPTIONS" and response.status_code == 405:
        response = options_of(response)
    response = in_our_form(request, response)
    response[REQUEST_ID] = request.request_id  # type: ignore[attr-defined]
    response.headers.setdefault("Cache-Control", "no-store")
    for name, value in getattr(request, "rate_headers", {}).items():
        response[name] = value
    response = _unless_known(request, response)
    return without_body(response) if getattr(request, "is_head", False) else response


def _unless_known(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """An ETag for every answer to GET that has none of its own, and 304 for who has it already."""
    if request.method != "GET" or response.status_code != 200 or response.streaming or "ETag" in response:
        return response
    content = _CLOCK.sub(b"", response.content)
    response["ETag"] = f'W/"{blake2b(content, digest_size=12).hexdigest()}"'
    if knows(request.headers.get("If-None-Match", ""), response["ETag"]):
        headers = {name: value for name, value in response.headers.items() if not name.startswith("Content-")}
        return HttpResponseNotModified(headers=headers)  # of no type: whoever keeps the answer would take it over
    return response


def _framed(view: Callable[..., Response]) -> Callable[..., Response]:
    if iscoroutinefunction(view):

        @functools.wraps(view)
        async def asynchronous(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            named(request)
            return framed(request, await view(request, *args, **kwargs))

        wrapped: Callable[..., Response] = asynchronous
    else:

        @functools.wraps(view)
        def synchronous(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            named(request)
            return framed(request, view(request, *args, **kwargs))  # type: ignore[arg-type]

        wrapped = synchronous
    # `identify` looks at the session's token. Django would ask for one also of those who come with an API token.
    wrapped.csrf_exempt = True  # type: ignore[attr-defined]
    wrapped.login_required = False  # type: ignore[attr-defined]  # where a project asks all the world to sign in: the gate does it here
    return wrapped


def _gated(view: Callable[..., Response], is_page: bool) -> Callable[..., Response]:
    """Who calls, how often, and whether this was answered before."""
    if iscoroutinefunction(view):

        @functools.wraps(view)
        async def asynchronous(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            found = await sync_to_async(_admit)(request, is_page)
            if isinstance(found, HttpResponse):
                return found
            try:
                with _numbers(request):
                    refusal = await sync_to_async(_other_life)(request, kwargs)
                    response: HttpResponse = refusal or await view(request, *args, **kwargs)
            except BaseException:  # also when the client went away
                if found:
                    await sync_to_async(idempotency.forget)(found)
                raise
            if found:
                await sync_to_async(idempotency.finish)(found, response)
            return response

        return asynchronous

    @functools.wraps(view)
    def synchronous(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        found = _admit(request, is_page)
        if isinstance(found, HttpResponse):
            return found
        try:
            with _numbers(request):
                response: Any = _other_life(request, kwargs) or view(request, *args, **kwargs)
        except BaseException:
            if found:
                idempotency.forget(found)
            raise
        if found:
            idempotency.finish(found, response)
        return response

    return synchronous


def _admit(request: HttpRequest, is_page: bool) -> KeptAnswer | HttpResponse | None:
    """A refusal or an earlier answer, or else what keeps this one for those who repeat the request."""
    try:
        caller = _enter(request, is_page)
        if isinstance(caller, HttpResponse):
            return caller
        if refusal := _limited(request, _spend(caller)):
            return refusal
        if caller.person:
            request.preferences = preferences_of(caller.user)  # type: ignore[attr-defined]
        key = _key_of(request)
        return None if key is None else _begin(request, caller, key)
    except (OperationalError, InterfaceError) as error:
        return refused(request, error)


def _other_life(request: HttpRequest, route: Mapping[str, Any]) -> HttpResponse | None:
    """The refusal where what it is about has gone. After the answer that is kept, for that of a deletion is one."""
    try:
        check_life(request, route)
    except ApiError as error:
        return respond(request, error)
    return None


def _numbers(request: HttpRequest) -> AbstractContextManager[None]:
    """What is said to people has their numbers; programs are told what they always were."""
    preferences = getattr(request, "preferences", None)
    return numbers_of(preferences) if preferences else nullcontext()


def _enter(request: HttpRequest, is_page: bool) -> Caller | HttpResponse:
    """Let somebody known in; what to answer others."""
    try:
        if _length(request) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise too_large()
        # Read now: the check of the session's token looks at forms, which would use the stream up.
        _ = request.body
        caller = identify(request)
    except RequestDataTooBig:
        return respond(request, too_large())
    except ApiError as error:
        return respond(request, error)
    if caller is None:
        if is_page and request.method == "GET":
            return redirect_to_login(request.get_full_path(), sign_in_address())
        return respond(request, unauthorized("unauthorized", "Send an API token: Authorization: Bearer …"))
    request.caller = caller  # type: ignore[attr-defined]
    return caller


def _length(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def _spend(caller: Caller) -> Spent | None:
    if not caller.rate_per_minute:
        return None
    try:
        return engine().client.run(limits.spend(options().namespace, caller.key, caller.rate_per_minute))
    except RMQError:
        return None  # without Redis the request itself will say what is wrong


def _limited(request: HttpRequest, spent: Spent | None) -> HttpResponse | None:
    """Notes for the answer where the caller stands; the refusal of one too many."""
    if spent is None:
        return None
    request.rate_headers = spent.headers()  # type: ignore[attr-defined]
    if not spent.wait_s:
        return None
    words, headers = f"This token's limit is reached; wait {spent.wait_s} s.", {"Retry-After": str(spent.wait_s)}
    return respond(request, ApiError(429, "too_many_requests", words, headers=headers))


def _key_of(request: HttpRequest) -> str | None:
    return request.headers.get(idempotency.HEADER) if request.method in idempotency.METHODS else None


def _begin(request: HttpRequest, caller: Caller, key: str) -> KeptAnswer | HttpResponse:
    try:
        return idempotency.begin(caller.key, caller.user, key, request)
    except ApiError as error:
        return respond(request, error)
