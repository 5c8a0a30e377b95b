"""A check that many begin with at once: one makes it, and the others are told what came of it.

Of each after the other, the last of forty would wait for a server that is away forty times as long as it was told to.
"""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Awaitable, Callable


class _Look:
    """What one thread is at. Whoever holds the lock is still at it: however he ends, also by a Ctrl-C, it is free."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread = threading.get_ident()
        self.error: Exception | None = None


class SharedCheck:
    """For threads. Who was interrupted tells nobody anything: another one begins."""

    def __init__(self) -> None:
        self.passed = False
        self.after_fork()

    def after_fork(self) -> None:
        """A thread of the parent may have held it, or have been at it."""
        self._lock = threading.RLock()
        self._under_way: _Look | None = None

    def make(self, check: Callable[[], object]) -> None:
        """Returns once it has passed. Raises what ``check`` raises."""
        while not self.passed:
            mine = _Look()
            with mine.lock:
                with self._lock:
                    others = self._under_way
                    if others is None or not others.lock.locked():
                        others, self._under_way = None, mine
                if others is None:
                    self._make(check, mine)
                    return
            if others.thread == threading.get_ident():
                return  # what the check itself has called, as a log's handler or a signal's, does not wait for it
            with others.lock:
                pass
            if others.error is not None:
                raise _told(others.error) from others.error

    def _make(self, check: Callable[[], object], mine: _Look) -> None:
        try:
            check()
            self.passed = True
        except Exception as error:
            mine.error = error
            raise
        finally:
            if self._under_way is mine:
                self._under_way = None


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
                raise _told(error) from error

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


def _told(error: BaseException) -> BaseException:
    """The same error for somebody else. One for all would get the traceback of each of them, one behind the other."""
    try:
        return copy.copy(error)
    except Exception:  # it cannot be made of its words alone
        return error
