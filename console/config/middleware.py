"""Response headers for every answer of the project, whoever wrote it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from console.policy import protect

Handler = Callable[[HttpRequest], HttpResponse] | Callable[[HttpRequest], Awaitable[HttpResponse]]


@sync_and_async_middleware
def content_security_policy(get_response: Handler) -> Handler:
    """See `console.policy`."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            response = await get_response(request)
            protect(response)
            return response

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        protect(response)
        return response

    return synchronous
