"""One way to drive every client on every deployment: scenarios are coroutines, a synchronous client runs in threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from redis.cluster import RedisCluster

from rmq_core import (
    RMQ,
    AsyncControl,
    AsyncInspector,
    AsyncRMQ,
    Control,
    Delivery,
    FixedTimeMessage,
    Inspector,
    PriorityMessage,
    RangeMergeMessage,
    Topic,
    TopicKind,
)
from rmq_core.journal import Read, reader
from rmq_core.protocol.scripts import one
from tests.engine.journals import assert_replay_is_the_truth, assert_stream_is_what_its_journal_says
from tests.engine.ledgers import SlotLedger, slot_ledger
from tests.support.waiting import wait_until_async

SOON_MS = 40
"""A delay short enough to wait for and long enough to look at."""

FAR_MS = 3_600_000

_THREADS = ThreadPoolExecutor(32, "bench")  # more than ever sleep at once


class Awaited:
    """An object whose methods are awaited and run in a thread."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.get_running_loop().run_in_executor(_THREADS, partial(found, *args, **kwargs))

        return call


@dataclass
class Bench:
    """A client (every method of ``q``, ``inspector``, ``control`` is awaited), and a plain look at its server."""

    q: Any
    inspector: Any
    control: Any
    raw: Any
    namespace: str
    journal: str = "off"

    async def topic(self, kind: TopicKind = TopicKind.PRIORITY, name: str = "work", **options: Any) -> Topic:
        """A fresh topic; one slot unless told otherwise, retrying at once."""
        settings = {"slots": 1, "backoff_ms": 0, "backoff_max_ms": 0, "journal": self.journal} | options
        return await self.q.define(Topic(name, kind, **settings))

    async def now_ms(self) -> int:
        """The server's clock."""
        return await self.inspector.now_ms()

    async def take_one(self, topic: str = "work", timeout_ms: int = 5_000) -> Delivery:
        """The next delivery; there must be one."""
        (delivery,) = await self.q.take(topic, timeout_ms=timeout_ms)
        return delivery

    async def drain(self, topic: str = "work") -> list[Delivery]:
        """Takes and acks whatever is ready, in order."""
        taken: list[Delivery] = []
        while some := await self.q.take(topic, 1000):
            taken += some
            await self.q.ack(some)
        return taken

    async def run(self, call: Any) -> Any:
        """The reply to one script call."""
        return await self.q.run(one(call, lambda reply: reply))

    async def redefine(self, topic: Topic, **changes: Any) -> Topic:
        """Edits a definition as an operator would."""
        return await self.control.put_topic(replace(topic, **changes), topic.version)

    async def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Waits until ``condition`` (plain or a coroutine function) holds."""
        return await wait_until_async(condition, what=what)

    def ledger(self, topic: str = "work", slot: int = 0) -> SlotLedger:
        """What a slot really holds."""
        return slot_ledger(self.raw, self.namespace, topic, slot)

    async def journaled(self, topic: Topic) -> Read:
        """Its journal, from the beginning."""
        return await self.q.run(reader.read(self.q.keyspace, topic, count=100_000))

    async def check_journals(self) -> None:
        """Replaying the journal of every topic that was journaled from its beginning gives what Redis holds."""
        topics = await self.inspector.topics()
        for topic in [each for each in topics if each.is_stream]:
            topics += await self.inspector.groups(topic)
        for topic in topics:
            found = await self.journaled(topic)
            began = [each for each in found.transitions if each.event == "began"]
            if [(each.n, each.score) for each in began] != [(1, 0)] * topic.slots or found.gaps:
                continue
            for slot in range(topic.slots):
                reported = [each for each in found.transitions if each.slot == slot]
                if topic.is_stream:
                    kept = self.raw.xrange(f"{self.namespace}:{topic.name}_{slot}")
                    assert_stream_is_what_its_journal_says(reported, kept, topic.journal == "full")
                    continue
                full = topic.journal == "full" and not topic.is_group  # the contents are in the stream's journal
                assert_replay_is_the_truth(reported, self.ledger(topic.name, slot), full)

    def subscribed(self, topic: str = "work") -> bool:
        """Whether somebody listens for wake-ups of the topic (on any node)."""
        channel = f"{self.namespace}:wake:{topic}".encode()
        nodes = [self.raw]
        if isinstance(self.raw, RedisCluster):
            nodes = [self.raw.get_redis_connection(node) for node in self.raw.get_primaries()]
        return any(channel in node.pubsub_channels() for node in nodes)


def message(kind: TopicKind, content: str | bytes, **options: Any) -> Any:
    """A message that is ready as soon as its kind allows: priority at once, timed ones in `SOON_MS`."""
    if kind is TopicKind.PRIORITY:
        return PriorityMessage(content, **({"priority": 100} | options))
    if kind is TopicKind.RANGE_MERGE:
        return RangeMergeMessage(content, **({"range_ms": 1} | options))
    return FixedTimeMessage(content, **options)


@asynccontextmanager
async def open_bench(
    flavour: str, url: str, namespace: str, raw: Any, client: Callable[[], Any] | None = None
) -> AsyncIterator[Bench]:
    """``flavour`` is ``sync`` or ``async``; ``client`` makes a redis-py client to hand in."""
    given = client() if client else None
    if flavour == "sync":
        with RMQ(url, namespace, client=given) as rmq:
            yield Bench(Awaited(rmq), Awaited(Inspector(rmq)), Awaited(Control(rmq)), raw, namespace)
    else:
        async with AsyncRMQ(url, namespace, client=given) as rmq:
            yield Bench(rmq, AsyncInspector(rmq), AsyncControl(rmq), raw, namespace)
    if given is not None:
        closed = given.close() if flavour == "sync" else given.aclose()
        if closed is not None:
            await closed
