"""A slot that is to move does not wait for its turn among those that stay."""

from __future__ import annotations

import asyncio

from rmq_core import AsyncControl, AsyncRMQ, Listener, PriorityMessage, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.ownership.lease import Lease
from rmq_core.protocol.slot_calls import epoch_text
from rmq_core.worker.fair_share import FairShare
from rmq_core.worker.threads import Threads
from rmq_core.worker.topic_runner import TopicRunner
from rmq_core.worker.topic_work import TopicWork
from tests.support.waiting import PATIENCE_S, wait_until_async


async def test_who_gives_up_waiting_for_a_turn_is_passed_over() -> None:
    share = FairShare(1)
    gate, _ = share.join("work", 1), share.join("idle", 1)
    share.capacity = 2  # one turn for each topic
    await gate.acquire()
    waiting = [asyncio.create_task(gate.acquire()) for _ in range(4)]
    await asyncio.sleep(0)
    assert gate.wants
    for task in waiting[:3]:
        task.cancel()
    await asyncio.sleep(0)
    gate.release()
    await waiting[3]
    assert gate.running == 1
    gate.release()
    assert (gate.running, gate.wants, share.contended) == (0, False, False)
    await asyncio.gather(*waiting[:3], return_exceptions=True)


async def test_a_turn_granted_to_who_gave_up_goes_to_the_next() -> None:
    share = FairShare(2)
    gate = share.join("work", 1)
    await gate.acquire()
    await gate.acquire()
    first, second = (asyncio.create_task(gate.acquire()) for _ in range(2))
    await asyncio.sleep(0)
    gate.release()  # granted to the first, which has not run since
    first.cancel()
    async with asyncio.timeout(PATIENCE_S):
        await second
    assert first.cancelled()
    assert gate.running == 2


class Events:
    """What a topic runner reports upward."""

    def __init__(self) -> None:
        self.ended_slots: list[int] = []
        self.fenced_slots: list[int] = []

    def ended(self, slot: int) -> None:
        self.ended_slots.append(slot)

    def fenced(self, slot: int) -> None:
        self.fenced_slots.append(slot)


async def test_a_slot_is_retired_while_it_waits_for_a_turn(redis_server: EmbeddedRedis, namespace: str) -> None:
    share = FairShare(2)
    gate, _ = share.join("work", 1), share.join("idle", 1)
    async with AsyncRMQ(redis_server.url, namespace) as client:
        definition = await client.define(Topic("work", "priority", slots=1))
        await client.send("work", PriorityMessage("a", 30))
        listener = Listener("work", print, definition)
        topic = TopicRunner(TopicWork(client, definition, listener, gate, Threads(), "ann", 10, Lease.for_ever()))
        topic.events = events = Events()
        while gate.running < int(share.capacity) - 1:
            await gate.acquire()  # turns that do not end
        topic.add(0)
        await wait_until_async(lambda: gate.wants, what="the slot to wait for a turn")
        topic.retire(0)
        await wait_until_async(lambda: events.ended_slots == [0], what="the slot to be retired")
        assert topic.slots == ()
        (back,) = await client.take("work", timeout_ms=10_000)
        assert (back.text, back.attempt) == ("a", 1)
        await client.ack(back)
        await AsyncControl(client).delete_topic("work")


async def test_a_refused_epoch_is_reported(redis_server: EmbeddedRedis, namespace: str) -> None:
    share = FairShare(2)
    async with AsyncRMQ(redis_server.url, namespace) as client:
        definition = await client.define(Topic("work", "priority", slots=4))
        listener, gate = Listener("work", print, definition), share.join("work", 1)
        topic = TopicRunner(TopicWork(client, definition, listener, gate, Threads(), "ann", 10, Lease.for_ever()))
        topic.events = events = Events()
        topic.add(1, epoch_text(7))  # which nobody has acquired
        await wait_until_async(lambda: events.fenced_slots == [1], what="the refusal to be reported")
        topic.retire(1)
        await wait_until_async(lambda: events.ended_slots == [1], what="the slot to be retired")
        await AsyncControl(client).delete_topic("work")
