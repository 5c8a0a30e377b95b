"""Ending asyncio tasks for certain."""

from __future__ import annotations

import asyncio
from typing import Any

ASK_AGAIN_S = 0.5


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancels tasks and returns when all have ended, whatever came of them.

    redis-py can swallow a cancellation that meets a connection being made, so each is asked until it has ended.
    """
    going = {task for task in tasks if not task.done()}
    while going:
        for task in going:
            task.cancel()
        _, going = await asyncio.wait(going, timeout=ASK_AGAIN_S)
