"""The keeper: of all instances one is active and samples; the others stand by and take over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings

from console.keeper.definitions import watch_definitions
from console.engine import new_async_engine
from console.keeper.details import Details
from console.keeper.fleet import FLEET
from console.snapshots.groups import FLEET_GROUP
from console.snapshots.groups import OVERVIEW
from console.snapshots.groups import topic_group
from console.keeper.sampler import Sampler
from console.snapshots.store import LiveKeys
from console.keeper.operations import keep
from console.keeper.record import keep as keep_record
from rmq_core.errors import RMQError
from rmq_core.ownership.election import LeaseElection, Term, run_elected

log = logging.getLogger("console.keeper")

CPU_SHARE = 10
"""Sampling may use one part in so many of a CPU; with more topics than that allows, looks get rarer."""


class Keeper:
    """Run with `await keeper.run(stop)`; `stop` is an event that ends it in good order."""

    def __init__(self) -> None:
        self.keys = LiveKeys(settings.RMQ_NAMESPACE)
        self.active = False
        self._watched: frozenset[str] = frozenset()

    async def run(self, stop: asyncio.Event) -> None:
        """Stand for election, sample while elected, let another one follow at the end."""
        engine, details_engine, lease_engine = new_async_engine(), new_async_engine(), new_async_engine()
        history_engine = new_async_engine()
        jobs_engine, record_engine = new_async_engine(), new_async_engine()

        async def lead(_: Term) -> None:
            beside = [
                asyncio.create_task(self._details(details_engine, stop)),
                asyncio.create_task(watch_definitions(history_engine, stop)),
                asyncio.create_task(keep(jobs_engine, self.keys, stop)),
                asyncio.create_task(keep_record(record_engine, stop)),
            ]
            self._tell(True)
            try:
                await self._sample(engine, stop)
            finally:
                self._tell(False)
                for task in beside:
                    task.cancel()
                await asyncio.gather(*beside, return_exceptions=True)

        election = LeaseElection(lease_engine.client, "keeper", f"{socket.gethostname()}/{os.getpid()}")
        leading = asyncio.create_task(run_elected(election, lead))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.set()
            for task in (leading, stopping):
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leading
            for each in (engine, details_engine, lease_engine, history_engine, jobs_engine, record_engine):
                await each.client.close()
            await _flush_layer()

    async def _sample(self, engine: Any, stop: asyncio.Event) -> None:
        sampler = Sampler(engine, self.keys, settings.SAMPLE_INTERVAL_MS, settings.LAG_WARNING_MS)
        restored = False
        complain = Complaints()
        while not stop.is_set():
            started, cpu = time.monotonic(), time.process_time()
            try:
                if not restored:
                    await sampler.restore()
                    restored = True
                done = await sampler.round()
                for name, count in done.reaped.items():
                    log.warning("%s: put back %d messages of slots that nobody looks after", name, count)
                self._watched = frozenset(done.watched) - {FLEET}
                await _announce(OVERVIEW, done.seq)
                for name in done.watched:
                    await _announce(FLEET_GROUP if name == FLEET else topic_group(name), done.seq)
                complain.stop()
            except RMQError as error:
                complain.about(error)
            except Exception:
                log.exception("a sample failed; trying again")
            spent = time.process_time() - cpu
            interval_s = max(settings.SAMPLE_INTERVAL_MS / 1000, spent * CPU_SHARE)
            sampler.interval_ms = round(interval_s * 1000)
            await pause(stop, max(0.05, interval_s - (time.monotonic() - started)))

    def _tell(self, held: bool) -> None:
        if held != self.active:
            self.active = held
            log.info("this keeper is now %s", "active: it samples" if held else "no longer active")

    async def _details(self, engine: Any, stop: asyncio.Event) -> None:
        details = Details(engine, self.keys)
        complain = Complaints()
        while not stop.is_set():
            try:
                if self.active:
                    for name in await details.round(self._watched):
                        await _announce(topic_group(name), 0, kind="details.tick")
                complain.stop()
            except RMQError as error:
                complain.about(error)
            except Exception:
                log.exception("looking at details failed; trying again")
            await pause(stop, 0.5)


class Complaints:
    """Says that Redis is away once, and once that it is back."""

    def __init__(self) -> None:
        self._complaining = False

    def about(self, error: RMQError) -> None:
        if not self._complaining:
            log.warning("%s (trying again every second)", error)
        self._complaining = True

    def stop(self) -> None:
        if self._complaining:
            log.info("Redis answers again")
        self._complaining = False


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Sleep, but not beyond `stop`."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


async def _announce(group: str, seq: int, kind: str = "tick") -> None:
    """Tell sockets that there is something new; a lost announcement is made up for by the next."""
    layer = get_channel_layer()
    try:
        await layer.group_send(group, {"type": kind, "seq": seq})
    except Exception as error:  # whatever the layer's Redis client raises
        raise _LayerAway(f"live updates cannot be published: {error}") from error


class _LayerAway(RMQError):
    """The channel layer's Redis does not answer."""


async def _flush_layer() -> None:
    close: Callable[[], Any] | None = getattr(get_channel_layer(), "flush", None)
    if close is not None:
        with contextlib.suppress(Exception):
            await close()
