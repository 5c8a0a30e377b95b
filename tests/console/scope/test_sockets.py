"""Every socket, opened by somebody for some topics."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.test import Client

from console.live import sockets
from console.models import TopicScope
from tests.console.api.test_walk_sockets import SOCKETS
from tests.console.conftest import Queue
from tests.console.scope.conftest import HIDDEN, MINE
from tests.console.test_sockets import opened
from tests.support.waiting import PATIENCE_S, wait_until_async

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]


@pytest.fixture
def cookie(scoped: User) -> bytes:
    browser = Client()
    browser.force_login(scoped)
    return "; ".join(f"{name}={each.value}" for name, each in browser.cookies.items()).encode()


async def told(socket: Any) -> list[Any]:
    """Everything that comes within a moment."""
    found = []
    while not await socket.receive_nothing(timeout=0.3):
        found.append(await socket.receive())
    return found


@pytest.mark.parametrize("path", sorted(SOCKETS.values()))
async def test_no_frame_names_what_is_hidden(worlds: Queue, cookie: bytes, path: str) -> None:
    async with opened(path, cookie) as socket:
        frames = await told(socket)
    assert frames and HIDDEN not in json.dumps(frames)
    if "topics" not in path:
        assert "orders" in json.dumps(frames)


async def test_the_socket_of_a_hidden_topic_is_refused(worlds: Queue, cookie: bytes) -> None:
    for name in (f"{HIDDEN}-orders", f"{HIDDEN}-events@mail"):
        async with opened(f"/live/topics/{name}/", cookie) as socket:
            assert await socket.closed_with() == sockets.FORBIDDEN


async def test_topics_that_are_taken_away_end_a_socket(
    worlds: Queue, cookie: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "RECHECK_S", 0.1)
    rows = TopicScope.objects.filter(group=await Group.objects.aget(name="Team orders"), patterns=MINE)
    async with opened("/live/topics/orders/", cookie) as socket:
        await told(socket)
        await sync_to_async(rows.update)(patterns="mail")

        async def ended() -> bool:
            event = await socket.receive_output(timeout=PATIENCE_S)
            return event["type"] == "websocket.close" and event["code"] == sockets.FORBIDDEN

        await wait_until_async(ended, what="the socket to be closed")
