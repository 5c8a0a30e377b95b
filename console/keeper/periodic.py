"""The contract of every loop of the active keeper: a round, and how long until the next."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from abc import ABC, abstractmethod
from typing import ClassVar

from django.db import DatabaseError

from console.engine import AsyncEngine
from console.snapshots.store import LiveKeys
from rmq_core.errors import RMQError

log = logging.getLogger("console.keeper")

LEAST_PAUSE_S = 0.05


class PeriodicTask(ABC):
    """Something the active keeper does again and again. Each has an engine, so none waits for another's replies."""

    name: ClassVar[str]
    """What it does, for the log."""
    every_s: float = 1.0
    """From the start of a round to the start of the next."""

    def __init__(self, engine: AsyncEngine, keys: LiveKeys) -> None:
        self.engine = engine
        self.keys = keys

    @abstractmethod
    async def round(self) -> None:
        """One turn. May raise anything: the next one comes all the same."""

    def reset(self) -> None:  # noqa: B027  (most have nothing to forget)
        """After a round that failed: forget what may be half done."""

    async def close(self) -> None:  # noqa: B027  (most have nothing to close)
        """At the end, after the last round."""


class ErrorLog:
    """Says once that Redis or the database is away, however many tasks notice it, and once that it is back."""

    def __init__(self) -> None:
        self._away: dict[str, set[str]] = {"Redis": set(), "the database": set()}

    def about(self, task: str, error: Exception) -> None:
        silent = self._away["the database" if isinstance(error, DatabaseError) else "Redis"]
        if not silent:
            log.warning("%s has to wait: %s (trying again)", task, error)
        silent.add(task)

    def over(self, task: str) -> None:
        for what, silent in self._away.items():
            if silent == {task}:
                log.info("%s answers again", what)
            silent.discard(task)


async def run_task(task: PeriodicTask, errors: ErrorLog, stop: asyncio.Event) -> None:
    """Run it until `stop`; whatever fails is tried again."""
    try:
        await _rounds(task, errors, stop)
    finally:
        await task.close()


async def _rounds(task: PeriodicTask, errors: ErrorLog, stop: asyncio.Event) -> None:
    while not stop.is_set():
        started = time.monotonic()
        try:
            await task.round()
            errors.over(task.name)
        except (RMQError, DatabaseError) as error:
            errors.about(task.name, error)
            task.reset()
        except Exception:
            log.exception("%s failed", task.name)
            task.reset()
        await pause(stop, max(LEAST_PAUSE_S, task.every_s - (time.monotonic() - started)))


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Sleep, but not beyond `stop`."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
