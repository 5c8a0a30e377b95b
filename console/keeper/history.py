"""The history of days: takes in every sample, and writes what is new of each topic once a minute."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence
from uuid import uuid4

from console.engine import AsyncEngine
from console.history import problems, store, workers
from console.history.points import Point, grouped
from console.history.reading import rows_of
from console.history.writing import Batch, write
from console.keeper.fleet import owners_of
from console.keeper.history_buffer import FINEST, HistoryBuffer
from console.keeper.live_tasks import Sampling
from console.keeper.periodic import PeriodicTask
from console.keeper.sampler import Round
from console.keeper.steady_clock import SteadyClock
from console.options import options
from console.snapshots.store import LiveKeys, read_history
from console.threads import DatabaseThread, with_database
from rmq_core.model.topic import Topic
from rmq_core.model.views import WorkerInfo

log = logging.getLogger("console.keeper")

MIB = 1_048_576
WRITE_EVERY_S = 60.0
TOPICS_AT_ONCE = 50
ROWS_MOST, ROWS_LEAST = 200_000, 60
"""Of all topics together, and of each at least: what waits while the database is away."""


class KeepHistory(PeriodicTask):
    """Each topic has its own turn within the minute, so that a thousand are not written at once."""

    name = "keeping history"
    every_s = 2.0

    def __init__(self, engine: AsyncEngine, keys: LiveKeys, sampling: Sampling) -> None:
        super().__init__(engine, keys)
        self._database = DatabaseThread()
        self._writer: str | None = None
        self._buffers: dict[str, HistoryBuffer] = {}
        self._turns: dict[str, float] = {}
        self._begun: set[str] = set()
        self._workers: Sequence[WorkerInfo] = ()
        self._owners: dict[str, Sequence[str | None] | None] = {}
        self._gone: set[str] = set()
        if options().history_max_mib:
            sampling.observers.append(self.take)

    def take(self, done: Round) -> None:
        """A sample of all topics."""
        workers = done.observed.workers if done.observed else ()
        if workers is not self._workers:
            self._workers, self._owners = workers, {}
        for state, sample in zip(done.states, done.samples, strict=True):
            name = sample.topic.name
            buffer = self._buffers.get(name) or self._new(name, sample.topic.is_stream)
            buffer.take(state.numbers.point(), done.lateness[name], sample.slots, self._owners_of(sample.topic))
        self._gone = set(self._buffers) - {sample.topic.name for sample in done.samples}

    async def round(self) -> None:
        now = time.monotonic()
        await self._write([name for name, turn in self._turns.items() if turn <= now or name in self._gone])
        for name in self._gone & set(self._buffers):
            self._forget(name)

    async def close(self) -> None:
        """What was taken in so far is written, or else the next keeper finds it in Redis."""
        with contextlib.suppress(Exception):
            await self._write(list(self._buffers))
        await self._database.close()

    async def _write(self, names: Sequence[str]) -> None:
        if names and self._writer is None:
            writer = uuid4().hex
            await self._database.call(store.begin, writer)
            self._writer = writer
        for at in range(0, len(names), TOPICS_AT_ONCE):
            some = names[at : at + TOPICS_AT_ONCE]
            batches = [await self._batch(name) for name in some]
            try:
                await self._database.call(write, str(self._writer), batches)
            except store.OtherWriter:
                log.info("another keeper writes the history now; what this one has not written is left to that one")
                self._writer = None
                for name in list(self._buffers):
                    self._forget(name)
                return
            for name, batch in zip(some, batches, strict=True):
                self._buffers[name].written(batch)
                if self._buffers[name].has_closed:
                    self._begun.add(name)
                self._turns[name] = time.monotonic() + WRITE_EVERY_S

    async def _batch(self, name: str) -> Batch:
        buffer = self._buffers[name]
        if name in self._begun or not buffer.has_closed:
            return buffer.batch()
        return buffer.batch(await self._before(name, buffer.first_ms or 0))

    async def _before(self, name: str, first_ms: int) -> list[Point]:
        """What a keeper that is no more has sampled and not written, and the beginning of our own first row."""
        text = await self.engine.client.run(read_history(self.keys.history(name)))
        return [row for row in grouped(rows_of(text), FINEST.step_ms) if int(row[0] or 0) <= first_ms]

    def _new(self, name: str, stream: bool = False) -> HistoryBuffer:
        number = len(self._buffers)
        most = max(ROWS_LEAST, ROWS_MOST >> number.bit_length())
        if number & (number - 1) == 0:  # twice as many as when it was said last
            for each in self._buffers.values():
                each.limit(most)
        self._buffers[name] = HistoryBuffer(name, most, stream)
        share = (len(self._buffers) * 0.618) % 1  # spread evenly, however many there are
        self._turns[name] = time.monotonic() + WRITE_EVERY_S * share
        return self._buffers[name]

    def _forget(self, name: str) -> None:
        self._buffers.pop(name, None)
        self._turns.pop(name, None)
        self._begun.discard(name)

    def _owners_of(self, topic: Topic) -> Sequence[str | None] | None:
        if topic.name not in self._owners:
            self._owners[topic.name] = owners_of(self._workers, topic)
        return self._owners[topic.name]


class OldHistory(PeriodicTask):
    """What is older than it is kept, by a clock that is steady, and what is more than `HISTORY_MAX_MIB`."""

    name = "forgetting old history"
    every_s = 600.0

    def __init__(self, engine: AsyncEngine, keys: LiveKeys) -> None:
        super().__init__(engine, keys)
        self._clock = SteadyClock()

    async def round(self) -> None:
        now_ms = await self.engine.inspector.now_ms()
        if self._clock.is_steady(now_ms):
            await with_database(store.forget, now_ms)
            await with_database(problems.forget, now_ms)
            await with_database(workers.forget, now_ms)
        await with_database(store.shrink, options().history_max_mib * MIB)
