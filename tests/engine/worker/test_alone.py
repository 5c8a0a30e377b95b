"""What was in flight when a process died runs while nothing else runs in its process: in no slot, of no topic."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from rmq_core import Delivery, Listener
from rmq_core.protocol.scripts import one
from rmq_core.protocol.takes import takeover
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async

SUSPECTS = 6


class Watch:
    """Which calls ran beside which."""

    def __init__(self, call_s: float) -> None:
        self.call_s = call_s
        self.calls: list[list[str]] = []
        self.company: list[tuple[str, str]] = []
        self._running: dict[int, list[str]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def begin(self, deliveries: list[Delivery]) -> int:
        call = [f"{delivery.topic}/{delivery.text}" for delivery in deliveries]
        with self._lock:
            self.calls.append(call)
            beside = [name for each in self._running.values() for name in each]
            self.company += [pair for name in call for other in beside for pair in ((name, other), (other, name))]
            self.company += [(name, other) for name in call for other in call if name != other]
            self._running[number := next(self._numbers)] = call
        return number

    def end(self, number: int) -> None:
        with self._lock:
            del self._running[number]

    def plain(self, delivery: Delivery) -> None:
        self.batch([delivery])

    def batch(self, deliveries: list[Delivery]) -> None:
        number = self.begin(deliveries)
        time.sleep(self.call_s)  # the work itself
        self.end(number)

    async def coroutine(self, delivery: Delivery) -> None:
        number = self.begin([delivery])
        await asyncio.sleep(self.call_s)
        self.end(number)


@pytest.mark.parametrize(
    ("flavour", "meanwhile", "call_s", "others"),
    [
        ("plain", False, 0.003, 400),
        ("batch", False, 0.003, 400),
        ("coroutine", False, 0.003, 400),
        ("plain", True, 0.04, 80),
    ],
)
async def test_over_all_slots_and_topics_of_its_process(
    bench: WorkerBench, flavour: str, meanwhile: bool, call_s: float, others: int
) -> None:
    """``meanwhile``: others run when it comes."""
    bad, _ = bench.topic("bad", slots=4), bench.topic("good", slots=4)
    bench.send(*(f"s{n}" for n in range(SUSPECTS)), topic="bad", priority=900)
    held = bench.rmq.take("bad", SUSPECTS)  # by a process that will be dead
    assert len(held) == SUSPECTS
    bench.send(*(f"m{n}" for n in range(others)), topic="good")

    def give_up() -> None:
        for slot in range(bad.slots):
            bench.rmq.run(one(takeover(bench.rmq.keyspace, bad, slot, ""), int))
        bench.send(*(f"m{n}" for n in range(others // 4)), topic="bad")

    if not meanwhile:
        give_up()
    watch = Watch(call_s)
    size = 5 if flavour == "batch" else 1
    function: Callable[..., Any] = getattr(watch, flavour)
    async with bench.running(Listener("bad", function, batch=size), Listener("good", function, batch=size), threads=4):
        if meanwhile:
            await wait_until_async(lambda: len(watch.calls) > 5, what="others to run")
            give_up()
        await wait_until_async(
            lambda: bench.total("acked", "bad") + bench.total("acked", "good") == SUSPECTS + others // 4 + others,
            what="all to be done",
        )
    suspects = {f"bad/{delivery.text}" for delivery in held}
    assert [pair for pair in watch.company if pair[0] in suspects] == []
    assert watch.company  # the others ran side by side
    topics = [call[0].partition("/")[0] for call in watch.calls]
    first = min(position for position, call in enumerate(watch.calls) if call[0] in suspects)
    assert "good" in topics[first:]  # it had work, and waited
    assert not meanwhile or "good" in topics[:first]
