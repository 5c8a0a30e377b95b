"""A worker in the test's own event loop, and what its listeners were given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import redis

from rmq_core import RMQ, Control, Inspector, PriorityMessage, Topic, TopicKind, Worker
from rmq_core.worker.fair_share import Gate
from tests.engine.ledgers import SlotLedger, all_books, slot_ledger
from tests.support.waiting import wait_until_async


@dataclass
class WorkerBench:
    """A plain client beside the workers under test."""

    url: str
    namespace: str
    rmq: RMQ
    raw: redis.Redis

    @property
    def inspector(self) -> Inspector:
        return Inspector(self.rmq)

    @property
    def control(self) -> Control:
        return Control(self.rmq)

    def topic(self, name: str = "work", kind: TopicKind = TopicKind.PRIORITY, **options: Any) -> Topic:
        """One slot, retrying at once, unless told otherwise."""
        settings = {"slots": 1, "backoff_ms": 0, "backoff_max_ms": 0} | options
        return self.rmq.define(Topic(name, kind, **settings))

    def edit(self, topic: Topic, **changes: Any) -> Topic:
        """What an operator does."""
        return self.control.put_topic(replace(topic, **changes), topic.version)

    def send(self, *contents: str, topic: str = "work", priority: int = 20) -> None:
        self.rmq.send_many(topic, [PriorityMessage(content, priority) for content in contents])

    def ledger(self, topic: str = "work", slot: int = 0) -> SlotLedger:
        return slot_ledger(self.raw, self.namespace, topic, slot)

    def total(self, counter: str, topic: str = "work") -> int:
        """A counter over all slots."""
        prefix = f"{self.namespace}:{topic}_"
        ledger = all_books(self.raw, self.namespace)
        return sum(each.stats.get(counter, 0) for each in ledger if each.name.startswith(prefix))

    def held(self) -> int:
        """Messages in any queue of any topic."""
        return sum(len(ledger.held) for ledger in all_books(self.raw, self.namespace))

    def worker(self, *listeners: Any, **options: Any) -> Worker:
        return Worker(self.url, listeners, namespace=self.namespace, **options)

    def one_lane(self, listener: Any, **options: Any) -> Worker:
        """A worker with one turn for all calls. Sharing makes at least two of one thread."""
        worker = self.worker(listener, threads=1, **options)
        join = worker._thread_share.join

        def join_alone(name: str, weight: int, turns: int | None = None) -> Gate:
            gate = join(name, weight)
            worker._thread_share.capacity = 1
            gate.limit = 1.0
            return gate

        worker._thread_share.join = join_alone  # type: ignore[method-assign]
        return worker

    @asynccontextmanager
    async def running(self, *listeners: Any, **options: Any) -> AsyncIterator[Worker]:
        """A worker that has started; stopped in good order at the end."""
        async with self.running_this(self.worker(*listeners, **options)) as worker:
            yield worker

    @asynccontextmanager
    async def running_this(self, worker: Worker) -> AsyncIterator[Worker]:
        """The same for one that was made before."""
        serving = asyncio.create_task(worker.serve())
        try:
            await wait_until_async(lambda: serving.done() or self.alive(worker), what="the worker to start")
            yield worker
        finally:
            if not serving.done():
                worker.stop()
            await serving

    def alive(self, worker: Worker) -> bool:
        return bool(self.raw.hexists(f"{self.namespace}:workers", worker.name))


def open_bench(url: str, namespace: str, raw: redis.Redis) -> Iterator[WorkerBench]:
    with RMQ(url, namespace) as rmq:
        bench = WorkerBench(url, namespace, rmq, raw)
        yield bench
        raw.delete(f"{namespace}:workers")
        for topic in bench.inspector.topics():
            bench.control.delete_topic(topic.name, force=True)
