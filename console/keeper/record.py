"""The record: journals are followed into the database, and what is old is forgotten."""

from __future__ import annotations

from console.keeper.periodic import PeriodicTask
from console.record import retention
from console.record.follow import Follower
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
    """What is older than `RECORD_DAYS`."""

    name = "forgetting old records"
    every_s = 600.0

    async def round(self) -> None:
        inspector = self.engine.inspector
        names = {topic.name for topic in [*await inspector.topics(), *await inspector.queues()]}
        await with_database(retention.prune, await self.engine.inspector.now_ms(), names)
