"""What the active keeper does for operations: hands on those that are due, and notes the trend of dead letters."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from asgiref.sync import sync_to_async
from django.db import DatabaseError, connections

from console.engine import AsyncEngine
from console.snapshots import clusters
from console.snapshots.store import LiveKeys
from console.jobs import operations as jobs
from console.jobs import runs
from rmq_core.errors import RMQError

log = logging.getLogger("console.operations")

EVERY_S = 1.0
PRUNE_EVERY_S = 600.0


async def keep(engine: AsyncEngine, keys: LiveKeys, stop: asyncio.Event) -> None:
    """Runs as long as this keeper is the active one."""
    noted = pruned = float("-inf")
    away = False
    while not stop.is_set():
        now = time.monotonic()
        try:
            await sync_to_async(_pick_up, thread_sensitive=False)()
            if now - noted >= clusters.EVERY_S:
                noted = now
                await note_clusters(engine, keys)
            if now - pruned >= PRUNE_EVERY_S:
                pruned = now
                await sync_to_async(_prune, thread_sensitive=False)()
            away = False
        except (RMQError, DatabaseError) as error:
            if not away:
                log.warning("operations are not looked after: %s", error)
            away = True
        except Exception:
            log.exception("looking after operations failed")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EVERY_S):
                await stop.wait()


async def note_clusters(engine: AsyncEngine, keys: LiveKeys) -> None:
    """Add a point to the trend of every cluster."""
    names = [topic.name for topic in await engine.inspector.topics()]
    counted = {}
    for name in names:
        found = await engine.inspector.dead_clusters(name)
        counted[name] = {cluster.fingerprint: cluster.count for cluster in found}
    at_ms = await engine.inspector.now_ms()
    await engine.client.run(clusters.note(keys, counted, at_ms))


def _pick_up() -> None:
    try:
        jobs.pick_up()
        runs.look()
    finally:
        connections.close_all()


def _prune() -> None:
    try:
        jobs.prune()
        runs.prune()
    finally:
        connections.close_all()
