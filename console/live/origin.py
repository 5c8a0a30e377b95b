"""Which pages may open live sockets: those that may send forms, by the very same check of Django's.

A browser sends a page's cookies along with any socket, and asks nobody. So the origin is compared whole: scheme, host
and port, with those of the request, or with `CSRF_TRUSTED_ORIGINS`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any

from channels.security.websocket import WebsocketDenier
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

_SCHEMES = {"wss": "https", "ws": "http"}
Application = Callable[..., Awaitable[Any]]


class SameOrigin:
    """Refuses the handshake (403) of other pages, and of what says no origin."""

    _path_routing = True  # for Channels: `path("rmq/", …)` in a project's URLRouter means all that is below

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        if _allowed(scope):
            return await self.application(scope, receive, send)
        return await WebsocketDenier()(scope, receive, send)


def _allowed(scope: dict[str, Any]) -> bool:
    scheme = scope.get("scheme") or "ws"
    try:
        request = ASGIRequest({**scope, "method": "GET", "scheme": _SCHEMES.get(scheme, scheme)}, BytesIO())
    except UnicodeDecodeError:  # no browser writes such an address
        return False
    if "HTTP_ORIGIN" not in request.META:
        return False
    return bool(CsrfViewMiddleware(lambda _: HttpResponse())._origin_verified(request))  # type: ignore[attr-defined]
