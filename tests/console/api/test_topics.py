"""Topics, slots and workers over REST."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from console.api.topics.status import Definition
from console.engine import new_async_engine
from console.keeper.sampler import Sampler
from console.models import AuditEntry
from console.options import options
from console.snapshots.store import LiveKeys
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.topic import Topic, TopicKind
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue


def test_a_topic_with_its_counts(queue: Queue, operator: Caller) -> None:
    queue.topic(description="what it is for")
    queue.delayed("a")
    queue.dead("d")
    answer = operator.get("/topics/orders")
    found = answer.json()
    assert answer["ETag"] == f'"{found["version"]}-{found["created_ms"]}"'
    assert (found["kind"], found["slots"], found["description"]) == ("fixed-time", 4, "what it is for")
    counts = found["counts"]
    assert (counts["backlog"], counts["delayed"], counts["dead"], counts["ledger_gap"]) == (1, 1, 1, 0)
    assert counts["counters"]["sent"] == 2 and counts["counters"]["died"] == 1


def test_definitions_show_every_field(queue: Queue, operator: Caller) -> None:
    queue.topic()
    assert set(Definition.model_fields) == {field.name for field in fields(Topic)}
    assert set(Definition.model_fields) <= set(operator.ok("GET", "/topics/orders"))


def test_the_list_has_the_keepers_numbers_once_there_are_some(queue: Queue, operator: Caller, settings: Any) -> None:
    queue.topic()
    queue.delayed()
    (line,) = operator.ok("GET", "/topics")["topics"]
    assert line["numbers"] is None

    async def sample() -> None:
        own = new_async_engine()
        await Sampler(own, LiveKeys(options().namespace), 1000, 10_000).round()
        await own.client.close()

    import asyncio

    asyncio.run(sample())
    (line,) = operator.ok("GET", "/topics")["topics"]
    assert line["numbers"]["backlog"] == 1 and line["numbers"]["at_ms"] > 0


def test_slots(queue: Queue, operator: Caller, caller: Callable[..., Caller]) -> None:
    queue.topic(slots=4)
    ident = queue.delayed("a")
    found = operator.ok("GET", "/topics/orders/slots")["slots"]
    assert [each["slot"] for each in found] == [0, 1, 2, 3]
    (holder,) = [each for each in found if each["delayed"]]
    slot = operator.ok("GET", f"/topics/orders/slots/{holder['slot']}")
    assert [each["id"] for each in slot["next"]] == [ident]
    for wrong in ("4", "4096", "99999999999999999999"):
        problem(operator.get(f"/topics/orders/slots/{wrong}"), 422, "invalid")
    problem(operator.get("/topics/orders/slots/-1"), 404, "not_found")


def test_ids_that_are_contents_are_masked(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    secret = "inline secret"
    queue.client.send("orders", _inline(queue, secret))
    viewer = caller("Viewer")
    for path in (*(f"/topics/orders/slots/{n}" for n in range(4)), "/topics/orders/messages?state=delayed"):
        assert secret not in viewer.get(path).content.decode()
    assert secret in caller("Payload reader").get("/topics/orders/messages?state=delayed").content.decode()


def _inline(queue: Queue, content: str) -> Any:
    from rmq_core import FixedTimeMessage

    return FixedTimeMessage(content, queue.inspector.now_ms() + 60_000)


def test_pause_and_resume_are_written_down(queue: Queue, operator: Caller) -> None:
    queue.topic()
    found = operator.ok("POST", "/topics/orders:pause", {"reason": "supplier is down"})
    assert found["paused"] and queue.inspector.topics()[0].paused
    found = operator.ok("POST", "/topics/orders:resume")
    assert not found["paused"] and not queue.inspector.topics()[0].paused
    entry = AuditEntry.objects.get(action="pause")
    assert entry.user is None and operator.token is not None
    assert entry.username == f"token operator ({operator.token.prefix})"
    assert (entry.via, entry.reason, entry.address) == ("rest", "supplier is down", "127.0.0.1")
    problem(operator.post("/topics/nosuch:pause"), 404, "unknown_topic")


def test_workers_and_pins(
    queue: Queue, operator: Caller, caller: Callable[..., Caller], redis_server: EmbeddedRedis
) -> None:
    queue.topic()
    assert operator.ok("GET", "/workers") == {"workers": [], "drained_away": []}
    problem(operator.post("/workers/host%2Fw1:drain", {"reason": "x"}), 404, "unknown_worker")
    problem(operator.post("/workers/host%2Fw1:undrain", {}), 404, "unknown_worker")
    found = problem(operator.post("/topics/orders/slots:pin", {"worker": "w1", "slots": "0"}), 422, "invalid")
    assert found["fields"][0]["field"] == "worker" and not queue.inspector.placement_overrides().drained
    queue.worker("host/w1")
    queue.worker("w1")
    assert operator.ok("POST", "/workers/host%2Fw1:drain", {"reason": "going home"}) == {"changed": 1}
    with redis_server.client() as raw:  # it went home
        raw.hdel(queue.client.keyspace.workers, "host/w1")
    assert operator.ok("GET", "/workers")["drained_away"] == ["host/w1"]
    assert caller("Viewer", topics="orders").ok("GET", "/workers")["drained_away"] == []
    assert operator.ok("POST", "/workers/host%2Fw1:undrain") == {"changed": 1}
    assert operator.ok("POST", "/topics/orders/slots:pin", {"worker": "w1", "slots": "0-1,3"}) == {"changed": 3}
    assert dict(queue.inspector.placement_overrides().pins["orders"]) == {0: "w1", 1: "w1", 3: "w1"}
    assert operator.ok("POST", "/topics/orders/slots:unpin", {"slots": "0-3"}) == {"changed": 3}
    problem(operator.post("/topics/orders/slots:pin", {"worker": "w1", "slots": "3-1"}), 422, "bad_request")
    # A slot that the topic does not have: none of the others is pinned either.
    problem(operator.post("/topics/orders/slots:pin", {"worker": "w1", "slots": "0-4"}), 422, "bad_request")
    assert not queue.inspector.placement_overrides().pins
    problem(operator.post("/topics/orders/slots:pin", {"slots": "1"}), 422, "invalid")
    problem(operator.post("/workers/w1:drain", {}), 422, "invalid")
    for hostile in ("a%00b", "a%07b", "x" * 201):
        problem(operator.post(f"/workers/{hostile}:drain", {"reason": "x"}), 422, "invalid")


def test_whoever_deletes_a_topic_meanwhile_is_answered_in_order(queue: Queue, operator: Caller) -> None:
    queue.topic(kind=TopicKind.PRIORITY)
    assert operator.get("/topics/orders").status_code == 200
    queue.control.delete_topic("orders", force=True)
    answers = [operator.get(path) for path in ("/topics/orders", "/topics/orders/messages", "/topics/orders/slots")]
    assert {answer.status_code for answer in answers} <= {200, 404}
    assert json.dumps([answer.json() for answer in answers])
    assert answers[0].status_code == 404
