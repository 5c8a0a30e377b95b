"""The event loop of a worker: one that wakes to the microsecond.

asyncio waits with epoll, which counts whole milliseconds, rounded up: every timed message would be late by half a
millisecond on average. `select` counts microseconds, and an epoll object is a file that it can wait for.
"""

from __future__ import annotations

import asyncio
import select
import selectors

SELECT_LIMIT = 1024
"""`select` takes no file number from here on (FD_SETSIZE)."""

if hasattr(selectors, "EpollSelector"):

    class PunctualSelector(selectors.EpollSelector):
        """Waits no longer than it was told."""

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            """The files that are ready, after ``timeout`` seconds at the latest; None: waits for one."""
            if timeout is not None and timeout > 0 and self.fileno() < SELECT_LIMIT:
                select.select((self.fileno(),), (), (), timeout)
                timeout = 0
            return super().select(timeout)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """asyncio's own with exact waits, where the system has epoll; what a loop policy makes is left as it is."""
    loop = asyncio.new_event_loop()
    if type(loop) is not asyncio.SelectorEventLoop or not hasattr(selectors, "EpollSelector"):
        return loop
    loop.close()
    return asyncio.SelectorEventLoop(PunctualSelector())
