"""Who says which life of a topic or group they saw acts on that one, and on no other of its name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rmq_core import Topic, TopicKind
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

LIFE = "RMQ_Created_Ms"
"""As `Caller` takes the names of headers."""


def anew(queue: Queue) -> Topic:
    """The same topic once more, as nothing of it may be confused with the one before."""
    before = queue.client.topic("orders")
    queue.control.delete_topic("orders", force=True)
    queue.topic()
    return before


def test_a_topic_made_anew_is_another_one(queue: Queue, operator: Caller) -> None:
    queue.topic()
    before = anew(queue)
    old, now = {LIFE: str(before.created_ms)}, {LIFE: str(operator.ok("GET", "/topics/orders")["created_ms"])}
    problem(operator.post("/topics/orders:pause", **old), 412, "made_anew")
    assert not queue.client.topic("orders").paused
    body = {"content": "x", "in_ms": 1000}
    assert operator.post("/topics/orders/messages", body, **old).status_code == 412
    assert queue.inspector.sample(["orders"])[0].backlog == 0
    assert operator.post("/topics/orders:pause", **now).status_code == 200
    assert operator.post("/topics/orders:resume").status_code == 200


def test_a_group_made_anew_is_another_one(queue: Queue, operator: Caller) -> None:
    queue.topic("events", TopicKind.STREAM, slots=1)
    before = queue.client.define_group("events", "mail", start="start")
    queue.client.send_many("events", ["a", "b", "c"])
    queue.control.delete_topic("events@mail", force=True)
    now = queue.client.define_group("events", "mail", start="start")
    queue.client.ack(queue.client.take("events@mail", 3))
    assert now.created_ms != before.created_ms
    move = {"to": "start", "reason": "wrong sums"}
    old = {LIFE: str(before.created_ms)}
    for path, sent in {
        "/topics/events/groups/mail:move": move,
        "/topics/events/groups/mail:claim": {"member": "", "reason": "x"},
        "/topics/events@mail:pause": {},
    }.items():
        problem(operator.post(path, sent, **old), 412, "made_anew")
    assert queue.inspector.sample(["events@mail"])[0].lag == 0
    assert operator.post("/topics/events/groups/mail:move", move, **{LIFE: str(now.created_ms)}).status_code == 200


def test_an_answer_that_was_kept_is_given_also_when_its_topic_has_gone(
    queue: Queue, caller: Callable[..., Caller]
) -> None:
    admin = caller("Admin")
    queue.topic()
    headers = {LIFE: str(queue.client.topic("orders").created_ms), "Idempotency_Key": "delete-1"}
    first = admin("DELETE", "/topics/orders?reason=old", **headers)
    assert first.status_code == 200
    queue.topic()
    assert admin("DELETE", "/topics/orders?reason=old", **headers).content == first.content
    assert queue.client.topic("orders")


@pytest.mark.parametrize("given", ["", "-1", "1.5", "never", "9" * 17, "１２"])
def test_what_is_no_time_is_said(queue: Queue, operator: Caller, given: str) -> None:
    queue.topic()
    found = problem(operator.post("/topics/orders:pause", **{LIFE: given}), 422, "invalid")
    assert found["fields"][0]["field"] == LIFE.replace("_", "-")


def test_others_are_told_nothing_of_a_topic(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    assert caller("Operator", "mine-*").post("/topics/orders:pause", **{LIFE: "1"}).status_code == 403
    assert caller("Operator").post("/topics/nosuch:pause", **{LIFE: "1"}).status_code == 404
