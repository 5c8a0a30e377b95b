"""The keeper puts back what nobody looks after, and leaves alone what somebody does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from zlib import crc32

import pytest

from rmq_core import AsyncControl, AsyncInspector, AsyncRMQ, PriorityMessage, Topic
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.samples import TopicSample
from rmq_core.model.scores import SHIFT
from rmq_core.ops.reaper import overdue_ms, reap_overdue
from rmq_core.protocol.slot_calls import acquire, epoch_text
from rmq_core.protocol.takes import cycle
from rmq_core.queries.sampling import SampleCache
from rmq_core.queries.sampling import sample as sample_all
from tests.support.waiting import wait_until_async

TOPIC = Topic("work", "priority", slots=4, visibility_timeout_ms=100, backoff_ms=0)


@pytest.fixture
async def client(redis_server: EmbeddedRedis, namespace: str) -> AsyncIterator[AsyncRMQ]:
    async with AsyncRMQ(redis_server.url, namespace, retry_for_ms=200) as client:
        await client.define(TOPIC)
        yield client
        await AsyncControl(client).delete_topic("work", force=True)


class Reaper:
    """What the console's keeper does in each of its rounds."""

    def __init__(self, client: AsyncRMQ, overdue_by_ms: int) -> None:
        self._client, self._overdue_by_ms = client, overdue_by_ms
        self._cache = SampleCache()

    async def once(self) -> dict[str, int]:
        run, keyspace = self._client.run, self._client.keyspace
        samples = await run(sample_all(keyspace, self._cache, spread=False))
        return await run(reap_overdue(keyspace, samples, self._overdue_by_ms))


async def sample(client: AsyncRMQ) -> TopicSample:
    return (await AsyncInspector(client).sample(["work"]))[0]


async def test_timeouts_of_a_slot_whose_owner_is_gone_are_rolled_back(client: AsyncRMQ) -> None:
    await client.send_many("work", [PriorityMessage(f"m{i}", 20) for i in range(40)])
    topic = await client.topic("work")
    for slot in range(4):
        await client.connection.run([acquire(client.keyspace, topic, slot, 7)])
        await client.connection.run([cycle(client.keyspace, topic, slot, 100, epoch=epoch_text(7))])
    reaper, moved = Reaper(client, overdue_by_ms=200), 0

    async def put_back() -> bool:
        nonlocal moved
        moved += sum((await reaper.once()).values())
        return moved == 40

    await wait_until_async(put_back, what="every delivery to be put back")
    state = await sample(client)
    assert (state.backlog, state.prepare, state.counters.expired, state.ledger_gap) == (40, 0, 40, 0)
    assert await reaper.once() == {}


async def test_due_retries_of_a_slot_without_workers_are_promoted(client: AsyncRMQ) -> None:
    await client.send("work", PriorityMessage("m", 20))
    await client.nack(await client.take("work"), delay_ms=1)
    assert (await sample(client)).retrying == 1
    reaper = Reaper(client, overdue_by_ms=0)

    async def promoted() -> bool:
        return await reaper.once() == {"work": 1}

    await wait_until_async(promoted, what="the retry to be promoted")
    assert (await sample(client)).ready == 1


async def test_what_seems_to_have_been_taken_in_the_future_is_put_back(client: AsyncRMQ) -> None:
    """The clock has stepped back by an hour, and the owner is gone."""
    await client.send("work", PriorityMessage("m", 20))
    (delivery,) = await client.take("work")
    prepare = client.keyspace.slot("work", delivery.slot).prepare
    await client.connection.client.zincrby(prepare, 3_600_000 * SHIFT, delivery.raw_id)
    reaper = Reaper(client, overdue_by_ms=200)

    async def put_back() -> bool:
        return await reaper.once() == {"work": 1}

    await wait_until_async(put_back, what="the delivery to be put back")
    assert (await sample(client)).prepare == 0


async def test_what_is_not_overdue_for_long_is_left_to_its_worker(client: AsyncRMQ) -> None:
    await client.send("work", PriorityMessage("m", 20))
    await client.take("work")
    patient = Reaper(client, overdue_by_ms=3_600_000)

    async def timed_out() -> bool:
        state = await sample(client)
        return any(overdue_ms(TOPIC, slot, state.at_ms) > 0 for slot in state.slots)

    await wait_until_async(timed_out, what="the delivery to be overdue")
    assert await patient.once() == {}
    assert (await sample(client)).prepare == 1


