"""Says which coroutine listener blocks its event loop, while it does: the loop itself cannot."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback

from rmq_core.worker.batch import CALL_TASK
from rmq_core.worker.handing_back import hand_back

log = logging.getLogger(__name__)

EVERY_S = 0.5
BLOCKED_S = 1.0
REPEATED_MAX_S = 60.0
LINES = 6
"""So much of the place where it stands is shown."""


class Watchdog:
    """A thread that asks a loop again and again whether it still turns."""

    def __init__(self, loop: asyncio.AbstractEventLoop, thread_id: int, worker: str) -> None:
        self._loop = loop
        self._thread_id = thread_id
        self._worker = worker
        self._stopped = threading.Event()
        threading.Thread(target=self._watch, name="rmq-watchdog", daemon=True).start()

    def stop(self) -> None:
        """Asks no more."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(EVERY_S):
            answered = threading.Event()
            asked_at = time.monotonic()
            if not hand_back(self._loop, answered.set):
                return
            patience_s, culprit = BLOCKED_S, ""
            while not answered.wait(patience_s) and not self._stopped.is_set():
                culprit = self._culprit()
                self._report(culprit, time.monotonic() - asked_at)
                patience_s = min(patience_s * 2, REPEATED_MAX_S)
            if culprit and answered.is_set():
                log.warning("%s has let go of the event loop after %.1f s", culprit, time.monotonic() - asked_at)

    def _culprit(self) -> str:
        task = asyncio.current_task(self._loop)
        name = task.get_name() if task is not None else ""
        if name.startswith(CALL_TASK):
            return f"the coroutine listener{name.removeprefix(CALL_TASK)}"
        return f"the task {name!r}" if name else "a callback"

    def _report(self, culprit: str, blocked_s: float) -> None:
        frame = sys._current_frames().get(self._thread_id)
        place = "".join(traceback.format_list(traceback.extract_stack(frame)[-LINES:])) if frame is not None else ""
        log.error(
            "worker %s: %s has been blocking the event loop for %.1f s; no other coroutine listener gets on meanwhile."
            " What waits without 'await' belongs into a plain function, which runs in a thread, or into"
            " asyncio.to_thread(). It is at:\n%s",
            self._worker,
            culprit,
            blocked_s,
            place,
        )
