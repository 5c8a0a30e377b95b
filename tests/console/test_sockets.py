"""Live sockets: who gets in, what comes at once, what comes next, and who is put out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.test import Client

from console.config.serving import under_sub_path
from console.engine import async_engine
from console.layer import layer
from console.live import sockets, viewers
from console.live.routing import live_sockets
from console.options import options
from console.snapshots import store
from console.snapshots.groups import OVERVIEW, topic_group
from console.snapshots.store import LiveKeys
from tests.console.conftest import Queue
from tests.console.websocket import WebSocket
from tests.support.console_options import set_options
from tests.support.waiting import wait_until_async

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("roles_come_back"),
]


ORIGIN = (b"origin", b"http://testserver")


@pytest.fixture
def signed_in(person: Callable[..., User]) -> Callable[..., Awaitable[tuple[User, bytes]]]:
    """Makes somebody of a role; returns them and their cookie."""

    async def make(role: str | None = "Operator") -> tuple[User, bytes]:
        def work() -> tuple[User, bytes]:
            user = person(role)
            browser = Client()
            browser.force_login(user)
            return user, "; ".join(f"{name}={each.value}" for name, each in browser.cookies.items()).encode()

        return await sync_to_async(work)()

    return make


@asynccontextmanager
async def opened(path: str, cookie: bytes = b"", origin: tuple[bytes, bytes] = ORIGIN) -> AsyncIterator[Any]:
    application = under_sub_path(live_sockets(), "")
    socket = WebSocket(application, path, [origin, (b"cookie", cookie)])
    socket.connected = await socket.connect()
    yield socket
    await socket.disconnect()
    await layer().flush()
    await async_engine().client.close()


@pytest.mark.parametrize("path", ["/live/overview/", "/live/topics/orders/"])
async def test_nobody_gets_in_without_signing_in_or_permission(queue: Queue, signed_in: Any, path: str) -> None:
    async with opened(path) as socket:
        assert await socket.closed_with() == sockets.SIGNED_OUT
    _, cookie = await signed_in(None)
    async with opened(path, cookie) as socket:
        assert await socket.closed_with() == sockets.FORBIDDEN


async def test_a_page_of_another_site_cannot_connect(queue: Queue, signed_in: Any) -> None:
    _, cookie = await signed_in("Admin")
    others = (
        "https://evil.example",
        "http://testserver:8001",
        "https://testserver",
        "http://testserver.evil",
        "null",
        "",
    )
    for other in others:
        async with opened("/live/overview/", cookie, (b"origin", other.encode())) as socket:
            assert not socket.connected, other
    async with opened("/live/overview/", cookie, (b"x-origin", b"")) as socket:
        assert not socket.connected  # no browser is without one


async def test_an_origin_is_scheme_host_and_port(queue: Queue, signed_in: Any, settings: Any) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://console.example"]
    _, cookie = await signed_in("Viewer")
    asked = [
        ("ws", "testserver:8000", "http://testserver:8000", True),
        ("wss", "testserver", "https://testserver", True),
        ("wss", "testserver", "http://testserver", False),
        ("ws", "testserver:8000", "http://testserver", False),
        ("ws", "evil.example", "http://evil.example", False),  # a host that is not ours
        ("ws", "testserver", "https://console.example", True),  # behind a proxy that speaks TLS
        ("ws", "testserver", "http://console.example", False),
    ]
    for scheme, host, origin, fits in asked:
        headers = [(b"host", host.encode()), (b"origin", origin.encode()), (b"cookie", cookie)]
        socket = WebSocket(live_sockets(), "/live/overview/", headers, scheme)
        assert await socket.connect() == fits, (scheme, host, origin)
        await socket.disconnect()
    await layer().flush()
    await async_engine().client.close()


@pytest.mark.parametrize("path", ["/live/nothing/", "/live/topics/9bad/", "/live/topics/a b/"])
async def test_an_address_that_does_not_exist_is_refused(queue: Queue, signed_in: Any, path: str) -> None:
    _, cookie = await signed_in()
    async with opened(path, cookie) as socket:
        assert not socket.connected


async def test_the_newest_frame_comes_at_once_and_every_new_one_after_it(
    queue: Queue, signed_in: Any, settings: Any
) -> None:
    keys = LiveKeys(options().namespace)
    _, cookie = await signed_in("Viewer")
    queue.client.run(store.write_frames({keys.overview: '{"n":1}'}, 1))
    async with opened("/live/overview/", cookie) as socket:
        assert await socket.receive() == {"n": 1}
        queue.client.run(store.write_frames({keys.overview: '{"n":2}'}, 2))
        await layer().group_send(OVERVIEW, {"type": "tick", "seq": 2})
        assert await socket.receive() == {"n": 2}
        # The same announcement again brings nothing again.
        await layer().group_send(OVERVIEW, {"type": "tick", "seq": 2})
        assert await socket.receive_nothing(timeout=0.3)


async def test_what_nobody_announces_is_found_all_the_same(
    queue: Queue, signed_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The layer's server may be gone without a word, and its line with it."""
    monkeypatch.setattr(sockets, "RECHECK_S", 0.05)
    keys = LiveKeys(options().namespace)
    _, cookie = await signed_in("Viewer")
    queue.client.run(store.write_frames({keys.overview: '{"n":1}'}, 1))
    async with opened("/live/overview/", cookie) as socket:
        assert await socket.receive() == {"n": 1}
        queue.client.run(store.write_frames({keys.overview: '{"n":2}'}, 2))
        assert await socket.receive() == {"n": 2}
        assert await socket.receive_nothing(timeout=0.3)


