"""The record: journals are followed into the database, and what is old is forgotten."""

from __future__ import annotations

import logging

from console.engine import AsyncEngine
from console.keeper.data_watch import DataWatch
from console.keeper.periodic import PeriodicTask
from console.keeper.steady_clock import SteadyClock
from console.record import losing, retention
from console.record.follow import Follower
from console.snapshots.store import LiveKeys
from console.threads import DatabaseThread, with_database

log = logging.getLogger("console.keeper")


class Recording(PeriodicTask):
    """Follows the journals. After a failure it begins again from what is recorded."""

    name = "recording"
    _follower: Follower | None = None

    def __init__(self, engine: AsyncEngine, keys: LiveKeys) -> None:
        super().__init__(engine, keys)
        self._database = DatabaseThread()
        self._data = DataWatch(engine, keys, self._database)

    async def round(self) -> None:
        await self._tell_of_losses()
        if self._follower is None:
            self._follower = Follower(self.engine)
        await self._follower.round()

    async def _tell_of_losses(self) -> None:
        """Before anything is read of other data."""
        await self._data.look()
        for loss in await self._database.call(losing.due):
            inspector = self.engine.inspector
            here = [*await inspector.topics(), *await inspector.queues()]
            changed = await self._database.call(losing.tell, loss, {each.name: each.created_ms for each in here})
            log.warning("the server's data was lost, or came back: %d messages are recorded anew", changed)
            self._follower = None

    def reset(self) -> None:
        self._follower = None

    async def close(self) -> None:
        await self._database.close()


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
