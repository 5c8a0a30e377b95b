"""Long polls in one process: first come, first served; nothing lost; and no thread for those who wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from console.api.messages import polls
from console.api.messages.polls import TopicPolls
from console.engine import AsyncEngine, new_async_engine
from rmq_core import FixedTimeMessage
from rmq_core.errors import UnknownTopic
from tests.console.conftest import Queue
from tests.support.waiting import PATIENCE_S, wait_until_async

FAR_MS = 600_000


@pytest.fixture
async def engine(queue: Queue) -> AsyncIterator[AsyncEngine]:
    queue.topic()
    own = new_async_engine()
    yield own
    await own.client.close()


def send(queue: Queue, *keys: str) -> None:
    for key in keys:
        queue.client.send("orders", FixedTimeMessage("x", queue.inspector.now_ms(), key=key), allow_past=True)


async def waiting(of_topic: TopicPolls, count: int) -> None:
    await wait_until_async(lambda: of_topic.waiting == count, what=f"{count} callers wait")


async def test_callers_are_served_in_turn(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    callers = []
    for n in range(3):
        callers.append(asyncio.create_task(of_topic.take(1, FAR_MS)))
        await waiting(of_topic, n + 1)
    for n, key in enumerate(("a", "b", "c")):
        send(queue, key)
        (delivery,) = await asyncio.wait_for(callers[n], PATIENCE_S)
        assert delivery.id == key
    assert of_topic.waiting == 0


async def test_a_message_that_is_there_is_taken_at_once_and_shared_out(queue: Queue, engine: AsyncEngine) -> None:
    send(queue, *"abcde")
    of_topic = TopicPolls(engine, "orders")
    first, second = await asyncio.gather(of_topic.take(3, FAR_MS), of_topic.take(3, FAR_MS))
    assert (len(first), len(second)) == (3, 2)
    assert {each.id for each in first + second} == set("abcde")


async def test_a_delayed_message_is_not_early_and_not_slept_over(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    caller = asyncio.create_task(of_topic.take(1, FAR_MS))
    await waiting(of_topic, 1)
    due = queue.inspector.now_ms() + 400
    queue.client.send("orders", FixedTimeMessage("x", due, key="k"))
    (delivery,) = await asyncio.wait_for(caller, PATIENCE_S)
    assert delivery.taken_ms >= due


async def test_whoever_waited_long_enough_gets_nothing_and_leaves_the_queue(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    assert await of_topic.take(1, 50) == []
    assert of_topic.waiting == 0
    send(queue, "a")
    assert queue.find("a").row.state == "ready"


async def test_what_comes_for_somebody_who_has_gone_is_put_back(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    gone = asyncio.create_task(of_topic.take(1, FAR_MS))
    await waiting(of_topic, 1)
    (waiter,) = of_topic._waiting
    # Its client hangs up at the very moment it is given its answer.
    waiter.answer.add_done_callback(lambda _: gone.cancel())
    send(queue, "a")
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(gone, PATIENCE_S)
    found = queue.find("a").row
    assert (found.state, found.failures) == ("ready", 0)


async def test_leaving_ends_the_search(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    caller = asyncio.create_task(of_topic.take(1, FAR_MS))
    await waiting(of_topic, 1)
    server = of_topic._server
    assert server is not None
    caller.cancel()
    await asyncio.wait({server}, timeout=PATIENCE_S)
    assert server.done() and of_topic.waiting == 0
    send(queue, "a")
    assert queue.find("a").row.state == "ready"
    (delivery,) = await of_topic.take(1, FAR_MS)
    assert delivery.id == "a"


async def test_all_who_wait_are_told_when_the_topic_goes(queue: Queue, engine: AsyncEngine) -> None:
    of_topic = TopicPolls(engine, "orders")
    callers = [asyncio.create_task(of_topic.take(1, FAR_MS)) for _ in range(3)]
    await waiting(of_topic, 3)
    queue.control.delete_topic("orders")
    for caller in callers:
        with pytest.raises(UnknownTopic):
            await asyncio.wait_for(caller, PATIENCE_S)


async def test_polls_are_kept_by_loop_and_topic(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polls, "_TOPICS_MOST", 2)
    one = polls.polls_of("a")
    assert polls.polls_of("a") is one and polls.polls_of("b") is not one
    for name in "cdef":
        polls.polls_of(name)
    assert len(polls._by_loop[asyncio.get_running_loop()]) <= 2
