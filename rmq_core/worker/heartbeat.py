"""What a worker says of itself, once a second: whoever watches the fleet reads it, and misses who has fallen silent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.errors import RMQError
from rmq_core.model.text import NAME_MAX, shown
from rmq_core.ownership.contract import Ownership
from rmq_core.protocol.scripts import Call, script
from rmq_core.queries.owners import to_ranges
from rmq_core.worker.fair_share import FairShare, Gate
from rmq_core.worker.topic_runner import TopicRunner

HEARTBEAT_S = 1.0
FORGET_WORKERS_MS = 3_600_000
DONE_SMOOTHING = 0.3


class Heartbeat:
    """One for a worker; ``topics`` may still grow."""

    def __init__(
        self, client: AsyncRMQ, name: str, topics: Mapping[str, TopicRunner], ownership: Ownership, share: FairShare
    ) -> None:
        self._client = client
        self._name = name
        self._topics = topics
        self._ownership = ownership
        self._share = share
        self._started_ms = 0
        self._rate = 0.0
        self._counted: tuple[float, int] = (0.0, 0)
        self.state = "running"

    async def begin(self, started_ms: int) -> None:
        """The first; raises where the server is not there."""
        self._started_ms = started_ms
        await self._beat(self._about())

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            with contextlib.suppress(RMQError):  # the slot runners report trouble with the server
                await self._beat(self._about())
            await asyncio.sleep(HEARTBEAT_S)

    async def end(self) -> None:
        """Takes the worker off the list, where it has been put on it."""
        with contextlib.suppress(RMQError):
            if self._started_ms:
                await self._beat("")

    def _about(self) -> str:
        runners = self._topics.values()
        done = sum(runner.work.done for runner in runners)
        now = time.monotonic()
        before, counted = self._counted
        if before:
            rate = (done - counted) / max(now - before, 0.001)
            self._rate += DONE_SMOOTHING * (rate - self._rate)
        self._counted = (now, done)
        status = self._ownership.status()
        return json.dumps(
            {
                "host": shown(platform.node(), NAME_MAX),
                "pid": os.getpid(),
                "topics": sorted(self._topics),
                "started_ms": self._started_ms,
                "threads": self._share.capacity,
                "free": self._share.free,
                "in_flight": sum(runner.in_flight for runner in runners),
                "done": done,
                "failed": sum(runner.work.failed for runner in runners),
                "done_per_s": round(self._rate, 1),
                "stuck": sum(runner.stuck for runner in runners),
                "version": _version(),
                "state": self.state,
                "stale": sum(runner.work.stale for runner in runners),
                "session": status.session.value,
                "session_for_ms": status.for_ms,
                "weight": status.weight,
                "versions": {name: runner.definition.version for name, runner in self._topics.items()},
                "at_most_once": sorted(name for name, runner in self._topics.items() if runner.work.unsettled),
                "turns": {name: _turns(runner.work.gate) for name, runner in self._topics.items()},
                "slots": {name: to_ranges(runner.slots) for name, runner in self._topics.items()},
            },
            separators=(",", ":"),
        )

    async def _beat(self, about: str) -> None:
        request = Call(script("heartbeat"), [self._client.keyspace.workers], [self._name, about, FORGET_WORKERS_MS])
        await self._client.connection.run([request])


def _turns(gate: Gate) -> dict[str, int]:
    return {"running": gate.running, "most": gate.most, "could": gate.could}


def _version() -> str:
    try:
        return version("rmq-console")
    except PackageNotFoundError:
        return "source"
