"""Runs a real worker in this process until a backlog is drained, and says how long that took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from rmq_core import Listener, Worker

IDLE_LIMIT_S = 60.0


def drain_seconds(url: str, listener: Listener, wanted: int, handled: Callable[[], int], **options: Any) -> float:
    """From the first delivery to the last; raises RuntimeError when nothing moves any more."""
    worker = Worker(url, [listener], **options)

    async def drain() -> float:
        serving = asyncio.create_task(worker.serve())
        began = moved_at = time.perf_counter()
        before = 0
        while (count := handled()) < wanted:
            now = time.perf_counter()
            if before == 0 and count:
                began = now
            if count != before:
                before, moved_at = count, now
            if now - moved_at > IDLE_LIMIT_S or serving.done():
                worker.stop()
                await serving
                raise RuntimeError(f"stuck at {count} of {wanted}")
            await asyncio.sleep(0.002)
        took = time.perf_counter() - began
        worker.stop()
        await serving
        return took

    return asyncio.run(drain())
