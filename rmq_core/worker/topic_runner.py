"""One topic in this worker: its slot runners, which follow its definition."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from functools import partial

from rmq_core.model.topic import Topic
from rmq_core.ownership.contract import SlotEvents
from rmq_core.protocol.wakes import read_wake
from rmq_core.worker.slot_runner import SlotRunner
from rmq_core.worker.slot_sleep import NEVER
from rmq_core.worker.topic_work import TopicWork

log = logging.getLogger(__name__)


class TopicRunner:
    """Owns the slot runners of one listener."""

    def __init__(self, work: TopicWork) -> None:
        self.work = work
        self.events: SlotEvents | None = None
        self.deleted = False
        self._runners: dict[int, tuple[SlotRunner, asyncio.Task[None]]] = {}
        work.alone.watchers.append(self._clear)

    @property
    def name(self) -> str:
        """The topic's name."""
        return self.work.definition.name

    @property
    def definition(self) -> Topic:
        """The topic as it is now."""
        return self.work.definition

    @property
    def slots(self) -> tuple[int, ...]:
        """Slots with a runner here."""
        return tuple(self._runners)

    @property
    def idle(self) -> Iterator[SlotRunner]:
        """Runners that sleep because nothing is ready."""
        return (runner for runner, _ in self._runners.values() if runner.sleep.until_ms is not None)

    @property
    def in_flight(self) -> int:
        """Deliveries not finished."""
        return sum(runner.in_flight for runner, _ in self._runners.values())

    @property
    def stuck(self) -> int:
        """Calls that run for too long."""
        return sum(runner.stuck for runner, _ in self._runners.values())

    @property
    def _channels(self) -> list[str]:
        """Where something is said of its slots: of a group, what is added to the stream, too."""
        return [self.work.keyspace.wake(name) for name in dict.fromkeys((self.name, self.name.partition("@")[0]))]

    async def listen(self) -> None:
        """Hears wake-ups from now on, and knows what time it is on the server."""
        client = self.work.client
        for channel in self._channels:
            await client.wakeups.add(channel, self._wake)
        if not client.target.is_cluster:
            ((seconds, micros),) = await client.connection.run([("TIME",)])
            self.work.clock.age_us(int(seconds) * 1_000_000 + int(micros), time.monotonic())

    def add(self, slot: int, epoch: str = "") -> None:
        """Starts a runner."""
        runner = SlotRunner(self.work, slot, epoch, fenced=self._fenced)
        task = asyncio.create_task(runner.run(), name=f"rmq-{self.name}-{slot}")
        self._runners[slot] = (runner, task)
        self.work.queue.slots = len(self._runners)
        task.add_done_callback(partial(self._ended, slot))

    def retire(self, slot: int) -> None:
        """Stops a runner, after the call it is in."""
        self._runners[slot][0].stop()

    def _ended(self, slot: int, task: asyncio.Task[None]) -> None:
        del self._runners[slot]
        self.work.queue.slots = len(self._runners)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s[%d]: the slot's runner failed", self.name, slot, exc_info=error)
        if self.events is not None:
            self.events.ended(slot)

    def _fenced(self, slot: int) -> None:
        """It turned out to belong to somebody else; in shared mode it is looked at again later."""
        if self.events is not None:
            self.events.fenced(slot)

    def stop(self) -> list[asyncio.Task[None]]:
        """Tells every runner to stop; the tasks end when their present call has."""
        client = self.work.client
        for channel in self._channels:
            client.wakeups.remove(channel, self._wake)
        for runner, _ in self._runners.values():
            runner.stop()
        return [task for _, task in self._runners.values()]

    def wake(self) -> None:
        """Every slot looks again now."""
        for runner, _ in self._runners.values():
            runner.sleep.seen = NEVER
            runner.hear(None)

    def _wake(self, payload: bytes | None) -> None:
        if payload is None:
            if not self.work.look_soon():
                self.wake()
        elif (wake := read_wake(payload)) and (found := self._runners.get(wake.slot)):
            found[0].hear(wake.head)

    def redefine(self, definition: Topic) -> None:
        """Follows an operator's edit, which never changes kind or slots."""
        self.work.redefine(definition)
        self.wake()

    async def let_go(self) -> None:
        """Returns when no slot has a runner any more."""
        while self._runners:
            await asyncio.wait([task for _, task in self._runners.values()])

    def reshape(self, definition: Topic) -> None:
        """Begins again as a topic of that kind and with those slots. No slot has a runner."""
        self.work.reshape(definition)
        self.wake()

    def _clear(self) -> None:
        """Somebody wants to be alone, or nobody any more."""
        if self.work.alone.wanted:
            for runner, _ in self._runners.values():
                runner.clear()
        else:
            self.work.queue.pump()
