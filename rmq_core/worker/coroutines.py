"""Where coroutine listeners run: in a loop of their own, so that one that blocks it blocks neither the traffic with
Redis nor heartbeats, extensions and ZooKeeper; or, where the application awaits `Worker.serve`, in its loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from rmq_core.worker.batch import Batch
from rmq_core.worker.handing_back import hand_back, set_ended
from rmq_core.worker.watchdog import Watchdog

log = logging.getLogger(__name__)

CLOSE_S = 1.0
"""How long calls that are left at the end may take to be cancelled."""


class Coroutines:
    """Runs lanes of coroutine listeners. ``own``: in a thread and loop made when first needed."""

    def __init__(self, worker: str, *, own: bool) -> None:
        self._worker = worker
        self._own = own
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._watchdog: Watchdog | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending = False

    def run(self, lane: Callable[[], Coroutine[Any, Any, None]], topic: str) -> asyncio.Future[None]:
        """Runs a lane; call it from the engine's loop only."""
        engine = asyncio.get_running_loop()
        loop = self._loop or self._open(engine)
        ended: asyncio.Future[None] = engine.create_future()

        def begin() -> None:
            task = loop.create_task(lane(), name="rmq-lane")
            self._tasks.add(task)
            task.add_done_callback(end)

        def end(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                log.error("a lane of topic %s ended in an error of ours", topic, exc_info=error)
            hand_back(engine, lambda: set_ended(ended))

        loop.call_soon_threadsafe(begin)
        return ended

    def cancel(self, batch: Batch, late: Exception) -> None:
        """Ends the present call of a batch, which then failed with ``late``."""
        if self._loop is not None:
            loop = self._loop
            hand_back(loop, lambda: batch.cancel(late))

    def _open(self, engine: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
        if not self._own:
            self._loop, ident = engine, threading.get_ident()
        else:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._serve, args=(self._loop,), name="rmq-coroutines", daemon=True)
            self._thread.start()
            ident = self._thread.ident or 0
        self._watchdog = Watchdog(self._loop, ident, self._worker)
        return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        while not self._ending:
            try:
                loop.run_forever()
            except BaseException:  # a task that a listener has started may raise SystemExit into the loop
                log.exception("a task that a listener has started tried to end worker %s; it goes on", self._worker)
        with contextlib.suppress(RuntimeError):
            loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    async def close(self) -> None:
        """Cancels what is left and ends the thread; one that cannot be ended is left behind, and named."""
        if self._watchdog is not None:
            self._watchdog.stop()
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        hand_back(loop, lambda: loop.create_task(self._end(loop)))
        await asyncio.to_thread(thread.join, CLOSE_S + 0.5)
        if thread.is_alive():
            log.error(
                "worker %s leaves a coroutine listener behind that does not let itself be cancelled", self._worker
            )

    async def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            _, left = await asyncio.wait(left, timeout=CLOSE_S)
        if not left:
            self._ending = True
            loop.stop()
