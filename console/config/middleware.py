"""What every answer of the project has, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from console.api.http import gate
from console.policy import protect

API = "/api/v1/"

Handler = Callable[[HttpRequest], Any]
"""What comes next: synchronous, or not."""


@sync_and_async_middleware
def content_security_policy(get_response: Handler) -> Handler:
    """See `console.policy`."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            response: HttpResponse = await get_response(request)
            protect(response)
            return response

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        response: HttpResponse = get_response(request)
        protect(response)
        return response

    return synchronous


@sync_and_async_middleware
def refusals_of_the_api(get_response: Handler) -> Handler:
    """What Django refuses before the API is asked (a host that is not ours, …) says the same as the API's own."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            if request.path_info.startswith(API):
                gate.named(request)
                return gate.framed(request, await get_response(request))
            response: HttpResponse = await get_response(request)
            return response

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(API):
            gate.named(request)
            return gate.framed(request, get_response(request))
        response: HttpResponse = get_response(request)
        return response

    return synchronous
