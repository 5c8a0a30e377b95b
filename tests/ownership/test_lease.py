"""The lease decides whether a listener call may still begin."""

from __future__ import annotations

import time

from rmq_core import Delivery, Listener, Topic
from rmq_core.ownership.lease import Lease
from rmq_core.worker.batch import Batch
from rmq_core.worker.dispatch import Dispatch
from rmq_core.worker.fair_share import FairShare


def test_a_proof_extends_it_from_when_it_was_asked_for() -> None:
    lease = Lease()
    assert not lease.valid
    assert lease.renew(lease.generation(), time.monotonic(), 60)
    assert lease.valid
    assert lease.renew(lease.generation(), time.monotonic() - 61, 60)
    assert not lease.valid


def test_a_proof_asked_for_before_a_break_proves_nothing() -> None:
    lease = Lease()
    generation = lease.generation()
    lease.revoke()
    assert not lease.renew(generation, time.monotonic(), 60)
    assert not lease.valid
    assert lease.renew(lease.generation(), time.monotonic(), 60)
    assert lease.valid


def _lanes() -> Dispatch:
    return Dispatch(timed=False, gate=FairShare(1).join("work", 1))


def _deliveries(count: int) -> list[Delivery]:
    return [Delivery("work", 0, b"%d" % i, i, 17, None, False, 16) for i in range(count)]


def test_no_call_begins_after_its_end() -> None:
    lease, begun = Lease.for_ever(), []

    def work(delivery: Delivery) -> None:
        begun.append(delivery.id)
        if delivery.id == "1":
            lease.revoke()  # as kazoo's thread does while a call runs

    batch = Batch(Listener("work", work, Topic("work", "priority")), _deliveries(4), lease)
    batch.run(_lanes())
    assert begun == ["0", "1"]
    assert [delivery.id for delivery, _ in batch.finished] == ["0", "1"]
    assert batch.closing
    assert [delivery.id for delivery in batch.not_started] == ["2", "3"]


async def test_nor_does_a_coroutine() -> None:
    lease, begun = Lease.for_ever(), []

    async def work(delivery: Delivery) -> None:
        begun.append(delivery.id)
        lease.revoke()

    batch = Batch(Listener("work", work, Topic("work", "priority")), _deliveries(3), lease)
    await batch.run_async(_lanes())
    assert (begun, batch.closing) == (["0"], True)
