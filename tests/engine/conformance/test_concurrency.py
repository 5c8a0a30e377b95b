"""So many of a topic are in flight at once, over all its slots and whoever takes (`concurrency`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import pytest

from rmq_core import FixedTimeMessage, PriorityMessage, RangeMergeMessage, TopicKind
from rmq_core.errors import InvalidTopic
from rmq_core.model.delivery import Delivery
from rmq_core.model.topic import Topic
from rmq_core.ops import permits
from rmq_core.protocol.scripts import Call, Operation, Request
from rmq_core.protocol.takes import cycle
from tests.engine.conformance.bench import FAR_MS, Bench
from tests.engine.conformance.conftest import few_servers

pytestmark = few_servers
SLOTS = 4


async def begin(bench: Bench, count: int, **options: object) -> Topic:
    """Messages of all slots, ready in that order."""
    topic = await bench.topic(**({"slots": SLOTS, "concurrency": 3} | options))
    await bench.q.send_many("work", [PriorityMessage(f"m{n:03}", 500 - n) for n in range(count)])
    return topic


async def in_flight(bench: Bench, topic: Topic) -> int:
    return int(await bench.q.run(permits.in_flight(bench.q.keyspace, topic)))


async def take(bench: Bench, most: int, timeout_ms: int = 5_000) -> list[Delivery]:
    """So many, a few at a time where permits lie in other slots; there must be as many."""
    taken: list[Delivery] = []
    while len(taken) < most:
        some = await bench.q.take("work", most - len(taken), timeout_ms=timeout_ms)
        assert some, taken
        taken += some
    return taken


@pytest.mark.parametrize("kind", [TopicKind.RANGE_MERGE, TopicKind.PRIORITY, TopicKind.FIXED_TIME])
async def test_never_more_than_may_be_and_always_as_many(bench: Bench, kind: TopicKind) -> None:
    topic = await bench.topic(kind, slots=SLOTS, concurrency=3)
    now, sent = await bench.now_ms(), [f"m{n}" for n in range(24)]
    for name in sent:
        made = {
            TopicKind.PRIORITY: lambda name: PriorityMessage(name, 20),
            TopicKind.FIXED_TIME: lambda name: FixedTimeMessage(name, now),
            TopicKind.RANGE_MERGE: lambda name: RangeMergeMessage(name, 1),
        }[kind]
        await bench.q.send("work", made(name))
    done: list[str] = []
    while len(done) < len(sent):
        taken = await take(bench, 3)
        assert await in_flight(bench, topic) == 3
        assert await bench.q.take("work", 10) == []
        for each in taken:
            await bench.q.ack(each)
        done += [each.text for each in taken]
    assert sorted(done) == sorted(sent)


@pytest.mark.parametrize("how", ["ack", "nack", "reject", "release", "later", "timeout"])
async def test_whatever_ends_a_delivery_gives_its_permit_back(bench: Bench, how: str) -> None:
    topic = await begin(
        bench, 12, backoff_ms=FAR_MS, backoff_max_ms=FAR_MS, visibility_timeout_ms=500 if how == "timeout" else 60_000
    )
    taken = await take(bench, 3)
    assert await bench.q.take("work", 10) == []
    if how == "later":
        await bench.q.release(taken, delay_ms=FAR_MS)
    elif how != "timeout":
        await getattr(bench.q, how)(taken)
    again = await take(bench, 3)
    assert len({each.id for each in again}) == 3
    if how != "timeout":  # what has timed out is there until a take looks at its slot
        assert await in_flight(bench, topic) == 3


async def test_a_reply_that_was_lost_keeps_its_permits_until_they_time_out(bench: Bench) -> None:
    topic = await begin(bench, 12, visibility_timeout_ms=500)
    await take(bench, 3)  # nobody has heard of these
    assert await bench.q.take("work", 10) == []
    assert await in_flight(bench, topic) == 3
    assert len(await take(bench, 3)) == 3


async def test_what_is_extended_keeps_its_permit(bench: Bench) -> None:
    topic = await begin(bench, 6, concurrency=1, visibility_timeout_ms=200)
    (first,) = await take(bench, 1)
    await bench.q.extend(first, for_ms=FAR_MS)
    assert await bench.q.take("work", 5, timeout_ms=400) == []
    await bench.q.ack(first)
    await take(bench, 1)
    assert await in_flight(bench, topic) == 1


async def test_permits_go_to_the_slots_that_have_something(bench: Bench) -> None:
    """All in one slot, then all in another."""
    topic = await bench.topic(slots=SLOTS, concurrency=5)
    for basis in ("x", "y", "z"):
        await bench.q.send_many("work", [PriorityMessage(f"{basis}{n}", 20, slot_basis=basis) for n in range(7)])
        taken = await take(bench, 5)
        assert await bench.q.take("work", 5) == [] and await in_flight(bench, topic) == 5
        await bench.q.ack(taken)
        await bench.q.ack(await take(bench, 2))


async def test_another_limit_holds_at_once(bench: Bench) -> None:
    topic = await begin(bench, 40, concurrency=2)
    taken = await take(bench, 2)
    topic = await bench.redefine(topic, concurrency=5)
    taken += await take(bench, 3)
    assert await bench.q.take("work", 5) == []
    topic = await bench.redefine(topic, concurrency=1)
    await bench.q.ack(taken[:4])
    assert await bench.q.take("work", 5, timeout_ms=300) == [] and await in_flight(bench, topic) == 1
    await bench.q.ack(taken[4])
    await bench.q.ack(await take(bench, 1))
    topic = await bench.redefine(topic, concurrency=0)
    assert len(await take(bench, 34)) == 34


async def test_in_flight_before_there_was_a_limit(bench: Bench) -> None:
    topic = await begin(bench, 20, concurrency=0)
    taken = await take(bench, 8)
    topic = await bench.redefine(topic, concurrency=3)
    assert await bench.q.take("work", 5, timeout_ms=100) == []
    await bench.q.ack(taken[:6])
    taken = [*taken[6:], *await take(bench, 1)]
    assert await bench.q.take("work", 5) == [] and await in_flight(bench, topic) == 3


async def test_beside_a_rate_and_a_key_limit(bench: Bench) -> None:
    topic = await bench.topic(slots=2, concurrency=2, key_concurrency=1, rate_limit=1000)
    await bench.q.send_many(
        "work", [PriorityMessage(f"{key}{n}", 20, key=f"{key}{n}", slot_basis=key) for n in range(4) for key in "abc"]
    )
    done: list[str] = []
    while len(done) < 12:
        taken = await bench.q.take("work", 2, timeout_ms=5_000)
        assert 0 < len(taken) <= 2 and len({each.text[0] for each in taken}) == len(taken)
        assert await in_flight(bench, topic) <= 2
        await bench.q.ack(taken)
        done += [each.text for each in taken]
    for key in "abc":
        assert [each for each in done if each[0] == key] == [f"{key}{n}" for n in range(4)]


async def test_a_deleted_topic_leaves_no_permits(bench: Bench) -> None:
    await begin(bench, 6)
    await bench.q.ack(await take(bench, 2))
    await bench.control.delete_topic("work", force=True)
    assert bench.raw.exists(bench.q.keyspace.permits("work")[0]) == 0
    topic = await begin(bench, 6, concurrency=1)
    await take(bench, 1)
    assert await bench.q.take("work", 5) == [] and await in_flight(bench, topic) == 1


@pytest.mark.parametrize("lost", ["some", "all"])
async def test_permits_that_a_failover_has_lost_are_found_again(bench: Bench, lost: str) -> None:
    """The topic's key and its slots may be on different nodes, and one of these may lose what it wrote last."""
    topic = await bench.topic(slots=2, concurrency=1)
    basis = next(name for name in "abcdef" if crc32(name.encode()) % 2 == 1)
    await bench.q.send_many("work", [PriorityMessage(str(n), 20, slot_basis=basis) for n in range(5)])

    async def given_to(slot: int) -> None:
        async def given() -> bool:
            return not await bench.q.run(permits.widen(bench.q.keyspace, topic, {slot: 1}))

        await bench.until(given, "what the other slot does not use to be given")

    given, who = bench.q.keyspace.permits("work")
    await given_to(0)
    before = bench.raw.hgetall(given), bench.raw.zrange(who, 0, -1, withscores=True)
    for _ in range(3):
        await given_to(1)
        await given_to(0)
    bench.raw.delete(given)
    bench.raw.delete(who)
    if lost == "some":
        bench.raw.hset(given, mapping=before[0])
        bench.raw.zadd(who, dict(before[1]))
    for _ in range(5):
        taken = await take(bench, 1)
        assert await bench.q.take("work", 5) == []
        await bench.q.ack(taken)


