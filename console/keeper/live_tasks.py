"""The periodic tasks behind the live pages: a sample each second, and what costs more of topics that are watched."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

from console.alerts.standing import Standing
from console.engine import AsyncEngine
from console.keeper.announce import announce
from console.keeper.details import Details
from console.keeper.outbox import Outboxes
from console.keeper.periodic import PeriodicTask
from console.keeper.problems import Problem
from console.keeper.recurring import Recurrences
from console.keeper.sampler import Round, Sampler
from console.models import DataLoss
from console.options import options
from console.snapshots.groups import FLEET, FLEET_GROUP, OVERVIEW, topic_group
from console.snapshots.store import LiveKeys

log = logging.getLogger("console.keeper")

CPU_SHARE = 10
"""Sampling may use one part in so many of a CPU; with more topics than that allows, looks get rarer."""


class Sampling(PeriodicTask):
    """`watched`: the topics somebody looks at, by the newest sample."""

    name = "sampling"

    def __init__(
        self,
        engine: AsyncEngine,
        keys: LiveKeys,
        outboxes: Outboxes | None = None,
        recurrences: Recurrences | None = None,
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(engine, keys)
        self.every_s = options().sample_interval_ms / 1000
        self._outboxes = outboxes
        self._recurrences = recurrences
        self.watched: frozenset[str] = frozenset()
        self.observers: list[Callable[[Round], None]] = []
        self._sampler = Sampler(engine, keys, options().sample_interval_ms, options().lag_warning_ms, leads)
        self.alerts = Standing()
        self.loss: DataLoss | None = None
        self.since: Callable[[Problem], int | None] = lambda problem: None
        self._restored = False
        self._spent = deque([0.0], maxlen=2)

    async def round(self) -> None:
        cpu = time.process_time()
        try:
            await self._look()
        finally:
            self._spent.append(time.process_time() - cpu)
            # One dear round, such as the first, makes nobody wait: two in a row do.
            self.every_s = max(options().sample_interval_ms / 1000, min(self._spent) * CPU_SHARE)
            self._sampler.interval_ms = round(self.every_s * 1000)

    async def _look(self) -> None:
        if not self._restored:
            await self._sampler.restore()
            self._restored = True
        self._sampler.outboxes = self._outboxes.figures if self._outboxes else ()
        self._sampler.recurring_failing = self._recurrences.failing if self._recurrences else 0
        self._sampler.alerts = self.alerts
        self._sampler.loss = self.loss
        self._sampler.since = self.since
        done = await self._sampler.round()
        for observe in self.observers if done.observed else ():
            observe(done)
        for name, count in done.reaped.items():
            log.warning("%s: put back %d messages of slots that nobody looks after", name, count)
        self.watched = frozenset(done.watched) - {FLEET}
        await announce(OVERVIEW, done.seq)
        for name in done.watched:
            await announce(FLEET_GROUP if name == FLEET else topic_group(name), done.seq)


class WatchedDetails(PeriodicTask):
    """The prepare queue and the forecast of watched topics."""

    name = "looking at details"
    every_s = 0.5

    def __init__(self, engine: AsyncEngine, keys: LiveKeys, sampling: Sampling) -> None:
        super().__init__(engine, keys)
        self._sampling = sampling
        self._details = Details(engine, keys)

    async def round(self) -> None:
        for name in await self._details.round(self._sampling.watched):
            await announce(topic_group(name), 0, kind="details.tick")
