"""Says which database records this namespace, as long as this keeper is active."""

from __future__ import annotations

from console.keeper.periodic import PeriodicTask
from console.usecases.same_database import say_whose


class SayWhose(PeriodicTask):
    """See `console.usecases.same_database`."""

    name = "saying which database records this namespace"
    every_s = 5.0

    async def round(self) -> None:
        await say_whose(self.engine, self.keys)
