"""Response headers that keep hostile content from running in a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

# Unfold needs two concessions: Alpine evaluates its attributes ('unsafe-eval'), and the theme's colours and
# element styles are inline. Inline scripts and foreign origins stay forbidden, so injected markup cannot run.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

Handler = Callable[[HttpRequest], Any]


@sync_and_async_middleware
def content_security_policy(get_response: Handler) -> Handler:
    """Add the policy to every answer."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            return _add(await get_response(request))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        return _add(get_response(request))

    return synchronous


def _add(response: HttpResponse) -> HttpResponse:
    response.headers.setdefault("Content-Security-Policy", POLICY)
    return response
