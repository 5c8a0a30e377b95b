"""Threads for plain listeners. Who may run at all is decided elsewhere; here a free thread is found or made."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeAlias

_Job: TypeAlias = "tuple[Callable[[], None], asyncio.AbstractEventLoop, asyncio.Future[None]] | None"


class Threads:
    """Daemon threads, reused: one that hangs in a listener must not keep the process from ending."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._idle = 0
        self._count = 0

    def run(self, job: Callable[[], None]) -> asyncio.Future[None]:
        """Runs ``job`` (which raises nothing) in a thread; call it from the event loop only."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if self._idle == 0:
            self._count += 1
            threading.Thread(target=self._work, name=f"rmq-listener-{self._count}", daemon=True).start()
        else:
            self._idle -= 1
        self._jobs.put((job, loop, future))
        return future

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            act, loop, future = job
            try:
                act()
            finally:
                try:
                    loop.call_soon_threadsafe(self._finished, future)
                except RuntimeError:  # the loop closed while a listener was still running
                    return

    def _finished(self, future: asyncio.Future[Any]) -> None:
        self._idle += 1
        if not future.done():
            future.set_result(None)

    def close(self) -> None:
        """Lets idle threads end."""
        for _ in range(self._idle):
            self._jobs.put(None)
        self._idle = 0
