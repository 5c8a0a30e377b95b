"""A backlog, and how fast it is drained: by a real worker in this process, or by the bare cycle script."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from rmq_core import RMQ, Listener, PriorityMessage, Topic, TopicKind, Worker
from rmq_core.protocol.takes import Ack, cycle, read_cycle
from rmq_core.worker.event_loop import new_event_loop

IDLE_LIMIT_S = 60.0
TAKE = 500
CONTENT = b"%032d"


def define(rmq: RMQ, slots: int, **options: Any) -> Topic:
    """The topic ``bench`` on an empty server."""
    rmq.connection.client.flushdb()
    return rmq.define(Topic("bench", TopicKind.PRIORITY, slots=slots, **options))


def fill(rmq: RMQ, count: int) -> None:
    """So many messages of 32 bytes in it."""
    rmq.send_many("bench", (PriorityMessage(CONTENT % i, 17 + i % 100) for i in range(count)))


def worker_rate(url: str, count: int, batch: int = 1, **options: Any) -> float:
    """Messages per second of one worker; ``batch`` 1: a plain listener called per message."""
    handled = 0

    def one(_: Any) -> None:
        nonlocal handled
        handled += 1

    def some(deliveries: list[Any]) -> None:
        nonlocal handled
        handled += len(deliveries)

    listener = Listener("bench", some if batch > 1 else one, batch=batch)
    return count / drain_seconds(url, listener, count, lambda: handled, **options)


def cycle_rate(rmq: RMQ, topic: Topic, count: int) -> float:
    """Messages per second of taking and acking with nothing around it."""
    settled = 0
    pending: dict[int, list[Ack]] = {slot: [] for slot in range(topic.slots)}
    began = time.perf_counter()
    while settled < count:
        requests = [cycle(rmq.keyspace, topic, slot, TAKE, acks=pending[slot]) for slot in pending]
        for slot, reply in enumerate(rmq.connection.run(requests)):
            settled += len(pending[slot])
            taken = read_cycle(topic, slot, reply).deliveries
            pending[slot] = [Ack(delivery.raw_id, delivery.receipt) for delivery in taken]
    return count / (time.perf_counter() - began)


def drain_seconds(url: str, listener: Listener, wanted: int, handled: Callable[[], int], **options: Any) -> float:
    """From the first delivery to the last; raises RuntimeError when nothing moves any more."""
    worker = Worker(url, [listener], **options)

    async def drain() -> float:
        serving = asyncio.create_task(worker.serve())
        began = moved_at = time.perf_counter()
        before = 0
        while (count := handled()) < wanted:
            now = time.perf_counter()
            if before == 0 and count:
                began = now
            if count != before:
                before, moved_at = count, now
            if now - moved_at > IDLE_LIMIT_S or serving.done():
                worker.stop()
                await serving
                raise RuntimeError(f"stuck at {count} of {wanted}")
            await asyncio.sleep(0.002)
        took = time.perf_counter() - began
        worker.stop()
        await serving
        return took

    # As `Worker.run` does.
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(drain())