async def test_what_it_does_not_go_with(bench: Bench) -> None:
    with pytest.raises(InvalidTopic, match="stream"):
        Topic("t", TopicKind.STREAM, concurrency=1)
    with pytest.raises(InvalidTopic, match="concurrency="):
        Topic("t", TopicKind.PRIORITY, concurrency=-1)


async def test_why_it_is_late(bench: Bench) -> None:
    await begin(bench, 12, concurrency=2)
    await take(bench, 2)
    for why in (await bench.inspector.why("work"), await bench.inspector.why("work", "m011")):
        (reason,) = [each for each in why.reasons if each.code == "permits_used"]
        assert (reason.values["limit"], reason.values["in_flight"]) == (2, 2)


async def test_what_was_given_and_comes_too_late_gives_nothing(bench: Bench) -> None:
    """Between an answer and what it lets a slot do, others may have taken that back."""
    topic = await begin(bench, 12, concurrency=1)

    def once(requests: Sequence[Request]) -> Operation[list[Any]]:
        return (yield requests)

    asking = permits.widen(bench.q.keyspace, topic, {0: 1})
    requests = next(asking)
    while not (isinstance(requests[0], Call) and requests[0].script.name == "permit_set"):
        requests = asking.send(await bench.q.run(once(requests)))

    async def another_slot_has_it() -> bool:
        return not await bench.q.run(permits.widen(bench.q.keyspace, topic, {1: 1}))

    await bench.until(another_slot_has_it, "what is not used to be taken back")
    assert await bench.q.run(once(requests)) == [0]
    assert (await bench.run(cycle(bench.q.keyspace, topic, 0, 5)))[3] == []