@pytest.mark.parametrize("leaves", ["while it is greeted", "between two looks"])
async def test_whoever_leaves_while_something_is_sent_fails_nothing(
    queue: Queue, signed_in: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, leaves: str
) -> None:
    """Servers say so by an error, as ASGI asks them to."""
    monkeypatch.setattr(sockets, "RECHECK_S", 0.05)
    keys = LiveKeys(options().namespace)
    _, cookie = await signed_in("Viewer")
    failed: list[Exception] = []
    recheck = sockets.LiveConsumer._recheck

    async def noted(consumer: sockets.LiveConsumer) -> None:
        try:
            await recheck(consumer)
        except Exception as error:
            failed.append(error)

    monkeypatch.setattr(sockets.LiveConsumer, "_recheck", noted)
    gone, refused = leaves == "while it is greeted", 0
    inner = under_sub_path(live_sockets(), "")

    async def application(scope: Any, receive: Any, send: Any) -> None:
        async def sending(message: Any) -> None:
            nonlocal refused
            if gone and message["type"] == "websocket.send":
                refused += 1
                raise OSError("the client has gone")
            await send(message)

        await inner(scope, receive, sending)

    queue.client.run(store.write_frames({keys.overview: '{"n":1}'}, 1))
    socket = WebSocket(application, "/live/overview/", [ORIGIN, (b"cookie", cookie)])
    await socket.connect()
    if not gone:
        await socket.receive()
        gone = True
        queue.client.run(store.write_frames({keys.overview: '{"n":2}'}, 2))
    await wait_until_async(lambda: refused, what="something to be sent to nobody")
    await socket.disconnect()
    await layer().flush()
    await async_engine().client.close()
    assert not failed and not [each for each in caplog.records if each.name == "console.live"]


async def test_a_slow_viewer_skips_frames(queue: Queue, signed_in: Any, settings: Any) -> None:
    keys = LiveKeys(options().namespace)
    _, cookie = await signed_in()
    queue.client.run(store.write_frames({keys.overview: '{"n":9}'}, 9))
    async with opened("/live/overview/", cookie) as socket:
        assert await socket.receive() == {"n": 9}
        for seq in range(5, 10):
            await layer().group_send(OVERVIEW, {"type": "tick", "seq": seq})
        assert await socket.receive_nothing(timeout=0.3)


async def test_a_topic_brings_its_history_and_is_watched(queue: Queue, signed_in: Any, settings: Any) -> None:
    keys = LiveKeys(options().namespace)
    queue.topic()
    queue.client.run(store.append_history({keys.history("orders"): "[1,2]"}, 10, 0))
    _, cookie = await signed_in()
    async with opened("/live/topics/orders/", cookie) as socket:
        assert await socket.receive() == {"type": "history", "points": [[1, 2]]}
        now = queue.inspector.now_ms()
        assert queue.client.run(store.watched(keys.watch, now)) == {"orders"}
        queue.client.run(store.write_frames({keys.topic("orders"): '{"type":"topic"}'}, 5))
        await layer().group_send(topic_group("orders"), {"type": "tick", "seq": 5})
        assert await socket.receive() == {"type": "topic"}


async def test_who_watches_a_topic_hears_that_it_is_gone(
    queue: Queue, signed_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "WATCH_EVERY_S", 0.1)
    await sync_to_async(queue.topic)()
    _, cookie = await signed_in("Viewer")
    async with opened("/live/topics/orders/", cookie) as socket:
        assert (await socket.receive())["type"] == "history"
        assert await socket.receive_nothing(timeout=0.5)
        await sync_to_async(queue.control.delete_topic)("orders")
        assert await socket.receive() == {"type": "gone"}


@pytest.mark.parametrize(("role", "seen"), [("Viewer", "masked"), ("Payload reader", "whole")])
async def test_details_are_masked_by_role(queue: Queue, signed_in: Any, settings: Any, role: str, seen: str) -> None:
    keys = LiveKeys(options().namespace)
    frames = {
        keys.details("orders", payload=True): '{"seen":"whole"}',
        keys.details("orders", payload=False): '{"seen":"masked"}',
    }
    queue.client.run(store.write_frames(frames, 1))
    _, cookie = await signed_in(role)
    async with opened("/live/topics/orders/", cookie) as socket:
        await socket.receive()
        assert await socket.receive() == {"seen": seen}


