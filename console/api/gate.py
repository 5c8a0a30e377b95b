"""What every request under `/api/v1/` goes through, whatever route it is for.

`frame` is the outermost middleware: a request id, and every refusal in our form. `gate` comes after the session: it
finds out who calls and lets nobody else in, counts requests, and answers repeated ones. A route cannot forget it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from console.api import idempotency, limits
from console.api.callers import Caller, identify
from console.api.errors import ApiError, in_our_form, options_of, respond, too_large, unauthorized, without_body
from console.api.limits import Spent
from console.engine import async_engine, engine
from console.models import KeptAnswer
from rmq_core.errors import RMQError
from rmq_core.protocol.scripts import Operation

PREFIX = "/api/v1/"
OPEN = "/api/v1/health/"
DOCS = "/api/v1/docs"
REQUEST_ID = "X-Request-Id"
_CLOCK = re.compile(rb'^\{"at_ms": [0-9]+|"as_of_ms": [0-9]+')
"""When it was looked at: an answer that differs in nothing else is the same, which is what a weak tag says."""
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

Handler = Callable[[HttpRequest], Any]
"""Django's next one: of a coroutine function where that is what this is in, too."""


@sync_and_async_middleware
def frame(get_response: Handler) -> Handler:
    """Request ids, and refusals in one form."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            return _framed(request, await get_response(_named(request)))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        return _framed(request, get_response(_named(request)))

    return synchronous


def _named(request: HttpRequest) -> HttpRequest:
    if request.path_info.startswith(PREFIX):
        given = request.headers.get(REQUEST_ID, "")
        request.request_id = given if _ID.fullmatch(given) else uuid.uuid4().hex  # type: ignore[attr-defined]
        if request.method == "HEAD":  # wherever there is GET
            request.is_head, request.method = True, "GET"  # type: ignore[attr-defined]
    return request


def _framed(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if not request.path_info.startswith(PREFIX):
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
    known = {tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")}
    if known & {"*", response["ETag"]}:
        headers = {name: value for name, value in response.headers.items() if not name.startswith("Content-")}
        return HttpResponse(status=304, headers=headers)
    return response


@sync_and_async_middleware
def gate(get_response: Handler) -> Handler:
    """Who calls, how often, and whether this was answered before."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            if not _guarded(request):
                return await get_response(request)
            found = await sync_to_async(_enter)(request)
            if isinstance(found, HttpResponse):
                return found
            spent = await _spend_async(found)
            if refusal := _limited(request, spent):
                return refusal
            key = _key_of(request)
            if key is None:
                return await get_response(request)
            record = await sync_to_async(_begin)(request, found, key)
            if isinstance(record, HttpResponse):
                return record
            try:
                response = await get_response(request)
            except BaseException:  # also when the client went away
                await sync_to_async(idempotency.forget)(record)
                raise
            await sync_to_async(idempotency.finish)(record, response)
            return response

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        if not _guarded(request):
            return get_response(request)
        found = _enter(request)
        if isinstance(found, HttpResponse):
            return found
        spent = _spend(found)
        if refusal := _limited(request, spent):
            return refusal
        key = _key_of(request)
        if key is None:
            return get_response(request)
        record = _begin(request, found, key)
        if isinstance(record, HttpResponse):
            return record
        try:
            response = get_response(request)
        except BaseException:
            idempotency.forget(record)
            raise
        idempotency.finish(record, response)
        return response

    return synchronous


def _guarded(request: HttpRequest) -> bool:
    return request.path_info.startswith(PREFIX) and not request.path_info.startswith(OPEN)


def _enter(request: HttpRequest) -> Caller | HttpResponse:
    """Let somebody known in; what to answer others."""
    try:
        if _length(request) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise too_large()
        # Read now: whoever looks at forms first (the CSRF check does) would use the stream up.
        _ = request.body
        caller = identify(request)
    except ApiError as error:
        return respond(request, error)
    if caller is None:
        if request.path_info == DOCS and request.method == "GET":
            return redirect_to_login(request.get_full_path())
        return respond(request, unauthorized("unauthorized", "Send an API token: Authorization: Bearer …"))
    request.caller = caller  # type: ignore[attr-defined]
    # `identify` has looked at the session's token. Django would ask for one again at addresses that are not ninja's
    # (the description, the root), also of those who come with an API token: 403 where 405 or 404 is meant.
    request.csrf_processing_done = True  # type: ignore[attr-defined]
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
        return engine().client.run(_count(caller))
    except RMQError:
        return None  # without Redis the request itself will say what is wrong


async def _spend_async(caller: Caller) -> Spent | None:
    if not caller.rate_per_minute:
        return None
    try:
        return await async_engine().client.run(_count(caller))
    except RMQError:
        return None


def _count(caller: Caller) -> Operation[Spent]:
    return limits.spend(settings.RMQ_NAMESPACE, caller.key, caller.rate_per_minute)


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
    return request.headers.get(idempotency.HEADER) if request.method == "POST" else None


def _begin(request: HttpRequest, caller: Caller, key: str) -> KeptAnswer | HttpResponse:
    try:
        return idempotency.begin(caller.key, key, request)
    except ApiError as error:
        return respond(request, error)
