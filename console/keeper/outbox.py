"""The outboxes of this project's databases: relayed while this keeper is active, and looked at."""

from __future__ import annotations

import time
from collections.abc import Sequence

from django.db import DatabaseError, InterfaceError

from console.engine import AsyncEngine
from console.keeper.periodic import PeriodicTask
from console.outbox import clients
from console.outbox.figures import Figures, all_figures
from console.outbox.options import options
from console.outbox.relay import relay
from console.snapshots.store import LiveKeys
from console.threads import DatabaseThread
from rmq_core.errors import RMQError

LOOK_EVERY_S = 5.0
MOST_S = 0.5
"""How long one database keeps the others waiting."""


class Outboxes(PeriodicTask):
    """Each in turn; one whose database is away keeps no other from its turn. `figures`: as of the last look."""

    name = "relaying outboxes"
    every_s = 1.0

    def __init__(self, engine: AsyncEngine, keys: LiveKeys) -> None:
        super().__init__(engine, keys)
        self.figures: Sequence[Figures] = ()
        self._looked_at = -LOOK_EVERY_S
        self._database = DatabaseThread()

    async def round(self) -> None:
        problem: Exception | None = None
        taken = 0
        for database in options().databases:
            try:
                done = await self._database.call(relay(database, clients.patient()).round, MOST_S)
            except (DatabaseError, InterfaceError, RMQError) as error:
                problem = error
            else:
                taken += done.taken
                problem = done.away or problem
        if time.monotonic() - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = time.monotonic()
            self.figures = await self._database.call(all_figures)
        # Busy, it goes on at once. Idle, it looks as rarely as what the fast path missed may wait.
        self.every_s = 2.0 if problem else 0.0 if taken else 1.0
        if problem is not None:
            raise problem

    async def close(self) -> None:
        await self._database.close()
