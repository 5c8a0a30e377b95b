"""The shared subscription, against a server that answers when the test says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from redis.exceptions import ResponseError

from rmq_core import AsyncRMQ
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.transport import notifications
from rmq_core.transport.notifications import Wakeups
from rmq_core.transport.retry import lost
from tests.support.waiting import wait_until_async


class SlowPubSub:
    """Takes note of every SUBSCRIBE at once, and answers it when ``answer`` is set."""

    def __init__(self) -> None:
        self.channels: list[str] = []
        self.answer = asyncio.Event()
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def subscribe(self, *channels: str) -> None:
        self.channels += channels
        await self.answer.wait()

    async def get_message(self, timeout: float) -> dict[str, Any]:
        return await self.messages.get()

    async def aclose(self) -> None: ...


class Connection:
    """What `Wakeups` needs of one."""

    def __init__(self) -> None:
        self.opened = SlowPubSub()

    async def pubsub(self) -> SlowPubSub:
        return self.opened


async def test_a_channel_added_while_the_first_is_being_subscribed_is_heard_too() -> None:
    connection = Connection()
    pubsub = connection.opened
    wakeups = Wakeups(connection)  # type: ignore[arg-type]
    heard: list[bytes | None] = []
    await wakeups.add("first", heard.append)
    await wait_until_async(lambda: pubsub.channels, what="the subscription to begin")
    await wakeups.add("second", heard.append)
    pubsub.answer.set()
    await wait_until_async(lambda: sorted(pubsub.channels) == ["first", "second"], what="both to be subscribed")
    heard.clear()
    pubsub.messages.put_nowait({"type": "message", "channel": b"second", "data": b"7"})
    await wait_until_async(lambda: b"7" in heard, what="the notification")
    await wakeups.stop()


async def test_everybody_looks_once_after_a_subscription_came_back() -> None:
    connection = Connection()
    wakeups = Wakeups(connection)  # type: ignore[arg-type]
    heard: list[bytes | None] = []
    await wakeups.add("channel", heard.append)
    assert heard == [None]
    connection.opened.answer.set()
    await wait_until_async(lambda: heard == [None, None], what="the look after subscribing")
    wakeups.remove("channel", heard.append)
    await wakeups.stop()


class BusyPubSub(SlowPubSub):
    """Takes every SUBSCRIBE, and refuses it afterwards."""

    async def subscribe(self, *channels: str) -> None:
        self.channels += channels

    async def get_message(self, timeout: float) -> dict[str, Any]:
        raise ResponseError("BUSY Redis is busy running a script.")


async def test_a_server_that_refuses_for_long_is_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "RECONNECT_S", 0.001)
    connection = Connection()
    connection.opened = BusyPubSub()
    wakeups = Wakeups(connection)  # type: ignore[arg-type]
    await wakeups.add("channel", lambda _: None)
    await wait_until_async(lambda: len(connection.opened.channels) > 5, what="several tries")
    await wakeups.stop()
    assert [record.message.split(" (")[0] for record in caplog.records] == ["lost the wake-up subscription"]


def test_a_server_that_answers_but_does_nothing_is_not_called_away() -> None:
    for code, sentence in (("BUSY", "SCRIPT KILL"), ("NOREPLICAS", "min-replicas-to-write")):
        said = str(lost(ResponseError(f"{code} something")))
        assert sentence in said and code in said and "did not answer" not in said


async def test_a_subscription_may_be_what_a_client_of_a_cluster_does_first(
    redis_cluster: EmbeddedCluster, namespace: str
) -> None:
    heard: list[bytes | None] = []
    channel = f"{namespace}:wake:work"
    async with AsyncRMQ(redis_cluster.url, namespace) as client:
        await client.wakeups.add(channel, heard.append)
        await wait_until_async(lambda: len(heard) > 1, what="the subscription")  # once at first, once when it stands
        with redis_cluster.client() as other:
            other.execute_command("PUBLISH", channel, "7")
        await wait_until_async(lambda: b"7" in heard, what="the notification")
