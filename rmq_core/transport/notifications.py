"""Hears the wake channels for everyone in this event loop who sleeps until a message is due.

A notification is only a hint: after every (re)subscription each listener is asked to look once, and whoever sleeps
looks by itself every `FALLBACK_S`, so a lost one costs at most that.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, TypeAlias

from redis.exceptions import RedisError

from rmq_core.errors import RMQError
from rmq_core.transport.aio import AsyncConnection
from rmq_core.transport.tasks import end

log = logging.getLogger(__name__)

FALLBACK_S = 1.0
RECONNECT_S = 0.5
POLL_S = 5.0

Callback: TypeAlias = Callable[[bytes | None], None]
"""Called with a notification's payload, or None: anything may have happened."""


class Wakeups:
    """One subscription shared by any number of listeners; ``start`` and ``stop`` belong to its owner."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._callbacks: dict[str, set[Callback]] = {}
        self._pubsub: Any = None
        self._task: asyncio.Task[None] | None = None
        self._lost = False

    async def add(self, channel: str, callback: Callback) -> None:
        """Calls ``callback`` for every notification on ``channel`` from now on, and once at the start."""
        if self._task is not None and self._task.get_loop() is not asyncio.get_running_loop():
            # The event loop it listened in has ended, or is that of a parent process.
            self._task = self._pubsub = None
            self._callbacks.clear()
        known = channel in self._callbacks
        self._callbacks.setdefault(channel, set()).add(callback)
        if self._task is None:
            self._task = asyncio.create_task(self._listen(), name="rmq-wakeups")
        elif not known and self._pubsub is not None:
            with contextlib.suppress(RedisError, OSError):  # the listening task notices too and reconnects
                await self._pubsub.subscribe(channel)
        callback(None)

    def remove(self, channel: str, callback: Callback) -> None:
        """Stops the calls; the channel stays subscribed, for the next one who waits on it."""
        self._callbacks.get(channel, set()).discard(callback)

    async def stop(self) -> None:
        """Ends the subscription."""
        if self._task is not None:
            if self._task.get_loop() is asyncio.get_running_loop():
                await end(self._task)
            self._task = None

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except (RedisError, RMQError, OSError) as error:
                if not self._lost:
                    log.warning(
                        "lost the wake-up subscription (%s); looking every %s s until it is back",
                        error,
                        FALLBACK_S,
                    )
                self._lost = True
                await asyncio.sleep(RECONNECT_S)

    async def _listen_once(self) -> None:
        pubsub = await self._connection.pubsub()
        try:
            subscribed: set[str] = set()
            # Others add channels while we wait for the server; from `_pubsub` on they subscribe by themselves.
            while missing := self._callbacks.keys() - subscribed:
                await pubsub.subscribe(*missing)
                subscribed |= missing
            self._pubsub = pubsub
            for callbacks in list(self._callbacks.values()):
                for callback in list(callbacks):
                    callback(None)
            while True:
                message = await pubsub.get_message(timeout=POLL_S)
                self._lost = self._lost and message is None  # a server may refuse what was only sent so far
                if message is not None and message["type"] == "message":
                    for callback in list(self._callbacks.get(message["channel"].decode(), ())):
                        callback(message["data"])
                elif message is None:
                    await pubsub.ping()  # a line that died in silence fails here
        finally:
            self._pubsub = None
            with contextlib.suppress(RedisError, OSError, asyncio.CancelledError):
                await pubsub.aclose()
