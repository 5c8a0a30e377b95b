"""Waiting for a server to become something."""

from __future__ import annotations

import time
from collections.abc import Callable

_LOOK_S = 0.02


def wait_for(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Look until ``condition()`` is true; False when it still is not after ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_S)
    return True
