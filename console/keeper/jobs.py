"""Jobs: those that are due are handed to job workers, runs on schedule are started, old ones are forgotten."""

from __future__ import annotations

from console.jobs import operations, runs
from console.keeper.periodic import PeriodicTask
from console.threads import with_database


class DueJobs(PeriodicTask):
    """Operations that may go on, runs that wait, schedules that have come due."""

    name = "handing on jobs"

    async def round(self) -> None:
        await with_database(self._look)

    @staticmethod
    def _look() -> None:
        """Both over one connection: it costs more than what is asked."""
        operations.pick_up()
        runs.look()


class OldJobs(PeriodicTask):
    """What ended long ago."""

    name = "forgetting old operations and runs"
    every_s = 600.0

    async def round(self) -> None:
        await with_database(operations.prune)
        await with_database(runs.prune)
