"""Dead letters somebody has acknowledged are no problem; the next one is, and so is a new topic of the same name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.engine import AsyncEngine
from console.keeper.sampler import Sampler
from console.models import AuditEntry
from console.snapshots import acknowledgements, store
from console.snapshots.store import LiveKeys
from tests.console.conftest import Queue
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db


class Looker:
    """Samples, and tells what the overview says of dead letters."""

    def __init__(self, queue: Queue, engine: AsyncEngine, keys: LiveKeys) -> None:
        self.queue, self.keys = queue, keys
        self.sampler = Sampler(engine, keys, interval_ms=1000, lag_warning_ms=10_000)

    async def look(self) -> dict[str, Any]:
        await self.sampler.round()
        found = self.queue.client.run(store.read_frame(self.keys.overview))
        assert found is not None
        return json.loads(found[1])

    async def fresh(self) -> int:
        """How many dead letters are called a problem."""
        problems = (await self.look())["problems"]
        return next((each["values"]["fresh"] for each in problems if each["code"].startswith("dead")), 0)


@pytest.fixture
def looker(queue: Queue, own: AsyncEngine, keys: LiveKeys) -> Looker:
    return Looker(queue, own, keys)


def acknowledge(queue: Queue, keys: LiveKeys, topic: str = "orders", until_ms: int | None = None) -> None:
    """As the console's action does."""
    from console.usecases.acknowledging import acknowledge as run

    done_ms = run(topic, until_ms, "ada", "known")["at_ms"]
    wait_until(lambda: queue.inspector.now_ms() > done_ms, what="the next millisecond")


async def test_dead_letters_are_a_problem_until_somebody_has_acknowledged_them(
    queue: Queue, looker: Looker, keys: LiveKeys
) -> None:
    queue.topic()
    for n in range(3):
        queue.dead(f"d{n}")
    assert await looker.fresh() == 3
    acknowledge(queue, keys)
    assert await looker.fresh() == 0
    assert (await looker.look())["totals"]["acknowledged"] == 3
    queue.dead("one-more")
    assert await looker.fresh() == 1
    queue.control.requeue("orders", ["d0"])
    assert await looker.fresh() == 1, "an old one that goes does not hide the new one"
    queue.control.requeue("orders", ["one-more"])
    assert await looker.fresh() == 0


async def test_only_what_was_seen_is_acknowledged(queue: Queue, looker: Looker, keys: LiveKeys) -> None:
    queue.topic()
    queue.dead("seen")
    seen_ms = queue.find("seen").row.score_ms
    wait_until(lambda: queue.inspector.now_ms() > seen_ms, what="the next millisecond")
    queue.dead("died while they were reading")
    acknowledge(queue, keys, until_ms=seen_ms)
    assert await looker.fresh() == 1
    found = queue.client.run(acknowledgements.read(keys.acknowledged))["orders"]
    assert (found.count, found.by, found.until_ms) == (1, "ada", seen_ms)


async def test_an_older_page_takes_nothing_back(queue: Queue, looker: Looker, keys: LiveKeys) -> None:
    queue.topic()
    queue.dead("d")
    acknowledge(queue, keys)
    acknowledge(queue, keys, until_ms=1)
    assert await looker.fresh() == 0


async def test_more_new_ones_than_are_looked_at_are_counted(
    queue: Queue, looker: Looker, keys: LiveKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acknowledgements, "LOOKED_AT", 2)
    queue.topic()
    queue.dead("old")
    acknowledge(queue, keys)
    for n in range(5):
        queue.dead(f"d{n}")
    assert await looker.fresh() == 5


async def test_a_topic_made_anew_begins_without(queue: Queue, looker: Looker, keys: LiveKeys) -> None:
    queue.topic()
    queue.dead("d")
    acknowledge(queue, keys)
    assert await looker.fresh() == 0
    queue.control.delete_topic("orders", force=True)
    await looker.look()
    assert queue.client.run(acknowledgements.read(keys.acknowledged)) == {}
    queue.topic()
    queue.dead("d")
    assert await looker.fresh() == 1


async def test_what_cannot_be_read_acknowledges_nothing(queue: Queue, looker: Looker, keys: LiveKeys) -> None:
    queue.topic()
    queue.topic("jobs")
    queue.dead("d")
    queue.dead("d", topic="jobs")
    acknowledge(queue, keys, "jobs")
    for text in ("{", "[]", '{"until_ms": 1}', "null"):
        queue.client.run(acknowledged_raw(keys, text))
        assert await looker.fresh() == 1


def acknowledged_raw(keys: LiveKeys, text: str) -> Any:
    yield [("HSET", keys.acknowledged, "orders", text)]


def test_the_page_and_the_api_acknowledge_and_write_it_down(
    queue: Queue, keys: LiveKeys, as_role: Callable[..., Client]
) -> None:
    queue.topic()
    queue.dead("d")
    viewer = as_role("Viewer")
    refused = viewer.post("/api/v1/topics/orders/dead:acknowledge", {}, content_type="application/json")
    assert refused.status_code == 403
    assert queue.client.run(acknowledgements.read(keys.acknowledged)) == {}
    operator = as_role("Operator")
    body = {"reason": "INC-1", "until_ms": queue.inspector.now_ms() + 10**9}
    done = operator.post("/api/v1/topics/orders/dead:acknowledge", body, content_type="application/json")
    assert done.status_code == 200, done.content
    (found,) = queue.client.run(acknowledgements.read(keys.acknowledged)).values()
    assert (found.by, found.count, found.reason) == ("operator", 1, "INC-1")
    assert found.until_ms <= queue.inspector.now_ms(), "nobody has seen what is still to come"
    by_api = operator.post("/api/v1/topics/orders/dead:acknowledge", {"reason": "x"}, content_type="application/json")
    assert by_api.status_code == 200 and by_api.json()["count"] == 1, by_api.content
    missing = operator.post("/api/v1/topics/nope/dead:acknowledge", {}, content_type="application/json")
    assert missing.status_code == 404
    entries = AuditEntry.objects.filter(action="acknowledge", topic="orders")
    assert [(each.username, each.result, each.reason) for each in entries] == [
        ("operator", "done", "x"), ("operator", "done", "INC-1"), ("viewer", "refused", ""),
    ]  # fmt: skip
    assert entries[1].detail["acknowledged"]["count"] == 1
