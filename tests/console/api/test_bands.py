"""Starvation: what the keeper finds, the API tells, and who may see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console.engine import AsyncEngine
from console.keeper.sampler import BANDS_EVERY, Sampler
from console.snapshots.store import LiveKeys
from rmq_core import PriorityMessage, TopicKind
from rmq_core.model.bands import STARVES_MS
from tests.console.api.conftest import Caller, problem
from tests.console.api.test_metrics import sample, scrape
from tests.console.conftest import Queue
from tests.support.aged import age_bands


def fill(queue: Queue) -> None:
    queue.topic(kind=TopicKind.PRIORITY, slots=1)
    queue.client.send("orders", "low", priority=20)
    queue.client.send_many("orders", [PriorityMessage(f"high{number}", 900) for number in range(4)])


async def test_the_keeper_finds_it_and_says_when_it_is_over(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> None:
    fill(queue)
    sampler = Sampler(own, keys, interval_ms=1000, lag_warning_ms=10_000)

    async def starving() -> list[Any]:
        for _ in range(BANDS_EVERY):
            seen = (await sampler.round()).observed
        assert seen is not None
        return [dict(each.values) for each in seen.problems if each.code == "starving"]

    assert await starving() == []
    age_bands(queue.client, "orders", STARVES_MS)
    queue.client.ack(queue.client.take("orders", 2))
    (found,) = await starving()
    assert (found["priority"], found["slot"], found["slots"], found["overtaken"]) == (20, 0, 1, 2)
    assert found["waited_ms"] >= STARVES_MS
    queue.client.ack(queue.client.take("orders", 3))
    assert await starving() == []


def test_it_is_told_over_rest_and_as_a_metric(queue: Queue, operator: Caller, settings: Any) -> None:
    fill(queue)
    found = operator.ok("GET", "/topics/orders/bands")
    assert (found["noted_ms"], found["worst"][0]["waited_ms"]) == (None, None)
    sample(settings)
    age_bands(queue.client, "orders", STARVES_MS)
    queue.client.ack(queue.client.take("orders", 1))
    sample(settings)
    found = operator.ok("GET", "/topics/orders/bands?slot=0")
    assert [(each["priority"], each["waiting"], each["starving"]) for each in found["bands"]] == [
        (20, 1, 1),
        (900, 3, 0),
    ]
    assert (found["worst"][0]["overtaken"], found["worst"][0]["before"]) == (1, 3)
    assert scrape(operator)["rmq_starving_slots", "topic=orders"] == 1
    problem(operator.get("/topics/orders/bands?slot=1"), 422, "invalid")


def test_a_scoped_token_sees_its_topics_alone(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic(kind=TopicKind.PRIORITY)
    queue.topic("billing")
    scoped = caller("Viewer", topics="bill*")
    problem(scoped.get("/topics/orders/bands"), 403, "out_of_scope")
    assert scoped.ok("GET", "/topics/billing/bands")["bands"] == []
