"""The signals that stop a worker. They are its own: a process that a listener forks (`multiprocessing.Pool`) ends by
them as it would without a worker.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from rmq_core.transport import forks

NUMBERS = (signal.SIGTERM, signal.SIGINT)
_heard: set[StopSignals] = set()
_mask = threading.local()


class StopSignals:
    """From entering to leaving it; `hear` says what they do. In a thread that is not the main one nobody hears them."""

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        forks.follow(self)

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in NUMBERS}
            _heard.add(self)
        return self

    def hear(self, act: Callable[[], object]) -> None:
        """Calls ``act`` in the running event loop for each."""
        for number in self._before:
            asyncio.get_running_loop().add_signal_handler(number, act)

    def after_fork(self) -> None:
        """The loop's way to hear of a signal is shared with the parent, which would take it for one of its own."""
        if self._before:
            signal.set_wakeup_fd(-1)
            self._put_back()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._put_back()

    def _put_back(self) -> None:
        before, self._before = self._before, {}
        _heard.discard(self)
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _hold_back() -> None:
    """A child that is ended as soon as it is begun is to have the signal when it hears it as its own."""
    _mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS) if _heard else None


def _let_through() -> None:
    if (before := getattr(_mask, "before", None)) is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


if hasattr(os, "register_at_fork"):
    # In a child it comes after `forks` has told everybody, which was registered before.
    os.register_at_fork(before=_hold_back, after_in_parent=_let_through, after_in_child=_let_through)
