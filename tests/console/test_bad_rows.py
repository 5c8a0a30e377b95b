"""Rows that are bad already, of an older or newer release or of nobody: each is named, none hides the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.engine import AsyncEngine
from console.keeper.details import Details
from console.keeper.readable import AGAIN_EVERY
from console.keeper.sampler import Sampler
from console.models import TopicRevision
from console.snapshots import store
from console.snapshots.groups import FLEET
from console.snapshots.store import LiveKeys
from console.usecases.definitions import revisions as topic_history
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import UnreadableTopic
from tests.console.conftest import Queue

GOOD_WORKER = {
    "seen_ms": 1, "host": "here", "pid": 7, "topics": ["orders"], "started_ms": 1, "threads": 2, "in_flight": 0,
    "done": 0, "failed": 0, "done_per_s": 0.0, "stuck": 0, "version": "1", "state": "running", "stale": 0,
    "session": "shared", "session_for_ms": 0, "weight": 1, "slots": {"orders": "0-3"}, "versions": {},
}  # fmt: skip
DEFINITIONS = {
    "garbage": b"\xff\xfe",
    "half": '{"name":"half"',
    "list": "[1]",
    "deep": "[" * 50_000,
    "newer": '{"name":"newer","kind":"pile","version":3}',
    "huge": '{"name":"huge","kind":"priority","slots":1e400}',
    "other": '{"name":"else","kind":"priority","version":1}',
    b"\xff": "{}",
}
WORKERS: list[Any] = [
    b"\xff", "nonsense", "[]", "{}", "NaN", "[" * 50_000,
    {**GOOD_WORKER, "pid": "many"}, {**GOOD_WORKER, "done_per_s": float("nan")},
    {**GOOD_WORKER, "slots": {"a": "0-9999999"}},
    {**GOOD_WORKER, "topics": None}, {**GOOD_WORKER, "done": True}, {**GOOD_WORKER, "versions": {"a": "x"}},
    {**GOOD_WORKER, "at_most_once": [5]}, {**GOOD_WORKER, "at_most_once": 7},
]  # fmt: skip


@pytest.fixture
def bad(queue: Queue, redis_server: EmbeddedRedis, namespace: str) -> set[str]:
    """A topic and a worker, and around them whatever could stand there."""
    queue.topic()
    queue.delayed("a")
    with redis_server.client() as raw:
        for name, stored in DEFINITIONS.items():
            raw.hset(f"{namespace}:topics", name, stored)
        now = queue.inspector.now_ms()
        rows = {
            f"bad-{n}": value if isinstance(value, bytes | str) else json.dumps(value)
            for n, value in enumerate(WORKERS)
        }
        rows[b"\xff\xfe"] = json.dumps(GOOD_WORKER)
        rows["odd"] = json.dumps({**GOOD_WORKER, "seen_ms": now, "host": "h\ud800", "state": "dreaming", "more": 1})
        raw.hset(f"{namespace}:workers", mapping=rows)
    return {name if isinstance(name, str) else "\\xff" for name in DEFINITIONS}


def frame(queue: Queue, key: str) -> dict[str, Any]:
    found = queue.client.run(store.read_frame(key))
    assert found is not None
    return json.loads(found[1], parse_constant=lambda word: pytest.fail(f"{word} in a frame"))


async def test_the_sampler_names_them_and_shows_the_rest(
    queue: Queue, own: AsyncEngine, namespace: str, bad: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    keys = LiveKeys(namespace)
    await own.client.run(store.watch(own.client.keyspace, keys.watch, FLEET))
    await own.client.run(store.write_text(keys.sparks, '{"sparks": [1]}', 60_000))
    sampler = Sampler(own, keys, interval_ms=1000, lag_warning_ms=10_000)
    await sampler.restore()
    for _ in range(2):
        await sampler.round()
    shown = frame(queue, keys.overview)
    assert [topic["name"] for topic in shown["topics"]] == ["orders"]
    named = {each["values"]["name"] for each in shown["problems"] if each["code"] == "unreadable_topic"}
    assert named == bad
    workers = {each["values"]["name"] for each in shown["problems"] if each["code"] == "unreadable_worker"}
    assert workers == {f"bad-{n}" for n in range(len(WORKERS))} | {"\\xff\\xfe"}
    (worker,) = frame(queue, keys.fleet)["workers"]
    assert (worker["name"], worker["host"], worker["state"]) == ("odd", "h\\ud800", "running")
    for name in bad:
        assert caplog.text.count(f"topic {name}: ") == 1  # once, not every second


async def test_a_topic_whose_keys_hold_something_else_is_left_out(
    queue: Queue, own: AsyncEngine, namespace: str, redis_server: EmbeddedRedis
) -> None:
    queue.topic()
    for number in range(5):
        queue.topic(f"t{number}")
    queue.delayed("a")
    keys = LiveKeys(namespace)
    sampler = Sampler(own, keys, interval_ms=1000, lag_warning_ms=10_000)
    await sampler.round()
    slot = queue.client.keyspace.slot("t3", 1)
    owners = queue.client.keyspace.owners("t4")
    with redis_server.client() as raw:
        raw.set(slot.stats, "mine")
        raw.set(slot.prepare, "mine")
        raw.hset(queue.client.keyspace.slot("t2", 0).stats, "sent", "many")
        raw.hset(owners[0], "0", "nobody")
        raw.set(owners[1], "mine")
        for name in ("t2", "t3", "t4", "orders"):
            await own.client.run(store.watch(own.client.keyspace, keys.watch, name))
    await sampler.round()
    shown = frame(queue, keys.overview)
    assert [topic["name"] for topic in shown["topics"]] == ["orders", "t0", "t1", "t4"]
    assert {each["values"]["name"] for each in shown["problems"]} == {"t2", "t3"}
    details = Details(own, keys)
    assert await details.round({"orders", "t3", "t4"}) == ["orders", "t4"]
    with redis_server.client() as raw:
        raw.delete(slot.stats, slot.prepare, queue.client.keyspace.slot("t2", 0).stats)
    for _ in range(AGAIN_EVERY):
        await sampler.round()
    assert len(frame(queue, keys.overview)["topics"]) == 6


def test_pages_and_the_history_go_on(queue: Queue, bad: set[str], as_role: Callable[..., Client]) -> None:
    topics = queue.inspector.topics()
    topic_history.look(topics, queue.inspector.now_ms())
    # A definition that became unreadable is not one that somebody deleted.
    topic_history.look([], queue.inspector.now_ms() + 1, frozenset({"orders"}))
    assert TopicRevision.objects.get().change != TopicRevision.Change.DELETED
    browser = as_role("Admin")
    for path in ("/", "/workers/", "/dead/", "/topics/orders/", "/admin/console/topicdefinition/", "/reconciliation/"):
        assert browser.get(path).status_code == 200, path
    for name in ("half", "newer"):
        with pytest.raises(UnreadableTopic, match="left out"):
            queue.client.topic(name)
        assert browser.get(f"/api/v1/topics/{name}/revisions").status_code == 409
        assert "cannot be read" in browser.get(f"/topics/{name}/").content.decode()
