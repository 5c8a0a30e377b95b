"""A blocking take sleeps until something is due, and is woken by whatever becomes ready earlier."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rmq_core import FixedTimeMessage, PriorityMessage, RangeMergeMessage, TopicKind
from rmq_core.client import async_rmq, rmq
from rmq_core.ops import consuming
from rmq_core.transport import notifications
from tests.engine.conformance.bench import FAR_MS, SOON_MS, Bench

NEAR_MS = 800
"""Of a time that is still to come when the server hears of it, on a busy machine, too."""
_QUIET_LOOKS = 5


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A note of every look at the slots."""
    noted: list[str] = []
    take = consuming.Consumer.take

    def noting(self: consuming.Consumer, *given: Any) -> Any:
        noted.append(self.topic.name)
        return take(self, *given)

    monkeypatch.setattr(consuming.Consumer, "take", noting)
    return noted


@pytest.fixture
def no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sleeps is woken by a notification or not at all."""
    for module in (rmq, async_rmq, notifications):
        monkeypatch.setattr(module, "FALLBACK_S", 3_600.0)


async def asleep(bench: Bench, looks: list[str], topic: str = "work") -> None:
    """Returns when a take listens for wake-ups and has stopped looking."""
    await bench.until(lambda: bench.subscribed(topic), f"a subscription to {topic}")
    seen, quiet = -1, 0

    def stopped() -> bool:
        nonlocal seen, quiet
        quiet = quiet + 1 if seen == len(looks) else 0
        seen = len(looks)
        return quiet == _QUIET_LOOKS

    await bench.until(stopped, "the take to fall asleep")


async def woken_by(bench: Bench, looks: list[str], act: Callable[[], Awaitable[Any]]) -> Any:
    """The one delivery that a sleeping take gets once ``act`` has been done, long before its time is over."""
    sleeping = asyncio.create_task(bench.q.take("work", timeout_ms=60_000))
    await asleep(bench, looks)
    assert not sleeping.done()
    await act()
    await bench.until(sleeping.done, "the sleeper to wake up")
    (delivery,) = sleeping.result()
    return delivery


@pytest.mark.parametrize(
    "bench", [pytest.param((client, "redis"), id=client) for client in ("sync", "async")], indirect=True
)
async def test_odd_words_on_the_channel_harm_nobody(bench: Bench, looks: list[str], no_fallback: None) -> None:
    await bench.topic()

    async def act() -> None:
        for odd in (b"", b"x", b"-1", b"\xb2", b" 0", b"4095 17", b"0 x", b"9" * 5_000, b"0 " + b"9" * 5_000):
            bench.raw.publish(f"{bench.namespace}:wake:work", odd)
        await bench.q.send("work", PriorityMessage("there", 20))

    assert (await woken_by(bench, looks, act)).content == b"there"


@pytest.mark.usefixtures("no_fallback")
async def test_a_send_wakes(bench: Bench, looks: list[str]) -> None:
    await bench.topic(slots=8)
    delivery = await woken_by(bench, looks, lambda: bench.q.send("work", PriorityMessage("a", 20)))
    assert delivery.text == "a"


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("options", [{}, {"headers": {"a": "b"}}], ids=["inline", "pooled"])
async def test_an_earlier_message_wakes_a_sleeper_that_waits_for_a_later_one(
    bench: Bench, looks: list[str], options: dict[str, Any]
) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    now = await bench.now_ms()
    await bench.q.send("work", FixedTimeMessage("later", now + FAR_MS))
    delivery = await woken_by(
        bench,
        looks,
        lambda: bench.q.send("work", FixedTimeMessage("earlier", now + SOON_MS, **options), allow_past=True),
    )
    assert delivery.text == "earlier"


@pytest.mark.usefixtures("no_fallback")
async def test_a_duplicate_with_an_earlier_time_wakes(bench: Bench, looks: list[str]) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    now = await bench.now_ms()
    await bench.q.send("work", FixedTimeMessage("a", now + FAR_MS))
    delivery = await woken_by(bench, looks, lambda: bench.q.send("work", FixedTimeMessage("a", now), allow_past=True))
    assert delivery.due_ms == now


@pytest.mark.usefixtures("no_fallback")
async def test_a_sleeper_gets_up_when_a_message_is_due(bench: Bench, looks: list[str]) -> None:
    await bench.topic(TopicKind.RANGE_MERGE, slots=8)
    await bench.q.send("work", RangeMergeMessage("a", SOON_MS))
    (delivery,) = await bench.q.take("work", timeout_ms=30_000)
    assert delivery.taken_ms >= delivery.due_ms


@pytest.mark.usefixtures("no_fallback")
async def test_a_sleeper_gets_up_for_a_retry_and_for_a_timeout(bench: Bench, looks: list[str]) -> None:
    await bench.topic(visibility_timeout_ms=100, backoff_ms=SOON_MS, backoff_max_ms=SOON_MS)
    await bench.q.send("work", PriorityMessage("a", 20))
    await bench.q.nack(await bench.take_one())
    (retried,) = await bench.q.take("work", timeout_ms=30_000)
    assert retried.attempt == 2
    (timed_out,) = await bench.q.take("work", timeout_ms=30_000)
    assert timed_out.attempt == 3


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("settle", ["nack", "release"])
async def test_what_comes_back_wakes(bench: Bench, looks: list[str], settle: str) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 20))
    held = await bench.take_one()
    delivery = await woken_by(bench, looks, lambda: getattr(bench.q, settle)(held))
    assert delivery.text == "a"


@pytest.mark.usefixtures("no_fallback")
async def test_the_end_of_a_delivery_wakes_who_waits_for_its_duplicate(bench: Bench, looks: list[str]) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 20))
    held = await bench.take_one()
    await bench.q.send("work", PriorityMessage("a", 30))
    delivery = await woken_by(bench, looks, lambda: bench.q.ack(held))
    assert delivery.priority == 30


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("action", ["run_now", "reschedule", "requeue"])
async def test_an_operator_wakes(bench: Bench, looks: list[str], action: str) -> None:
    await bench.topic(TopicKind.FIXED_TIME)
    now = await bench.now_ms()
    if action == "requeue":
        await bench.q.send("work", FixedTimeMessage("a", now), allow_past=True)
        await bench.q.reject(await bench.take_one())
    else:
        await bench.q.send("work", FixedTimeMessage("a", now + FAR_MS))

    async def act() -> None:
        if action == "reschedule":
            await bench.control.reschedule("work", ["a"], due_ms=await bench.now_ms() + NEAR_MS)
        else:
            await getattr(bench.control, action)("work", ["a"])

    assert (await woken_by(bench, looks, act)).text == "a"


@pytest.mark.usefixtures("no_fallback")
async def test_takes_on_several_topics_are_all_woken(bench: Bench, looks: list[str]) -> None:
    """They share one subscription, and begin to wait while it is being opened."""
    names = [f"topic-{i}" for i in range(6)]
    for name in names:
        await bench.topic(name=name)
    sleeping = [asyncio.create_task(bench.q.take(name, timeout_ms=60_000)) for name in names]
    for name in names:
        await asleep(bench, looks, name)
    for name in reversed(names):
        await bench.q.send(name, PriorityMessage(name, 20))
    await bench.until(lambda: all(task.done() for task in sleeping), "all of them to wake up")
    assert [[d.text for d in task.result()] for task in sleeping] == [[name] for name in names]


async def test_a_timeout_returns_nothing(bench: Bench, looks: list[str]) -> None:
    await bench.topic(TopicKind.FIXED_TIME, slots=4)
    await bench.q.send("work", FixedTimeMessage("a", await bench.now_ms() + FAR_MS))
    before = await bench.now_ms()
    assert await bench.q.take("work", timeout_ms=60) == []
    assert await bench.now_ms() >= before + 60


async def test_a_lost_notification_costs_one_look_at_most(bench: Bench, looks: list[str]) -> None:
    await bench.topic(journal="off")
    keys = bench.q.keyspace.slot("work", 0)
    # As a send whose notification got lost; the counters, so that the ledger balance.
    delivery = await woken_by(
        bench,
        looks,
        lambda: asyncio.to_thread(
            lambda: (bench.raw.hincrby(keys.stats, "sent", 1), bench.raw.zadd(keys.store, {"a": 20}))
        ),
    )
    assert delivery.text == "a"


async def test_a_resumed_topic_is_noticed(bench: Bench, looks: list[str]) -> None:
    await bench.topic()
    await bench.q.send("work", PriorityMessage("a", 20))
    await bench.control.pause("work")
    delivery = await woken_by(bench, looks, lambda: bench.control.resume("work"))
    assert delivery.text == "a"


async def test_one_busy_slot_does_not_starve_the_others(bench: Bench, looks: list[str]) -> None:
    """A slot that always has more must not keep a consumer from ever looking elsewhere."""
    await bench.topic(slots=4)
    await bench.q.send_many("work", [PriorityMessage(f"busy {i}", 20, slot_basis="busy") for i in range(10)])
    await bench.q.take("work")
    await bench.q.send("work", PriorityMessage("other", 20, slot_basis="other"))
    seen: set[str] = set()

    async def found() -> bool:
        some = await bench.q.take("work", 5)
        await bench.q.ack(some)
        seen.update(d.text for d in some)
        more = [PriorityMessage(f"busy {len(seen)} {i}", 20, slot_basis="busy") for i in range(5)]
        await bench.q.send_many("work", more)
        return "other" in seen

    await bench.until(found, "a message of the other slot")
