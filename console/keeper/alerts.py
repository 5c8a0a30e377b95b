"""Alerts: every five seconds the rules look at the newest sample; what is to be told is sent beside that."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from console.alerts import delivering, looking
from console.alerts.conditions import ALL, Seen
from console.alerts.standing import standing
from console.clock import now_ms
from console.engine import AsyncEngine
from console.keeper.data_watch import DataWatch
from console.keeper.live_tasks import Sampling
from console.keeper.periodic import PeriodicTask
from console.keeper.sampler import Round
from console.keeper.steady_clock import SteadyClock
from console.snapshots.store import LiveKeys
from console.threads import DatabaseThread, with_database

log = logging.getLogger("console.keeper")

EVERY_S = 5.0
FORGET_EVERY_S = 3_600.0


class Alerts(PeriodicTask):
    """Takes the newest sample in, where there is a newer one. `standing`: for metrics."""

    name = "looking for alerts"
    every_s = EVERY_S

    def __init__(
        self, engine: AsyncEngine, keys: LiveKeys, sampling: Sampling, leads: Callable[[], bool] = lambda: True
    ) -> None:
        super().__init__(engine, keys)
        self._database = DatabaseThread()
        self._data = DataWatch(engine, keys, self._database)
        self._newest: Round | None = None
        self._looked_at_ms = 0
        self._forgot_at = -FORGET_EVERY_S
        self._clock = SteadyClock()
        self._leads = leads
        self._sampling = sampling
        sampling.observers.append(self.take)

    def take(self, done: Round) -> None:
        self._newest = done

    async def round(self) -> None:
        newest = self._newest
        if not self._leads():
            return
        # After the sample: what is calm in it may be so for the data is gone, or was when it was taken.
        before, self._sampling.loss = self._sampling.loss, await self._data.look()
        lost = before is not None or self._sampling.loss is not None
        if newest is None or newest.observed is None or newest.seq == self._looked_at_ms:
            return
        await self._database.call(looking.look, replace(seen_in(newest), lost=lost))
        self._looked_at_ms = newest.seq
        self._sampling.alerts = await self._database.call(standing)
        steady = self._clock.is_steady(newest.seq)
        if time.monotonic() - self._forgot_at >= FORGET_EVERY_S:
            self._forgot_at = time.monotonic()
            await self._database.call(looking.forget, newest.seq if steady else None)

    async def close(self) -> None:
        await self._database.close()


class AlertDeliveries(PeriodicTask):
    """Sends what is due, to each receiver in a thread: one that hangs keeps neither others waiting nor the rules."""

    name = "sending alerts"

    def __init__(self, engine: AsyncEngine, keys: LiveKeys) -> None:
        super().__init__(engine, keys)
        self._database = DatabaseThread()
        self._sending: dict[int, asyncio.Task[None]] = {}

    async def round(self) -> None:
        for receiver, some in (await self._database.call(delivering.due, now_ms())).items():
            if receiver not in self._sending:
                sending = asyncio.create_task(with_database(delivering.deliver, some, now_ms))
                self._sending[receiver] = sending
                sending.add_done_callback(functools.partial(self._sent, receiver))

    async def close(self) -> None:
        """What is being sent is marked before we go: another keeper would send it again."""
        await asyncio.gather(*self._sending.values(), return_exceptions=True)
        await self._database.close()

    def _sent(self, receiver: int, sending: asyncio.Task[None]) -> None:
        del self._sending[receiver]
        if not sending.cancelled() and (error := sending.exception()):
            log.warning("sending alerts has to wait: %s", type(error).__name__)


def seen_in(done: Round) -> Seen:
    """What rules ask of a sample."""
    assert done.observed is not None
    problems = {(each.code, each.topic or ALL): each.values for each in done.observed.problems}
    numbers = {state.topic.name: state.numbers.as_json() for state in done.states}
    unread = {str(each.values["name"]) for each in done.observed.problems if each.code == "unreadable_topic"}
    workers = sum(each.state == "running" for each in done.observed.workers)
    return Seen(done.seq, numbers, frozenset(numbers) | unread, problems, workers)
