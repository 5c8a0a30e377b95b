"""Routes: run here, beside whoever else runs them, while this keeper is the active one."""

from __future__ import annotations

import asyncio
import os
import socket

from console.keeper.periodic import PeriodicTask
from rmq_core.worker.routing import Routing


class Forwarding(PeriodicTask):
    """A round looks whether the routes are still run; they are by a task of its own, which waits for nobody."""

    name = "running routes"
    _routing: Routing | None = None
    _task: asyncio.Task[None] | None = None

    async def round(self) -> None:
        if self._task is not None and self._task.done():
            ended, self._task = self._task, None
            ended.result()  # raises what ended it
        if self._task is None:
            self._routing = Routing(self.engine.client, f"keeper {socket.gethostname()}/{os.getpid()}")
            self._task = asyncio.create_task(self._routing.run())

    async def close(self) -> None:
        if self._routing is not None and self._task is not None:
            self._routing.stop()
            await asyncio.gather(self._task, return_exceptions=True)
