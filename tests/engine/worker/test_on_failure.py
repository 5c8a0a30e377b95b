"""A worker on a topic whose messages wait for the failed one of their slot basis."""

from __future__ import annotations

from rmq_core import Delivery, Listener, PriorityMessage
from tests.engine.worker.bench import WorkerBench
from tests.support.waiting import wait_until_async


async def test_what_was_prefetched_waits_too_and_others_go_on(bench: WorkerBench) -> None:
    bench.topic(on_failure="wait", backoff_ms=50, backoff_max_ms=50, max_retries=3)
    names = [f"{basis}{n}" for n in range(4) for basis in "ab"]
    bench.rmq.send_many("work", [PriorityMessage(name, 20, key=name, slot_basis=name[0]) for name in names])
    ran: list[str] = []

    def work(delivery: Delivery) -> None:
        ran.append(delivery.text)
        if delivery.text == "a0" and delivery.attempt < 3:
            raise ValueError

    async with bench.running(Listener("work", work)):
        await wait_until_async(lambda: bench.held() == 0, what="all to be done")
    assert [name for name in ran if name[0] == "a"] == ["a0", "a0", "a0", "a1", "a2", "a3"]
    assert [name for name in ran if name[0] == "b"] == ["b0", "b1", "b2", "b3"]
    assert ran.index("b3") < ran.index("a1"), "others of the slot went on meanwhile"
