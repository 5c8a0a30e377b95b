"""The keeper: of all instances one is active and runs the tasks; the others stand by and take over."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import socket

from console.engine import AsyncEngine, new_async_engine
from console.keeper.alerts import AlertDeliveries, Alerts
from console.keeper.announce import close_layer
from console.keeper.definitions import DefinitionHistory
from console.keeper.forwarding import Forwarding
from console.keeper.history import KeepHistory, OldHistory
from console.keeper.incidents import Incidents
from console.keeper.jobs import DueJobs, OldJobs
from console.keeper.live_tasks import Sampling, WatchedDetails
from console.keeper.outbox import Outboxes
from console.keeper.periodic import ErrorLog, PeriodicTask, run_task
from console.keeper.record import OldRecords, Recording
from console.keeper.recurring import Recurrences
from console.keeper.same_database import SayWhose
from console.keeper.trends import ClusterTrends
from console.options import options
from console.snapshots.store import LiveKeys
from console.usecases.same_database import refuse_other_console
from rmq_core.ownership.election import LeaseElection, Term, run_elected

log = logging.getLogger("console.keeper")

_WITH_SAMPLES = (WatchedDetails, KeepHistory, Incidents, ClusterTrends)


class Keeper:
    """Run with `await keeper.run(stop)`; `stop` is an event that ends it in good order."""

    def __init__(self) -> None:
        self.keys = LiveKeys(options().namespace)
        self.active = False
        self._engines: list[AsyncEngine] = []

    async def run(self, stop: asyncio.Event) -> None:
        """Stand for election, run every task while elected, let another one follow at the end.

        Raises `OtherConsole`.
        """

        async def lead(term: Term) -> None:
            gc.collect()  # of the term before, whose tasks and connections hold each other
            errors = ErrorLog()
            await refuse_other_console(self._engines[0], self.keys)
            self._tell(True)
            try:
                async with asyncio.TaskGroup() as group:
                    for task in self._tasks(term):
                        group.create_task(run_task(task, errors, stop), name=task.name)
            finally:
                self._tell(False)
                await self._close(self._engines[1:])

        lease = LeaseElection(self._engine().client, "keeper", f"{socket.gethostname()}/{os.getpid()}")
        leading = asyncio.create_task(run_elected(lease, lead))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.set()
            for task in (leading, stopping):
                task.cancel()
            try:
                with contextlib.suppress(asyncio.CancelledError):
                    await leading
            finally:
                await self._close(self._engines)
                await close_layer()

    def _tasks(self, term: Term) -> list[PeriodicTask]:
        outboxes = Outboxes(self._engine(), self.keys)
        recurrences = Recurrences(self._engine(), self.keys)
        sampling = Sampling(self._engine(), self.keys, outboxes, recurrences, lambda: term.valid)
        kinds: list[type[PeriodicTask]] = [SayWhose, DefinitionHistory, DueJobs, OldJobs, Recording]
        kinds += [OldRecords, OldHistory, AlertDeliveries]
        if options().run_routes:
            kinds.append(Forwarding)
        others = [kind(self._engine(), self.keys) for kind in kinds]
        with_samples = [kind(self._engine(), self.keys, sampling) for kind in _WITH_SAMPLES]
        alerts = Alerts(self._engine(), self.keys, sampling, lambda: term.valid)
        return [sampling, outboxes, recurrences, alerts, *with_samples, *others]

    def _engine(self) -> AsyncEngine:
        self._engines.append(new_async_engine())
        return self._engines[-1]

    async def _close(self, engines: list[AsyncEngine]) -> None:
        for each in [*engines]:
            self._engines.remove(each)
            await each.client.close()

    def _tell(self, active: bool) -> None:
        self.active = active
        log.info("this keeper is now %s", "active: it samples" if active else "no longer active")
