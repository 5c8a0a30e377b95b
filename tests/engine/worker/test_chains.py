"""What follows messages that a worker handles."""

from __future__ import annotations

import pytest

from rmq_core import Addressed, Delivery, Listener
from rmq_core.errors import UnknownTopic
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async


@pytest.mark.parametrize("batch", [1, 4])
async def test_what_succeeds_and_what_dies_is_followed(bench: WorkerBench, batch: int) -> None:
    bench.topic(slots=2, max_retries=0)
    bench.topic(name="next")
    seen: list[str] = []

    def work(given: Delivery | list[Delivery]) -> None:
        several = given if isinstance(given, list) else [given]
        if any(each.text.startswith("bad") for each in several):
            raise ValueError

    for n in range(6):
        name = f"{'bad' if n % 2 else 'good'} {n}"
        if_done, if_dead = (Addressed("next", f"{name} {what}", priority=20) for what in ("done", "died"))
        bench.rmq.send(
            "work", name, priority=20, if_done=if_done, if_dead=if_dead, slot_basis="bad" if n % 2 else "good"
        )
    listeners = Listener("work", work, batch=batch), Listener("next", lambda each: seen.append(each.text))
    async with bench.running(*listeners):
        await wait_until_async(lambda: len(seen) == 6, what="all that follows")
    assert sorted(seen) == ["bad 1 died", "bad 3 died", "bad 5 died", "good 0 done", "good 2 done", "good 4 done"]


async def test_where_it_cannot_be_sent_the_message_has_failed(bench: WorkerBench) -> None:
    bench.topic(max_retries=1)
    bench.rmq.send("work", "a", priority=20, if_done=Addressed("nowhere", "b", priority=20))
    async with bench.running(Listener("work", lambda each: None)):
        await wait_until_async(lambda: bench.ledger().queues["dead"], what="the dead letter")
    (view,) = bench.inspector.find("work", "a")
    assert (view.failure.error, view.failure.failures) == (UnknownTopic.__name__, 2)
