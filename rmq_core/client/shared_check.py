"""A check that many begin with at once: one makes it, and the others are told what came of it.

Of each after the other, the last of forty would wait for a server that is away forty times as long as it was told to.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable


class SharedCheck:
    """For threads. Who was interrupted tells nobody anything: another one begins."""

    def __init__(self) -> None:
        self.passed = False
        self._lock = threading.Lock()
        self._under_way: concurrent.futures.Future[None] | None = None

    def after_fork(self) -> None:
        """A thread of the parent may have held it, or have been at it."""
        self._lock, self._under_way = threading.Lock(), None

    def make(self, check: Callable[[], object]) -> None:
        """Returns once it has passed. Raises what ``check`` raises."""
        while not self.passed:
            with self._lock:
                others, mine = self._under_way, concurrent.futures.Future[None]()
                if others is None:
                    self._under_way = mine
            if others is None:
                self._make(check, mine)
            elif (error := others.exception()) is not None:
                raise error

    def _make(self, check: Callable[[], object], mine: concurrent.futures.Future[None]) -> None:
        try:
            check()
            self.passed = True
        except Exception as error:
            mine.set_exception(error)
            raise
        finally:
            self._under_way = None
            if not mine.done():
                mine.set_result(None)


class AsyncSharedCheck:
    """For the tasks of an event loop."""

    def __init__(self) -> None:
        self.passed = False
        self._under_way: asyncio.Future[None] | None = None

    async def make(self, check: Callable[[], Awaitable[object]]) -> None:
        """Returns once it has passed. Raises what ``check`` raises."""
        while not self.passed:
            others, loop = self._under_way, asyncio.get_running_loop()
            if others is None or others.get_loop() is not loop:
                await self._make(check, loop.create_future())
                continue
            await asyncio.wait([others])
            if (error := others.exception()) is not None:
                raise error

    async def _make(self, check: Callable[[], Awaitable[object]], mine: asyncio.Future[None]) -> None:
        self._under_way = mine
        try:
            await check()
            self.passed = True
        except Exception as error:
            mine.set_exception(error)
            mine.exception()  # also where nobody else has waited for it
            raise
        finally:
            if self._under_way is mine:
                self._under_way = None
            if not mine.done():
                mine.set_result(None)
