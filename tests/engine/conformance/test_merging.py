"""What a duplicate does to a message that waits, is in flight, has failed or is dead."""

from __future__ import annotations

from typing import Any

import pytest

from rmq_core import FixedTimeMessage, PriorityMessage, RangeMergeMessage, TopicKind
from rmq_core.model.topic import QUEUE_KINDS
from tests.engine.conformance.bench import FAR_MS, SOON_MS, Bench, message
from tests.engine.conformance.conftest import scripts_alone

pytestmark = scripts_alone

POOLED: dict[str, Any] = {"key": "k"}


async def test_range_merge_keeps_the_first_delivery_time(bench: Bench) -> None:
    await bench.topic(TopicKind.RANGE_MERGE)
    before = await bench.now_ms()
    await bench.q.send("work", RangeMergeMessage("first", SOON_MS, **POOLED))
    after = await bench.now_ms()
    sent = await bench.q.send("work", RangeMergeMessage("second", FAR_MS, **POOLED))
    assert sent.merged
    delivery = await bench.take_one()
    assert delivery.content == b"second"
    assert before + SOON_MS <= delivery.due_ms <= after + SOON_MS
    assert delivery.taken_ms >= delivery.due_ms
    await bench.q.ack(delivery)


async def test_range_merge_merges_into_a_backlog_that_is_already_due(bench: Bench) -> None:
    await bench.topic(TopicKind.RANGE_MERGE)
    await bench.q.send("work", RangeMergeMessage("a", 1))
    await bench.until(lambda: bench.inspector.messages("work", "ready"), "the message to be due")
    assert (await bench.q.send("work", RangeMergeMessage("a", FAR_MS))).merged
    assert (await bench.take_one()).content == b"a"
    # In flight it is no longer there to merge into: the next one waits its own time.
    assert not (await bench.q.send("work", RangeMergeMessage("a", FAR_MS))).merged
    assert await bench.q.take("work") == []


async def test_priority_takes_the_last_priority_sent(bench: Bench) -> None:
    await bench.topic()
    for content, priority in (("a", 90), ("b", 50), ("a", 20), ("c", 30)):
        await bench.q.send("work", PriorityMessage(content, priority))
    assert [(d.text, d.priority) for d in await bench.drain()] == [("b", 50), ("c", 30), ("a", 20)]


@pytest.mark.parametrize("options", [{}, POOLED], ids=["inline", "pooled"])
async def test_fixed_time_takes_the_last_time_sent(bench: Bench, options: dict[str, Any]) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    now = await bench.now_ms()
    for due_ms in (now + FAR_MS, now + SOON_MS * 3):
        await bench.q.send("work", FixedTimeMessage("sooner", due_ms, **options), allow_past=True)
    await bench.q.send("work", FixedTimeMessage("later", now + SOON_MS), allow_past=True)
    await bench.q.send("work", FixedTimeMessage("later", now + FAR_MS))
    delivery = await bench.take_one()
    assert (delivery.content, delivery.due_ms) == (b"sooner", now + SOON_MS * 3)
    await bench.q.ack(delivery)
    assert await bench.q.take("work") == []


@pytest.mark.parametrize(("merge", "kept"), [("latest", b"second"), ("first", b"first")])
@pytest.mark.parametrize("kind", QUEUE_KINDS)
async def test_which_content_survives_is_the_topics_choice(
    bench: Bench, kind: TopicKind, merge: str, kept: bytes
) -> None:
    await bench.topic(kind, merge=merge)
    when = {"due_ms": await bench.now_ms() + SOON_MS} if kind is TopicKind.FIXED_TIME else {}
    for content in ("first", "second"):
        sent = message(kind, content, headers={"which": content}, **POOLED, **when)
        await bench.q.send("work", sent, allow_past=True)  # on a busy machine it may be
    delivery = await bench.take_one()
    assert (delivery.content, delivery.headers["which"].encode()) == (kept, kept)
    await bench.q.ack(delivery)


@pytest.mark.parametrize("options", [{}, POOLED], ids=["inline", "pooled"])
async def test_a_duplicate_of_one_in_flight_waits_for_its_end(bench: Bench, options: dict[str, Any]) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 20, **options))
    first = await bench.take_one()
    assert not (await bench.q.send("work", PriorityMessage("a", 30, **options))).merged
    await bench.q.send("work", PriorityMessage("other", 20))
    assert [d.text for d in await bench.drain()] == ["other"]
    assert await bench.q.ack(first) == ["done"]
    second = await bench.take_one()
    assert (second.content, second.attempt, second.priority) == (b"a", 1, 30)
    await bench.q.ack(second)


async def test_a_failed_delivery_merges_into_its_waiting_duplicate(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("old", 20, **POOLED))
    first = await bench.take_one()
    await bench.q.send("work", PriorityMessage("new", 30, **POOLED))
    assert await bench.q.nack(first, error="E") == ["done"]
    assert bench.ledger().stats["merged"] == 1
    second = await bench.take_one()
    assert (second.content, second.attempt, second.priority) == (b"new", 1, 30)
    await bench.q.ack(second)
    assert await bench.q.take("work") == []


@pytest.mark.parametrize("delay_ms", [0, FAR_MS])
async def test_a_released_delivery_merges_into_its_waiting_duplicate(bench: Bench, delay_ms: int) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 20))
    first = await bench.take_one()
    await bench.q.send("work", PriorityMessage("a", 30))
    assert await bench.q.release(first, delay_ms=delay_ms) == ["done"]
    (delivery,) = await bench.drain()
    assert delivery.priority == 30


