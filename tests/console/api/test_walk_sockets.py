"""Every socket with every role, and with none. One that is added has to be added here."""

from __future__ import annotations

from typing import Any

import pytest
from channels.routing import URLRouter

from console.access import ROLES
from console.live import sockets
from console.live.routing import live_sockets
from tests.console.conftest import Queue
from tests.console.test_sockets import opened, signed_in
from tests.support.waiting import PATIENCE_S

__all__ = ["signed_in"]  # a fixture

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]

NAME = r"[A-Za-z0-9_.\-]{0,99}"
SOCKETS = {
    "live/overview/": "/live/overview/",
    "live/workers/": "/live/workers/",
    rf"^live/topics/(?P<topic>[A-Za-z]{NAME}(?:@[A-Za-z0-9]{NAME})?)/$": "/live/topics/orders/",
}


def routes_of(application: Any) -> list[Any]:
    while not isinstance(application, URLRouter):
        application = getattr(application, "inner", None) or application.application
    return application.routes


def test_every_socket_is_walked_here() -> None:
    patterns = {str(route.pattern) for route in routes_of(live_sockets())}
    assert patterns - {""} == set(SOCKETS)


@pytest.mark.parametrize("path", sorted(SOCKETS.values()))
async def test_sockets_are_for_those_who_may_look(queue: Queue, signed_in: Any, path: str) -> None:
    queue.topic()
    async with opened(path) as socket:
        assert await socket.closed_with() == sockets.SIGNED_OUT
    _, cookie = await signed_in(None)
    async with opened(path, cookie) as socket:
        assert await socket.closed_with() == sockets.FORBIDDEN
    for role in ROLES:
        _, cookie = await signed_in(role)
        async with opened(path, cookie) as socket:
            await socket.say(text="nothing to say")
            assert await _still_open(socket), role


async def _still_open(socket: Any) -> bool:
    """Whatever comes within a moment is a frame, not a farewell."""
    while not await socket.receive_nothing(timeout=0.2):
        event = await socket.receive_output(timeout=PATIENCE_S)
        if event["type"] == "websocket.close":
            return False
    return True
