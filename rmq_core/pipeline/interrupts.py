"""SIGTERM ends a job as Ctrl+C does, at whatever point it meets it.

Python drops what is raised where nobody can catch it: in finalizers, of which py4j has many, and in what runs around a
fork, as that of Java. There the lock of `logging`, too, would be kept for ever.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from types import FrameType

AGAIN_S = 0.05
_FORK = subprocess.Popen._execute_child.__code__  # type: ignore[attr-defined]

_asked: list[int] = []
_before = sys.unraisablehook


def end_on_sigterm() -> None:
    """From now on SIGTERM raises `KeyboardInterrupt` in the main thread; to be called there."""
    _asked.clear()
    signal.signal(signal.SIGTERM, _interrupted)
    sys.unraisablehook = _dropped


def asked_to_end() -> bool:
    """Whether SIGTERM has come."""
    return bool(_asked)


def _interrupted(number: int, frame: FrameType | None) -> None:
    _asked.append(number)
    if _forks(frame):
        _again(number)
    else:
        raise KeyboardInterrupt


def _forks(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code is _FORK:
            return True
        frame = frame.f_back
    return False


def _dropped(unraisable: sys.UnraisableHookArgs) -> None:
    if unraisable.exc_type is KeyboardInterrupt:
        _again(_asked[-1] if _asked else signal.SIGINT)
    else:
        _before(unraisable)


def _again(number: int) -> None:
    # To the main thread itself: one that waits for Java would not be woken by what another thread has got.
    again = threading.Timer(AGAIN_S, signal.pthread_kill, [threading.main_thread().ident, number])
    again.daemon = True
    again.start()
