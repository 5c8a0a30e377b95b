"""The record: journals are followed into the database, and what is old is forgotten."""

from __future__ import annotations

from console.engine import AsyncEngine
from console.keeper.periodic import PeriodicTask
from console.keeper.steady_clock import SteadyClock
from console.record import retention
from console.record.follow import Follower
from console.snapshots.store import LiveKeys
from console.threads import with_database


class Recording(PeriodicTask):
    """Follows the journals. After a failure it begins again from what is recorded."""

    name = "recording"
    _follower: Follower | None = None

    async def round(self) -> None:
        if self._follower is None:
            self._follower = Follower(self.engine)
        await self._follower.round()

    def reset(self) -> None:
        self._follower = None


class OldRecords(PeriodicTask):
    """What is older than `RECORD_DAYS`, by a clock that is steady."""

    name = "forgetting old records"
    every_s = 600.0

    def __init__(self, engine: AsyncEngine, keys: LiveKeys) -> None:
        super().__init__(engine, keys)
        self._clock = SteadyClock()

    async def round(self) -> None:
        inspector = self.engine.inspector
        now_ms = await inspector.now_ms()
        if self._clock.is_steady(now_ms):
            names = {topic.name for topic in [*await inspector.topics(), *await inspector.queues()]}
            await with_database(retention.prune, now_ms, names)
