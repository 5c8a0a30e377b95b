"""Threads for plain listeners. Who may run at all is decided elsewhere; here a free thread is found or made."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import TypeAlias

from rmq_core.worker.handing_back import hand_back

IDLE_S = 10.0
"""A thread that was not needed for so long ends."""

Job: TypeAlias = "tuple[Callable[[], None], asyncio.AbstractEventLoop, asyncio.Future[None]]"


class _Thread:
    """One thread, which does what it is given until it is given None."""

    def __init__(self, number: int, threads: Threads) -> None:
        self.jobs: SimpleQueue[Job | None] = SimpleQueue()
        self.idle_since = 0.0
        self._threads = threads
        # A daemon: one that hangs in a listener must not keep the process from ending.
        threading.Thread(target=self._work, name=f"rmq-listener-{number}", daemon=True).start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            act, loop, ended = job
            try:
                act()
            finally:
                heard = hand_back(loop, partial(self._threads.finished, self, ended))
            if not heard:
                return


class Threads:
    """As many as there are jobs at one time; the one that worked last is used first, so that the others can end."""

    def __init__(self) -> None:
        self._idle: deque[_Thread] = deque()
        self._made = 0
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None

    def run(self, job: Callable[[], None], loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        """Runs ``job`` (which raises nothing) in a thread; call it from that event loop only."""
        ended: asyncio.Future[None] = loop.create_future()
        if self._idle:
            thread = self._idle.pop()
        else:
            self._made += 1
            thread = _Thread(self._made, self)
        thread.jobs.put((job, loop, ended))
        return ended

    def finished(self, thread: _Thread, ended: asyncio.Future[None]) -> None:
        """In the loop: a thread is free again."""
        if self._closed:
            thread.jobs.put(None)
        else:
            thread.idle_since = time.monotonic()
            self._idle.append(thread)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(IDLE_S, self._end_idle)
        if not ended.done():
            ended.set_result(None)

    def _end_idle(self) -> None:
        before = time.monotonic() - IDLE_S
        while self._idle and self._idle[0].idle_since <= before:
            self._idle.popleft().jobs.put(None)
        self._timer = asyncio.get_running_loop().call_later(IDLE_S, self._end_idle) if self._idle else None

    def close(self) -> None:
        """Lets idle threads end, and the others when they have done what they do."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        while self._idle:
            self._idle.pop().jobs.put(None)
