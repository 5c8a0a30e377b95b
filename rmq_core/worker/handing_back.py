"""From a listener's thread back to the loop that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


def hand_back(loop: asyncio.AbstractEventLoop, act: Callable[[], Any]) -> bool:
    """Has ``act`` called in ``loop``; False when nobody is there any more to hear it."""
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:  # the loop closed while a listener was still running
        return False
    return True


def set_ended(ended: asyncio.Future[None]) -> None:
    """In the loop of that future, which may have been given up."""
    if not ended.done():
        ended.set_result(None)