@pytest.mark.parametrize("options", [{}, POOLED], ids=["inline", "pooled"])
async def test_a_duplicate_of_one_that_waits_for_its_retry(bench: Bench, options: dict[str, Any]) -> None:
    """A priority or fixed-time duplicate replaces it; a range-merge duplicate keeps its delivery time."""
    now = await bench.now_ms()
    for kind, first, second in (
        (TopicKind.PRIORITY, PriorityMessage("a", 20, **options), PriorityMessage("a", 30, **options)),
        (
            TopicKind.FIXED_TIME,
            FixedTimeMessage("a", now + 1, **options),
            FixedTimeMessage("a", now + FAR_MS, **options),
        ),
        (TopicKind.RANGE_MERGE, RangeMergeMessage("a", 1, **options), RangeMergeMessage("a", 5, **options)),
    ):
        await bench.topic(kind, name=kind.value)
        await bench.q.send(kind.value, first, allow_past=True)
        await bench.q.nack(await bench.take_one(kind.value), delay_ms=FAR_MS)
        assert (await bench.q.send(kind.value, second)).merged
        ledger = bench.ledger(kind.value)
        waits_in = "retry" if kind is TopicKind.RANGE_MERGE else "store"
        assert [name for name, queue in ledger.queues.items() if queue] == [waits_in]
        assert ledger.stats["merged"] == 1
        if kind is TopicKind.FIXED_TIME:
            assert list(ledger.queues["store"].values()) == [now + FAR_MS]


@pytest.mark.parametrize("state", ["waiting in store", "in flight", "waiting in retry"])
async def test_an_older_version_never_replaces_a_newer_one(bench: Bench, state: str) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("v5", 20, version=5, **POOLED))
    if state != "waiting in store":
        taken = await bench.take_one()
        if state == "waiting in retry":
            await bench.q.nack(taken, delay_ms=FAR_MS)
    assert (await bench.q.send("work", PriorityMessage("v4", 99, version=4, **POOLED))).merged
    if state == "in flight":
        await bench.q.nack(taken)
    elif state == "waiting in retry":
        await bench.control.run_now("work", ["k"])
    delivery = await bench.take_one()
    assert (delivery.content, delivery.version) == (b"v5", 5)
    await bench.q.ack(delivery)
    assert await bench.q.take("work") == []


async def test_a_newer_or_equal_version_replaces(bench: Bench) -> None:
    await bench.topic()
    for content, version in (("v1", 1), ("v2", 2), ("v2 again", 2)):
        await bench.q.send("work", PriorityMessage(content, 20, version=version, **POOLED))
    (delivery,) = await bench.drain()
    assert (delivery.content, delivery.version) == (b"v2 again", 2)
    # Once it is done its version is forgotten with it.
    await bench.q.send("work", PriorityMessage("v1 anew", 20, version=1, **POOLED))
    assert [d.content for d in await bench.drain()] == [b"v1 anew"]


async def test_a_plain_message_replaces_a_waiting_body_of_the_same_id(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("pooled", 20, key="same"))
    await bench.q.send("work", PriorityMessage("same", 30))
    (delivery,) = await bench.drain()
    assert (delivery.content, delivery.priority) == (b"same", 30)


async def test_a_plain_message_never_replaces_a_newer_version(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("pooled", 20, key="same", version=5))
    assert (await bench.q.send("work", PriorityMessage("same", 30))).merged
    (delivery,) = await bench.drain()
    assert (delivery.content, delivery.priority, delivery.version) == (b"pooled", 20, 5)


async def test_the_first_content_is_kept_only_while_it_waits(bench: Bench) -> None:
    await bench.topic(merge="first")
    await bench.q.send("work", PriorityMessage("pooled", 20, key="same"))
    await bench.q.send("work", PriorityMessage("same", 30))
    first = await bench.take_one()
    assert (first.content, first.priority) == (b"pooled", 30)
    await bench.q.send("work", PriorityMessage("same", 40))
    await bench.q.ack(first)
    (second,) = await bench.drain()
    assert (second.content, second.priority) == (b"same", 40)


async def test_a_dead_letter_and_a_new_send_of_the_same_id_are_two(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("old", 20, **POOLED))
    await bench.q.reject(await bench.take_one(), message="no")
    assert not (await bench.q.send("work", PriorityMessage("new", 30, **POOLED))).merged
    (delivery,) = await bench.drain()
    assert delivery.content == b"new"
    assert bench.ledger().queues["dead"].keys() == {b"k"}
    assert bench.ledger().pools["body"] == {}
    (view,) = await bench.inspector.find("work", "k")
    assert (view.states, view.content) == (("dead",), b"old")
    # Dying again, it takes the place of the earlier dead letter of its name, which goes to the trash.
    await bench.q.send("work", PriorityMessage("again", 30, **POOLED))
    await bench.q.reject(await bench.take_one())
    assert len(bench.ledger().queues["dead"]) == 1
    assert bench.ledger().stats["merged"] == 1


async def test_a_lower_version_than_the_dead_letters_is_a_message_of_its_own(bench: Bench) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("A", 20, key="k", version=5))
    await bench.q.reject(await bench.take_one())
    # Only what waits or is in flight is merged into, never what is dead.
    assert (await bench.q.send("work", PriorityMessage("B", 30, key="k", version=3))).merged is False
    assert (await bench.q.send("work", PriorityMessage("older", 40, key="k", version=2))).merged is True
    (delivery,) = await bench.drain()
    assert (delivery.content, delivery.version, delivery.priority) == (b"B", 3, 30)
    await bench.control.requeue("work", ["k"])
    (delivery,) = await bench.drain()
    assert (delivery.content, delivery.version, delivery.priority) == (b"A", 5, 20)
    assert bench.ledger().held == set()
