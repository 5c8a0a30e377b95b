"""Priority inversion: calls begun although something higher had been accepted 10 ms before and waited in another slot.

Two threads, a listener that takes 1 ms; a standing backlog of random priorities to which more are sent, and 64 high
ones sent into a backlog of low ones. A slot in which a call runs cannot have another one, so what waits there does not
count; nor do two calls that began within the 5 ms that Python may leave a thread waiting.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from benchmarks.harness import PrivateRedis, Report, Series, at_most, repeats_for
from rmq_core import RMQ, Listener, PriorityMessage, Topic, TopicKind, Worker

CALL_S = 0.001
LATE_S = 0.010
SIDE_BY_SIDE_S = 0.005
HIGH = 64
DONE_WITHIN_S = 300


class Begun(NamedTuple):
    """One call."""

    at: float
    until: float
    id: str
    slot: int


def main(quick: bool) -> None:
    count = 2_000 if quick else 10_000
    with PrivateRedis() as server, RMQ(server.url) as rmq:
        figures: dict[str, list[float]] = defaultdict(list)
        for _ in range(repeats_for(quick)):
            for slots in (64, 4_096):
                for name, high in (("random priorities", False), ("64 high ones into low ones", True)):
                    figures[f"{name}, {slots:,} slots"].append(inverted(rmq, server.url, slots, count, high=high))
        settings = {"messages": count, "call_ms": 1, "threads": 2, "late_ms": 10}
        report = Report("inversion", quick, server, list(figures), settings)
        for name, values in figures.items():
            report.add(name, Series(tuple(values)), "calls", bar=at_most(0))
        report.finish()


def inverted(rmq: RMQ, url: str, slots: int, count: int, *, high: bool) -> int:
    """How many calls were begun although something higher waited."""
    rmq.connection.client.flushdb()
    rmq.define(Topic("bench", TopicKind.PRIORITY, slots=slots))
    chance = random.Random(slots)
    backlog = [PriorityMessage(f"m{i}", 20 if high else chance.randrange(17, 1_000)) for i in range(count)]
    rmq.send_many("bench", backlog)
    priorities = {str(message.content): message.priority for message in backlog}
    accepted = dict.fromkeys(priorities, 0.0)
    calls: list[Begun] = []

    def listen(delivery: Any) -> None:
        began = time.monotonic()
        time.sleep(CALL_S)
        calls.append(Begun(began, time.monotonic(), delivery.text, delivery.slot))

    def send(messages: list[PriorityMessage]) -> None:
        rmq.send_many("bench", messages)
        now = time.monotonic()
        for message in messages:
            priorities[str(message.content)] = message.priority
            accepted[str(message.content)] = now

    def feed() -> None:
        while len(calls) < count // 4:
            time.sleep(CALL_S)
        if high:
            send([PriorityMessage(f"h{i}", 900) for i in range(HIGH)])
            return
        for i in range(count // 10):
            send([PriorityMessage(f"h{i}", chance.randrange(17, 1_000))])
            time.sleep(2 * CALL_S)

    async def work() -> None:
        worker = Worker(url, [Listener("bench", listen)], threads=2)
        serving = asyncio.create_task(worker.serve())
        feeding = threading.Thread(target=feed)
        feeding.start()
        give_up_at = time.monotonic() + DONE_WITHIN_S
        while feeding.is_alive() or len(calls) < len(priorities):
            if time.monotonic() > give_up_at:
                raise RuntimeError(f"stuck at {len(calls)} of {len(priorities)}")
            await asyncio.sleep(0.01)
        worker.stop()
        await serving

    asyncio.run(work())
    return count_inverted(calls, priorities, accepted)


def count_inverted(calls: Iterable[Begun], priorities: dict[str, int], accepted: dict[str, float]) -> int:
    """Of the calls, those that a higher one should have come before."""
    in_order = sorted(calls)
    by_slot: dict[int, list[Begun]] = defaultdict(list)
    for call in in_order:
        by_slot[call.slot].append(call)
    best_first = sorted(in_order, key=lambda call: -priorities[call.id])
    found = 0
    for call in in_order:
        for other in best_first:
            if priorities[other.id] <= priorities[call.id]:
                break
            waited = accepted[other.id] + LATE_S < call.at and other.at > call.at + SIDE_BY_SIDE_S
            if waited and not any(busy.at <= call.at <= busy.until + CALL_S for busy in by_slot[other.slot]):
                found += 1
                break
    return found


if __name__ == "__main__":
    main(quick=False)
