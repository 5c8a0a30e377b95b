"""Whoever sends little is not kept waiting by whoever sends much, whatever a worker has fetched already."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from rmq_core import Delivery, Listener, PriorityMessage
from tests.engine.worker.bench import WorkerBench
from tests.engine.worker.test_order import Gated, gated
from tests.support.waiting import wait_until_async

__all__ = ["gated"]
THREADS = 2


def of(tenant: str, count: int, basis: str | None = None) -> list[PriorityMessage]:
    return [PriorityMessage(f"{tenant}{n}", 100, tenant=tenant, slot_basis=basis) for n in range(count)]


@pytest.mark.parametrize("by_tenant", [False, True], ids=["any slot", "slots by tenant"])
@pytest.mark.parametrize("slots", [1, 16], ids=str)
async def test_one_message_starts_before_a_long_backlog(
    bench: WorkerBench, gated: Gated, slots: int, by_tenant: bool
) -> None:
    """After two messages for each tenant and thread at most, beyond the calls that run."""
    bench.topic(slots=slots, fair=True)
    bench.rmq.send_many("work", of("a", 4_000, "a" if by_tenant else None))
    async with bench.running(Listener("work", gated), threads=THREADS):
        for calls in (1, 5, 20, 30):  # the worker learns that they are quick, and fetches ahead
            gated.let_go(calls)
        await gated.at(56)
        for tenant in "bcd":
            begun = len(gated.begun)
            await asyncio.to_thread(bench.rmq.send, "work", of(tenant, 1, tenant if by_tenant else None)[0])
            tenants = 2  # a, and the one that has come
            for _ in range(2 * tenants * THREADS):
                gated.let_go()
                if any(each.startswith(tenant) for each in gated.begun):
                    break
                await gated.at(begun + 1)
                begun += 1
            assert any(each.startswith(tenant) for each in gated.begun), gated.begun[-16:]
        gated.let_go(10_000)


@pytest.mark.parametrize("slots", [1, 8], ids=str)
async def test_threads_are_shared_by_weight(bench: WorkerBench, slots: int) -> None:
    bench.topic(slots=slots, fair=True, tenant_weights="b=3")
    for tenant in "ab":
        bench.rmq.send_many("work", of(tenant, 1_500))
    begun: list[str] = []

    def listen(delivery: Delivery) -> None:
        begun.append(delivery.tenant)

    async with bench.running(Listener("work", listen), threads=THREADS):
        await wait_until_async(lambda: len(begun) == 3_000, what="all to be done")
    shares = Counter(begun[:1_600])
    assert shares["b"] == pytest.approx(1_200, abs=250), shares
    assert bench.total("acked") == 3_000
