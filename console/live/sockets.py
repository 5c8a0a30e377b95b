"""Live sockets: whoever connects gets the newest frame and the history at once, then every new frame.

Announcements carry only a sequence number, so a viewer slower than the sampler skips frames instead of queueing
them. Signing out, or losing the permission, ends a socket within `RECHECK_S`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from typing import Any

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError

from console.access import EVERY_TOPIC, covers
from console.engine import async_engine
from console.layer import layer_alias
from console.live.frames import frames
from console.live.viewers import viewers
from console.options import options
from console.snapshots import store
from console.snapshots.groups import FLEET, FLEET_GROUP, OVERVIEW, topic_group
from console.snapshots.scoped import scoped_text
from console.snapshots.store import LiveKeys
from rmq_core.errors import RMQError, UnknownTopic

log = logging.getLogger("console.live")

SIGNED_OUT, FORBIDDEN, TRY_LATER = 4401, 4403, 1013
RECHECK_S = 5.0
TOGETHER_S = 0.5
"""Those whose time comes within that look at once: they are asked for together."""
WATCH_EVERY_S = 4.0


class LiveConsumer(AsyncWebsocketConsumer, ABC):
    """One viewer. Subclasses say which group to listen to and what to send."""

    takes_changes = False
    """Whether who asks for it is sent what differs from the frame before."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the socket; without the layer's Redis it cannot even begin, and says so in order."""
        try:
            self.channel_layer_alias = layer_alias()
            await super().__call__(scope, receive, send)
        except Exception as error:
            if hasattr(self, "channel_name"):
                raise
            log.warning("a live socket could not be opened: %s: %s", type(error).__name__, error)
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": TRY_LATER})

    async def dispatch(self, message: dict[str, Any]) -> None:
        """As Channels does it, but for looking after database connections in a thread before each message: for five
        hundred viewers that cost more than a frame. Nothing here uses the database but calls that do so themselves."""
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            raise ValueError(f"no handler for {message['type']!r}")
        await handler(message)

    async def connect(self) -> None:
        self.keys = LiveKeys(options().namespace)
        self.payload = False
        self.topic: str | None = self.scope["url_route"]["kwargs"].get("topic")
        self.topics: tuple[str, ...] = ()
        # A page of an earlier release, or a program, asks for nothing and gets whole frames.
        self.changes = self.takes_changes and b"changes=1" in self.scope.get("query_string", b"").split(b"&")
        self._last = 0
        self._tasks: list[asyncio.Task[None]] = []
        # Accepted first: only then can the browser learn why it is refused.
        await self.accept()
        refusal = await self._refusal()
        if refusal:
            await self.close(refusal)
            return
        self.group = self.group_name()
        try:
            await self.channel_layer.group_add(self.group, self.channel_name)
            await self.greet()
        except Exception as error:  # the layer's Redis client and the engine raise different families
            log.warning("a live socket could not be opened: %s: %s", type(error).__name__, error)
            await self.close(TRY_LATER)
            return
        self._tasks.append(asyncio.create_task(self._recheck()))

    async def disconnect(self, code: int) -> None:
        for task in getattr(self, "_tasks", []):
            task.cancel()
        if hasattr(self, "group"):
            with contextlib.suppress(Exception):
                await self.channel_layer.group_discard(self.group, self.channel_name)

    async def send(self, *args: Any, **kwargs: Any) -> None:
        """Whoever has gone meanwhile (by ASGI an `OSError`) is told nothing; that they went is heard by itself."""
        with contextlib.suppress(OSError):
            await super().send(*args, **kwargs)

    async def close(self, *args: Any, **kwargs: Any) -> None:
        with contextlib.suppress(OSError):
            await super().close(*args, **kwargs)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Viewers have nothing to say here; actions are POST requests."""

    @abstractmethod
    def group_name(self) -> str:
        """The channel group whose announcements it hears."""

    @abstractmethod
    async def greet(self) -> None:
        """Send what a newcomer needs: the newest frame and the history."""

    @abstractmethod
    async def tick(self, event: dict[str, Any]) -> None:
        """Send what has been announced."""

    async def send_frame(self, key: str, seq: int) -> None:
        """Send the frame under a key unless it, or a newer one, was sent already; of all topics, with the viewer's."""
        if seq and seq <= self._last:
            return
        mine = self.topics
        topics = mine if self.topic is None else (EVERY_TOPIC,)
        try:
            if self.changes:
                found = await frames().following(key, seq, topics, self._last)
            else:
                found = await frames().newest(key, seq, topics)
        except RMQError:
            return  # the page shows by itself how old its data is
        if found and found[0] > self._last and self.topics == mine:
            self._last = found[0]
            await self.send(found[1])

    async def send_text(self, key: str, operation: Any) -> None:
        """Send what an operation reads under a key, if it is there."""
        text = await frames().text(key, operation)
        if text:
            await self.send(scoped_text(text, self.topics))

    async def _watch(self, name: str) -> None:
        client = async_engine().client
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            with contextlib.suppress(RMQError):
                await client.run(store.watch(client.keyspace, self.keys.watch, name))
                await self.watched()

    async def watched(self) -> None:
        """Called after each renewal of the watch."""

    async def _refusal(self) -> int | None:
        viewer = await viewers().of(self.scope["session"].session_key)
        if not viewer.signed_in:
            return SIGNED_OUT
        self.payload, self.topics = viewer.payload, viewer.topics
        mine = self.topic is None or covers(self.topics, self.topic)
        return None if viewer.may_view and mine else FORBIDDEN

    async def _recheck(self) -> None:
        """Whether the viewer may still look; where nothing was announced it looks for news: the layer may be gone."""
        while True:
            last, topics = self._last, self.topics
            await asyncio.sleep(_until_looking_again())
            try:
                refusal = await self._refusal()
            except DatabaseError as error:
                log.warning("whether a viewer may still look has to wait: %s (trying again)", error)
                continue
            if refusal:
                await self.close(refusal)
                return
            if self.topics != topics:
                self._last = 0  # what it has is of other topics: what changed since would not mend that
            if self._last in (0, last):
                await self.tick({"seq": 0})


