"""What the active keeper does for the record: follows the journals, and forgets what is old."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from asgiref.sync import sync_to_async
from django.db import DatabaseError, connections

from console.engine import AsyncEngine
from console.record import retention
from console.record.follow import Follower
from rmq_core.errors import RMQError

log = logging.getLogger("console.record")

EVERY_S = 1.0
PRUNE_EVERY_S = 600.0


async def keep(engine: AsyncEngine, stop: asyncio.Event) -> None:
    """Runs as long as this keeper is the active one."""
    follower, pruned, away = Follower(engine), time.monotonic(), False
    while not stop.is_set():
        started = time.monotonic()
        try:
            await follower.round()
            if started - pruned >= PRUNE_EVERY_S:
                pruned = started
                names = {topic.name for topic in await engine.inspector.topics()}
                await sync_to_async(_prune, thread_sensitive=False)(await engine.inspector.now_ms(), names)
            away = False
        except (RMQError, DatabaseError) as error:
            if not away:
                log.warning("nothing is recorded for now: %s", error)
            away, follower = True, Follower(engine)
        except Exception:
            log.exception("recording failed; beginning again from what is written down")
            follower = Follower(engine)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.05, EVERY_S - (time.monotonic() - started))):
                await stop.wait()


def _prune(now_ms: int, topics: set[str]) -> None:
    try:
        retention.prune(now_ms, topics)
    finally:
        connections.close_all()