@pytest.mark.parametrize("how", ["sign out", "lose the role", "be deactivated"])
async def test_who_may_no_longer_look_is_put_out(
    queue: Queue, signed_in: Any, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(sockets, "RECHECK_S", 0.1)
    user, cookie = await signed_in()

    def change() -> None:
        if how == "sign out":
            from django.contrib.sessions.models import Session

            Session.objects.all().delete()
        elif how == "lose the role":
            user.groups.clear()
        else:
            user.is_active = False
            user.save()

    async with opened("/live/overview/", cookie) as socket:
        assert socket.connected
        await sync_to_async(change)()
        assert await socket.closed_with() == (sockets.FORBIDDEN if how == "lose the role" else sockets.SIGNED_OUT)


async def test_viewers_who_want_to_know_at_once_are_asked_for_together(
    signed_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nobody is told what was found before they asked."""
    asked: list[list[str | None]] = []
    look_up = viewers._look_up

    def noted(keys: Iterable[str | None]) -> dict[str | None, viewers.Viewer]:
        asked.append(list(keys))
        return look_up(keys)

    monkeypatch.setattr(viewers, "_look_up", noted)
    users, keys = [], []
    for role in ("Viewer", "Payload reader", None):
        user, cookie = await signed_in(role)
        users.append(user)
        keys.append(cookie.decode().partition("rmq_session=")[2].partition(";")[0])
    some = viewers.Viewers()
    first = asyncio.create_task(some.of(keys[0]))
    await wait_until_async(lambda: asked, what="the first to be asked for")
    rest = await asyncio.gather(*(some.of(key) for key in [*keys, *keys, None]))
    assert (await first).may_view
    assert asked == [keys[:1], [*keys, None]]
    assert [each.signed_in for each in rest] == [True] * 6 + [False]
    assert [each.may_view for each in rest[:3]] == [True, True, False]
    assert [each.payload for each in rest[:3]] == [False, True, False]
    users[0].is_active = False
    await sync_to_async(users[0].save)()
    assert not (await some.of(keys[0])).signed_in


async def test_a_database_that_fails_for_a_moment_ends_no_socket_and_no_looking(
    queue: Queue, signed_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "RECHECK_S", 0.05)
    failed = []
    look_up = viewers._look_up

    def fails(keys: Iterable[str | None]) -> dict[str | None, viewers.Viewer]:
        failed.append(keys)
        raise DatabaseError("locked")

    user, cookie = await signed_in()
    queue.client.run(store.write_frames({LiveKeys(options().namespace).overview: '{"n":1}'}, 1))
    async with opened("/live/overview/", cookie) as socket:
        assert await socket.receive() == {"n": 1}
        monkeypatch.setattr(viewers, "_look_up", fails)
        await wait_until_async(lambda: len(failed) > 2, what="three looks that fail")
        assert await socket.receive_nothing(timeout=0.1)
        monkeypatch.setattr(viewers, "_look_up", look_up)
        await sync_to_async(user.groups.clear)()
        assert await socket.closed_with() == sockets.FORBIDDEN


async def test_a_viewer_has_nothing_to_say(queue: Queue, signed_in: Any) -> None:
    _, cookie = await signed_in()
    async with opened("/live/overview/", cookie) as socket:
        await socket.say(text=json.dumps({"type": "tick", "seq": 1}))
        await socket.say(bytes=b"\xff" * 10_000)
        assert await socket.receive_nothing(timeout=0.2)


async def test_when_redis_is_away_the_browser_is_asked_to_come_back(signed_in: Any, settings: Any) -> None:
    away = "redis://127.0.0.1:1/0"
    set_options(settings, REDIS_URL=away, CONSOLE_REDIS_URL=away)
    _, cookie = await signed_in()
    socket = WebSocket(live_sockets(), "/live/overview/", [ORIGIN, (b"cookie", cookie)])
    assert await socket.connect()
    assert await socket.closed_with() == sockets.TRY_LATER


async def test_under_a_sub_path_sockets_answer_with_and_without_it(queue: Queue, signed_in: Any, settings: Any) -> None:
    keys = LiveKeys(options().namespace)
    queue.client.run(store.write_frames({keys.overview: '{"n":1}'}, 1))
    _, cookie = await signed_in()
    application = under_sub_path(live_sockets(), "/tools/rmq")
    for path in ("/live/overview/", "/tools/rmq/live/overview/"):
        socket = WebSocket(application, path, [ORIGIN, (b"cookie", cookie)])
        assert await socket.connect()
        assert await socket.receive() == {"n": 1}
        await socket.disconnect()
    await layer().flush()
    await async_engine().client.close()
    await asyncio.sleep(0)