def _until_looking_again() -> float:
    """At most `RECHECK_S`."""
    now = asyncio.get_running_loop().time()
    latest = now + RECHECK_S
    return max(RECHECK_S / 2, latest - latest % TOGETHER_S - now)


class OverviewConsumer(LiveConsumer):
    """All topics."""

    takes_changes = True

    def group_name(self) -> str:
        return OVERVIEW

    async def greet(self) -> None:
        await self.send_text(self.keys.sparks, store.read_sparks(self.keys.sparks))
        await self.send_frame(self.keys.overview, 0)

    async def tick(self, event: dict[str, Any]) -> None:
        await self.send_frame(self.keys.overview, event["seq"])


class TopicConsumer(LiveConsumer):
    """One topic, slot by slot; the keeper writes those frames only while somebody looks."""

    topic: str

    def group_name(self) -> str:
        return topic_group(self.topic)

    async def greet(self) -> None:
        client = async_engine().client
        await client.run(store.watch(client.keyspace, self.keys.watch, self.topic))
        history = await client.run(store.read_history(self.keys.history(self.topic)))
        await self.send('{"type":"history","points":' + history + "}")
        await self.send_frame(self.keys.topic(self.topic), 0)
        await self.details_tick({})
        await self.watched()
        self._tasks.append(asyncio.create_task(self._watch(self.topic)))

    async def watched(self) -> None:
        """Nothing is sampled of a topic that was deleted: the page would take Redis for away."""
        try:
            await async_engine().client.topic(self.topic)
        except UnknownTopic:
            await self.send('{"type":"gone"}')

    async def tick(self, event: dict[str, Any]) -> None:
        await self.send_frame(self.keys.topic(self.topic), event["seq"])

    async def details_tick(self, event: dict[str, Any]) -> None:
        """The prepare queue and the forecast; viewers without the permission get the masked one."""
        with contextlib.suppress(RMQError):
            found = await frames().newest(self.keys.details(self.topic, self.payload), 0)
            if found:
                await self.send(found[1])


class FleetConsumer(LiveConsumer):
    """The workers; the keeper writes that frame only while somebody looks."""

    def group_name(self) -> str:
        return FLEET_GROUP

    async def greet(self) -> None:
        client = async_engine().client
        await client.run(store.watch(client.keyspace, self.keys.watch, FLEET))
        await self.send_frame(self.keys.fleet, 0)
        self._tasks.append(asyncio.create_task(self._watch(FLEET)))

    async def tick(self, event: dict[str, Any]) -> None:
        await self.send_frame(self.keys.fleet, event["seq"])
