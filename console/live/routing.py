"""Addresses of the live sockets, behind the origin check and the session."""

from __future__ import annotations

from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.urls import path, re_path

from console.converters import TopicName
from console.database import refuse_unknown_tables
from console.live.origin import SameOrigin
from console.live.sockets import FleetConsumer, OverviewConsumer, TopicConsumer


def websocket_application() -> SameOrigin:
    """For the "websocket" of a `ProtocolTypeRouter`, or for a `path` of a `URLRouter` where the pages have a prefix.

    Raises `SystemCheckError` where a newer release has changed the console's tables.
    """
    refuse_unknown_tables()
    return live_sockets()


def live_sockets() -> SameOrigin:
    """The routes, behind what they need."""
    routes = [
        path("live/overview/", OverviewConsumer.as_asgi()),
        path("live/workers/", FleetConsumer.as_asgi()),
        re_path(rf"^live/topics/(?P<topic>{TopicName.regex})/$", TopicConsumer.as_asgi()),
        re_path("", _nothing_here),  # type: ignore[arg-type]
    ]
    return SameOrigin(AuthMiddlewareStack(URLRouter(routes)))


async def _nothing_here(scope: Any, receive: Any, send: Any) -> None:
    """Refuse the handshake (403) without a stack trace in the log."""
    await send({"type": "websocket.close", "code": 4404})
