"""The event loop of a worker: one that wakes to the microsecond.

asyncio waits with epoll, which counts whole milliseconds, rounded up: every timed message would be late by half a
millisecond on average. `select` counts microseconds, and an epoll object is a file that it can wait for.
"""

from __future__ import annotations

import asyncio
import select
import selectors
import time

SELECT_LIMIT = 1024
"""`select` takes no file number from here on (FD_SETSIZE)."""

if hasattr(selectors, "EpollSelector"):

    class PunctualSelector(selectors.EpollSelector):
        """Waits no longer than it was told: the part of a millisecond at the end with `select`."""

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            """The files that are ready, after ``timeout`` seconds at the latest; None: waits for one."""
            if timeout is None or timeout <= 0 or self.fileno() >= SELECT_LIMIT:
                return super().select(timeout)
            until_s = time.monotonic() + timeout
            # Whole milliseconds as asyncio does: each call lets other threads run, and may wait for them at its end.
            if (whole_ms := int(timeout * 1_000)) and (ready := super().select((whole_ms - 0.5) / 1_000)):
                return ready
            left_s = until_s - time.monotonic()
            if left_s > 0 and select.select((self.fileno(),), (), (), left_s)[0]:
                return super().select(0)
            return []


def new_event_loop() -> asyncio.AbstractEventLoop:
    """asyncio's own with exact waits, where the system has epoll; what a loop policy makes is left as it is."""
    loop = asyncio.new_event_loop()
    if type(loop) is not asyncio.SelectorEventLoop or not hasattr(selectors, "EpollSelector"):
        return loop
    loop.close()
    return asyncio.SelectorEventLoop(PunctualSelector())
