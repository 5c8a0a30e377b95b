"""A topic's max_backlog: exact over all slots, whoever sends, whatever is lost on the way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rmq_core import (
    AsyncProducer,
    AsyncRMQ,
    MessageRef,
    PriorityMessage,
    Producer,
    RangeMergeMessage,
    TopicKind,
    errors,
)
from rmq_core.ops import quotas as engine_limits
from tests.engine.conformance.bench import FAR_MS, Awaited, Bench
from tests.engine.conformance.test_controlling import KINDS, Scene


def messages(count: int, prefix: str = "m", **options: Any) -> list[PriorityMessage]:
    return [PriorityMessage(f"{prefix}{i}", 20, **options) for i in range(count)]


async def backlog(bench: Bench) -> int:
    (sample,) = await bench.inspector.sample(["work"])
    return sample.backlog


async def fill(bench: Bench, count: int, **options: Any) -> int:
    """Sends one by one until refused; how many went through. Waits out what is refused for a moment only."""
    sent = 0
    for each in messages(count, **options):
        try:
            await bench.q.send("work", each)
        except errors.BacklogFull as full:
            assert 0 < full.retry_after_ms <= 1_000
            assert full.unsent == (each,)
            assert "max_backlog" in str(full)
            break
        sent += 1
    return sent


@pytest.mark.parametrize("basis", [None, "one slot"])
async def test_it_is_exact_over_all_slots(bench: Bench, basis: str | None) -> None:
    await bench.topic(slots=8, max_backlog=30)
    assert await fill(bench, 50, slot_basis=basis) == 30
    assert await backlog(bench) == 30
    # What waits already merges, in whatever slot; a message that is more than its id too.
    assert (await bench.q.send("work", PriorityMessage("m7", 99, slot_basis=basis))).merged
    assert await bench.q.send_many("work", messages(30, slot_basis=basis)) == (0, 30)
    with pytest.raises(errors.BacklogFull):
        await bench.q.send("work", PriorityMessage("x" * 100, 20, headers={"a": "b"}))
    deliveries = await bench.q.take("work", 10)
    assert len(deliveries) == 10
    await bench.q.ack(deliveries)

    async def room() -> bool:
        await fill(bench, 20, prefix="again")
        assert await backlog(bench) <= 30
        return await backlog(bench) == 30

    await bench.until(room, "ten more to be let in")


async def test_a_batch_says_what_was_sent_and_what_was_not(bench: Bench) -> None:
    await bench.topic(slots=4, max_backlog=25)
    many = messages(40)
    with pytest.raises(errors.BacklogFull, match="25 were sent and 15 were not") as refused:
        await bench.q.send_many("work", many)
    assert refused.value.sent == (25, 0)
    assert len(refused.value.unsent) == 15
    page = await bench.inspector.messages("work", "ready", limit=100)
    waiting = {row.id for row in page.rows}
    unsent = {each.content for each in refused.value.unsent}
    assert (len(waiting), waiting | unsent, waiting & unsent) == (25, {each.content for each in many}, set())
    await bench.drain()
    left = [refused.value.unsent]

    async def sent() -> bool:
        try:
            await bench.q.send_many("work", left[-1])
        except errors.BacklogFull as full:
            left.append(full.unsent)
            return False
        return True

    await bench.until(sent, "the rest to be let in")
    assert await backlog(bench) == 15


async def test_bad_messages_are_refused_as_ever(bench: Bench) -> None:
    await bench.topic(TopicKind.FIXED_TIME, max_backlog=5, max_content_bytes=100)
    from rmq_core import FixedTimeMessage

    with pytest.raises(errors.DueInThePast):
        await bench.q.send("work", FixedTimeMessage("a", 1_000))
    with pytest.raises(errors.WrongKind):
        await bench.q.send_many("work", [PriorityMessage("a", 20)])
    with pytest.raises(errors.ContentTooLarge):
        await bench.q.send("work", FixedTimeMessage("a" * 101, await bench.now_ms() + FAR_MS))
    assert await backlog(bench) == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_sending_means_the_same_with_a_limit_and_without(bench: Bench, kind: TopicKind) -> None:
    """Every meeting of a message with what is known of its id, in a topic with a limit and in one without."""
    outcomes = {}
    for name, most in (("free", 0), ("limited", 1_000)):
        await bench.topic(kind, name=name, max_backlog=most)
        outcomes[name] = [reply async for reply in meetings(bench, kind, name)]
    assert outcomes["free"] == outcomes["limited"]


async def meetings(bench: Bench, kind: TopicKind, topic: str) -> Any:
    soon = await bench.now_ms() + FAR_MS

    def make(content: str, order: int, **options: Any) -> Any:
        from rmq_core import FixedTimeMessage

        if kind is TopicKind.PRIORITY:
            return PriorityMessage(content, 20 + order, **options)
        if kind is TopicKind.FIXED_TIME:
            return FixedTimeMessage(content, soon + order, **options)
        return RangeMergeMessage(content, FAR_MS + order, **options)

    async def send(*args: Any, **options: Any) -> tuple[bool, Any]:
        sent = await bench.q.send(topic, make(*args, **options))
        (view,) = await bench.inspector.find(topic, "k")
        timed = kind is TopicKind.FIXED_TIME and "in_flight" not in view.states
        order = view.row.priority or (view.row.score_ms - soon if timed else None)
        return sent.merged, (view.content, view.version, view.headers, order, view.states)

    yield await send("k", 1)
    yield await send("first", 2, key="k", headers={"a": "b"})
    yield await send("second", 3, key="k", version=5)
    yield await send("older", 4, key="k", version=4)
    yield await send("k", 5)
    yield await send("newer", 6, key="k", version=6)
    await bench.control.run_now(topic, ["k"])
    (delivery,) = await bench.q.take(topic)
    yield await send("later", 7, key="k", version=7)
    yield (await bench.q.nack(delivery, delay_ms=FAR_MS))
    yield await send("k", 8)
    await bench.control.cancel(topic, ["k"])
    yield await send("k", 9)
    yield bench.ledger(topic).stats


async def test_what_comes_back_by_itself_is_not_refused_but_counts(bench: Bench) -> None:
    await bench.topic(max_backlog=4)
    scene = Scene(bench, TopicKind.PRIORITY)
    await scene.build()  # one dead, one waiting, one in flight, one ready
    assert await fill(bench, 10) == 2
    await bench.control.requeue("work", ["dead"])
    assert await backlog(bench) == 5
    await bench.control.cancel("work", ["m0"])
    assert await fill(bench, 1, prefix="more") == 0
    await bench.control.restore("work", ["m0"])
    assert await backlog(bench) == 5


async def test_another_limit_holds_at_once(bench: Bench) -> None:
    topic = await bench.topic(slots=4, max_backlog=10)
    assert await fill(bench, 20) == 10
    topic = await bench.redefine(topic, max_backlog=15)
    assert await fill(bench, 20, prefix="b") == 5
    topic = await bench.redefine(topic, max_backlog=0)
    assert await fill(bench, 20, prefix="c") == 20
    topic = await bench.redefine(topic, max_backlog=12)
    assert await fill(bench, 20, prefix="d") == 0
    await bench.drain()
    topic = await bench.redefine(topic, description="another word for the same")
    assert await fill(bench, 20, prefix="e") == 12


async def test_many_senders_together_keep_to_it(bench: Bench) -> None:
    await bench.topic(slots=4, max_backlog=60)

    async def sender(number: int) -> int:
        sent = 0
        for each in messages(20, prefix=f"s{number}-", slot_basis="hot" if number % 2 else None):
            try:
                await bench.q.send("work", each)
                sent += 1
            except errors.BacklogFull:
                pass
        return sent

    sent = sum(await asyncio.gather(*(sender(number) for number in range(6))))
    assert sent == await backlog(bench) <= 60

    async def full() -> bool:
        await fill(bench, 100, prefix=f"rest{await backlog(bench)}-")
        assert await backlog(bench) <= 60
        return await backlog(bench) == 60

    await bench.until(full, "the topic to fill up to its limit")


async def test_steps_that_are_lost_on_the_way_cost_nothing_for_long(bench: Bench) -> None:
    """A client dies between asking for room and using it, or between measuring the slots and telling."""
    topic = await bench.topic(slots=4, max_backlog=40)
    assert await fill(bench, 5) == 5
    for steps in range(1, 8):
        operation = engine_limits.widen(bench.q.keyspace, topic, {0: 3, 1: 50})
        requests = next(operation)
        for _ in range(steps):
            try:
                requests = operation.send([await bench.run(request) for request in requests])
            except StopIteration:
                break

    async def full() -> bool:
        await fill(bench, 100, prefix=f"rest{await backlog(bench)}-")
        assert await backlog(bench) <= 40
        return await backlog(bench) == 40

    await bench.until(full, "the topic to fill up to its limit")


async def test_a_producer_tells_each_message_what_became_of_it(bench: Bench) -> None:
    await bench.topic(slots=4, max_backlog=10)
    many = messages(16)
    if isinstance(bench.q, AsyncRMQ):
        async with AsyncProducer(bench.q, flush_count=16, flush_ms=1_000) as producer:
            results = await asyncio.gather(*(producer.send("work", each) for each in many), return_exceptions=True)
    else:
        assert isinstance(bench.q, Awaited)
        with Producer(bench.q._target, flush_count=16, flush_ms=1_000) as producer:
            futures = [producer.send("work", each) for each in many]
            results = await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)
    refused = [result for result in results if isinstance(result, errors.BacklogFull)]
    sent = {result.id for result in results if not isinstance(result, BaseException)}
    assert (len(sent), len(refused)) == (10, 6)
    assert {row.id for row in (await bench.inspector.messages("work", "ready")).rows} == sent
    assert sent | {full.unsent[0].content for full in refused} == {each.content for each in many}


async def test_one_way_messages_that_were_refused_are_reported(bench: Bench) -> None:
    await bench.topic(slots=4, max_backlog=10)
    reported: list[Any] = []
    options: Any = {
        "flush_count": 16,
        "flush_ms": 1_000,
        "on_error": lambda error, some: reported.append((error, some)),
    }
    if isinstance(bench.q, AsyncRMQ):
        async with AsyncProducer(bench.q, **options) as producer:
            for each in messages(16):
                await producer.post("work", each)
    else:
        with Producer(bench.q._target, **options) as producer:
            for each in messages(16):
                producer.post("work", each)
    ((error, some),) = reported
    assert (error.sent, len(some)) == ((10, 0), 6)
    waiting = {row.id for row in (await bench.inspector.messages("work", "ready")).rows}
    assert waiting.isdisjoint(each.content for each in some)


async def test_a_deleted_topic_leaves_no_quotas(bench: Bench) -> None:
    await bench.topic(name="gone", slots=2, max_backlog=1)
    await bench.q.send("gone", PriorityMessage("a", 20))
    await bench.control.cancel("gone", [MessageRef(slot, "a") for slot in range(2)])
    await bench.control.delete_topic("gone")
    assert bench.raw.exists(*[f"quotas{{{bench.namespace}:gone}}"]) == 0
