"""The only place that builds `rmq_core` clients for the console."""

from __future__ import annotations

import asyncio
import functools
import weakref
from dataclasses import dataclass

from django.core.signals import setting_changed
from django.dispatch import receiver

from console.options import options
from rmq_core.client.async_inspector import AsyncInspector
from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.client.rmq import RMQ
from rmq_core.errors import UnknownTopic
from rmq_core.model.samples import TopicSample

RETRY_FOR_MS = 2_000
"""How long a page waits for Redis before it says that Redis is away."""


@dataclass(frozen=True)
class Engine:
    """What synchronous code (pages, actions) works with; shared by all threads of the process."""

    client: RMQ
    inspector: Inspector
    control: Control


@dataclass(frozen=True, eq=False)
class AsyncEngine:
    """What one event loop (sockets, the keeper) works with."""

    client: AsyncRMQ
    inspector: AsyncInspector


@functools.cache
def engine() -> Engine:
    """The process's engine, opened on first use."""
    return new_engine(options().redis_url)


def new_engine(url: str) -> Engine:
    """An engine of the caller's own, on the server it names; the caller closes its client."""
    client = RMQ(url, options().namespace, retry_for_ms=RETRY_FOR_MS)
    return Engine(client, Inspector(client), Control(client))


def new_async_engine() -> AsyncEngine:
    """An engine of the caller's own; the caller closes its client."""
    client = AsyncRMQ(options().redis_url, options().namespace, retry_for_ms=RETRY_FOR_MS)
    return AsyncEngine(client, AsyncInspector(client))


def sample_of(name: str) -> TopicSample:
    """A topic, or a group, counted now. Raises `UnknownTopic`, also where it was deleted this moment."""
    if found := engine().inspector.sample([name]):
        return found[0]
    client = engine().client
    client.forget(name)
    client.topic(name)  # says it when there is none
    raise UnknownTopic(f"{name!r} was deleted, and made anew, meanwhile")


_by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncEngine] = weakref.WeakKeyDictionary()


def async_engine() -> AsyncEngine:
    """The running event loop's engine, opened on first use."""
    loop = asyncio.get_running_loop()
    if loop not in _by_loop:
        _by_loop[loop] = new_async_engine()
    return _by_loop[loop]


@receiver(setting_changed)
def _forget_clients(setting: str, **kwargs: object) -> None:
    """Tests point the console at other servers."""
    if setting == "RMQ_CONSOLE":
        engine.cache_clear()
        _by_loop.clear()
