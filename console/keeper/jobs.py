"""Jobs: those that are due are handed to job workers, runs on schedule are started, old ones are forgotten."""

from __future__ import annotations

from console.clock import now_ms
from console.engine import AsyncEngine
from console.jobs import operations, runs
from console.keeper.periodic import PeriodicTask
from console.keeper.steady_clock import SteadyClock
from console.snapshots.store import LiveKeys
from console.threads import DatabaseThread, with_database


class DueJobs(PeriodicTask):
    """Operations that may go on, runs that wait, schedules that have come due."""

    name = "handing on jobs"
    every_s = 2.0

    def __init__(self, engine: AsyncEngine, keys: LiveKeys) -> None:
        super().__init__(engine, keys)
        self._database = DatabaseThread()

    async def round(self) -> None:
        await self._database.call(operations.pick_up, await self.engine.inspector.now_ms())
        await self._database.call(runs.pick_up)

    async def close(self) -> None:
        await self._database.close()


class OldJobs(PeriodicTask):
    """What ended long ago, by a clock that is steady."""

    name = "forgetting old operations and runs"
    every_s = 600.0

    def __init__(self, engine: AsyncEngine, keys: LiveKeys) -> None:
        super().__init__(engine, keys)
        self._clock = SteadyClock()

    async def round(self) -> None:
        if not self._clock.is_steady(now_ms()):
            return
        await with_database(operations.prune)
        await with_database(runs.prune)
