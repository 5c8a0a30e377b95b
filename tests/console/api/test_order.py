"""Versions in order over REST: what waits for what, and who lets a key go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console.models import AuditEntry
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue


def sent(operator: Caller, *versions: int) -> list[Any]:
    bodies = [{"content": f"v{each}", "key": "a", "version": each, "delay_ms": 0} for each in versions]
    return [operator.ok("POST", "/topics/orders/messages", body) for body in bodies]


def test_what_waits_is_listed_explained_and_skipped(
    queue: Queue, operator: Caller, caller: Callable[..., Caller]
) -> None:
    queue.topic(in_order=True)
    sent(operator, 3, 2)
    assert queue.client.take("orders", 10) == []
    found = operator.ok("GET", "/topics/orders/order")
    (waiting,) = found["waits"]
    assert found["keys"] == 1
    assert (waiting["key"], waiting["next"], waiting["awaited"], waiting["blocked"]) == ("a", 1, "missing", True)
    assert (waiting["lowest"], waiting["held"]) == (2, 2)
    assert caller("Viewer").ok("GET", "/topics/orders/order")["waits"][0]["key"] is None
    (reason,) = operator.ok("GET", "/topics/orders/why/a%232")["reasons"]
    assert reason["code"] == "behind_missing"
    body = {"key": "a", "instead_of": 1, "reason": "lost"}
    assert operator.ok("POST", "/topics/orders/order:skip", body) == {"done": True, "next": 2}
    problem(operator("POST", "/topics/orders/order:skip", body), 409, "order_moved")
    assert [each.text for each in queue.client.take("orders", 10)] == ["v2"]
    told = AuditEntry.objects.filter(action="skip").order_by("pk").values_list("topic", "reason", "result", "done")
    assert [*told] == [("orders", "lost", "done", 1), ("orders", "lost", "failed", 0)]


def test_what_has_no_place_in_an_order_is_refused(queue: Queue, operator: Caller) -> None:
    queue.topic(in_order=True)
    problem(operator("POST", "/topics/orders/messages", {"content": "x", "key": "a", "delay_ms": 0}), 422, "invalid")
    queue.topic("plain")
    problem(operator("POST", "/topics/plain/order:skip", {"key": "a", "reason": "r"}), 422, "wrong_kind")
    assert operator.ok("GET", "/topics/plain/order")["waits"] == []


def test_a_dead_version_is_corrected_in_its_place(queue: Queue, operator: Caller) -> None:
    queue.topic(in_order=True)
    sent(operator, 1, 2)
    (dead,) = queue.client.take("orders")
    queue.client.reject(dead)
    body = {"slot": dead.slot, "id": "a#1", "content": "right", "drop": False, "reason": "a slip"}
    assert operator("POST", "/topics/orders/dead:resend", body).json()["id"] == "a#1"
    (right,) = queue.client.take("orders", 10)
    assert (right.id, right.text) == ("a#1", "right")
    queue.client.ack(right)
    assert [each.text for each in queue.client.take("orders", 10)] == ["v2"]


def test_a_version_that_was_handled_is_told(queue: Queue, operator: Caller) -> None:
    queue.topic(in_order=True)
    sent(operator, 1)
    queue.client.ack(queue.client.take("orders"))
    (again,) = sent(operator, 1)
    assert again["results"][0]["outdated_by"] == 1