async def test_overdue_counts_from_what_is_due_first(client: AsyncRMQ) -> None:
    slot = (await sample(client)).slots[0]
    assert overdue_ms(TOPIC, slot, slot.at_ms) == 0
    held = replace(slot, oldest_taken_ms=1_000, next_retry_ms=None)
    assert overdue_ms(TOPIC, held, 1_100) == 0
    assert overdue_ms(TOPIC, held, 1_150) == 50
    assert overdue_ms(TOPIC, replace(held, next_retry_ms=1_050), 1_150) == 100
    assert overdue_ms(TOPIC, replace(held, next_retry_ms=9_000), 1_150) == 50


async def test_a_slot_that_is_looked_after_is_left_to_its_owner_and_one_that_is_not_is_not(client: AsyncRMQ) -> None:
    """Both hold the same; what differs is for how long it has been due, which is all that is asked."""
    basis = {crc32(b"%d" % i) % 4: str(i) for i in range(20)}
    for slot in (0, 1):
        await client.send("work", PriorityMessage(basis[slot], 20))
    first, second = await client.take("work", 2)
    now_ms = (await sample(client)).at_ms
    keys = client.keyspace.slot("work", first.slot)
    # As if this one had been taken an hour ago.
    await client.connection.run([("ZADD", keys.prepare, (now_ms - 3_600_000) * SHIFT, first.raw_id)])
    assert await Reaper(client, overdue_by_ms=1_800_000).once() == {"work": 1}
    held = {slot.slot: slot.prepare for slot in (await sample(client)).slots}
    assert (held[first.slot], held[second.slot]) == (0, 1)


async def test_both_what_timed_out_and_what_is_to_be_tried_again_are_looked_at(client: AsyncRMQ) -> None:
    """A slot may need one of them and have the other not due at all."""
    basis = {crc32(b"%d" % i) % 4: str(i) for i in range(20)}
    for slot in range(4):
        await client.send("work", PriorityMessage(basis[slot], 20))
    by_slot = {delivery.slot: delivery for delivery in await client.take("work", 4)}
    await client.nack([by_slot[1], by_slot[2]], delay_ms=3_600_000)
    now_ms = (await sample(client)).at_ms
    long_ago = now_ms - 3_600_000
    for slot, (queue, score) in {
        0: ("prepare", long_ago * SHIFT),
        1: ("retry", long_ago * SHIFT + 1),
        2: ("retry", (now_ms + 3_600_000) * SHIFT + 1),
        3: ("prepare", (now_ms + 3_600_000) * SHIFT),
    }.items():
        key = getattr(client.keyspace.slot("work", slot), queue)
        await client.connection.run([("ZADD", key, score, by_slot[slot].raw_id)])
    assert await Reaper(client, overdue_by_ms=1_800_000).once() == {"work": 2}
    slots = (await sample(client)).slots
    assert [(slot.store + slot.retry, slot.prepare) for slot in slots] == [(1, 0), (1, 0), (1, 0), (0, 1)]
    assert slots[1].store == 1 and slots[2].retry == 1


async def test_the_trash_of_a_slot_nobody_takes_from_is_emptied_in_its_time(client: AsyncRMQ) -> None:
    await client.send("work", PriorityMessage("gone", 20))
    await AsyncControl(client).cancel("work", ["gone"])
    slot = next(slot.slot for slot in (await sample(client)).slots if slot.trash)
    reaper = Reaper(client, overdue_by_ms=60_000)
    assert await reaper.once() == {}
    assert (await sample(client)).trash == 1
    keys = client.keyspace.slot("work", slot)
    long_ago = (await sample(client)).at_ms - TOPIC.undo_ms - 120_000
    await client.connection.run([("ZADD", keys.trash, long_ago, b"gone"), ("HINCRBY", keys.stats, "expired", 0)])
    fresh = Reaper(client, overdue_by_ms=60_000)
    assert await fresh.once() == {}  # nobody is told of what was thrown away long ago
    assert (await sample(client)).trash == 0
