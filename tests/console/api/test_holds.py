"""Holding one key over REST: who may, what is shown, what is written down."""

from __future__ import annotations

from collections.abc import Callable

from console.models import AuditEntry
from rmq_core import FixedTimeMessage
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue


def test_a_key_is_held_listed_and_lifted(queue: Queue, operator: Caller) -> None:
    queue.topic()
    queue.delayed("a", in_ms=0)
    queue.delayed("b", in_ms=0)
    made = operator.ok("POST", "/topics/orders/holds", {"id": "a", "for_ms": 60_000, "reason": "disputed"})
    (hold,) = made["holds"]
    assert (hold["of"], hold["key"], hold["held"]) == ("id", "a", 1)
    assert hold["until_ms"] == hold["since_ms"] + 60_000
    assert hold["note"].endswith(": disputed")
    assert operator.ok("GET", "/topics/orders/holds")["holds"] == [hold]
    counts = operator.ok("GET", "/topics/orders")["counts"]
    assert (counts["held"], counts["ready"], counts["backlog"]) == (1, 1, 2)
    (row,) = operator.ok("GET", "/topics/orders/messages?state=held")["rows"]
    assert row["id"] == "a"
    assert operator.ok("GET", "/topics/orders/why/a")["reasons"][0]["code"] == "held_until"
    problem(operator("POST", "/topics/orders/messages/a:run", {}), 409, "held")
    assert operator.ok("POST", f"/topics/orders/holds/{hold['ref']}:lift", {}) == {"messages": 1}
    problem(operator("POST", f"/topics/orders/holds/{hold['ref']}:lift", {}), 404, "unknown_hold")
    assert operator.ok("GET", "/topics/orders/holds")["holds"] == []
    told = AuditEntry.objects.order_by("pk").values_list("action", "topic", "reason", "result", "done")
    assert list(told)[-4:] == [
        ("hold", "orders", "disputed", "done", 1),
        ("run_now", "orders", "", "nothing", 0),
        ("lift", "orders", "", "done", 1),
        ("lift", "orders", "", "nothing", 0),
    ]


def test_a_slot_basis_is_held_and_shown_with_its_messages(queue: Queue, operator: Caller) -> None:
    queue.topic()
    body = {"content": "x", "key": "k", "slot_basis": "customer", "delay_ms": 60_000}
    operator.ok("POST", "/topics/orders/messages", body)
    (message,) = operator.ok("GET", "/topics/orders/messages/k?slot_basis=customer")["messages"]
    assert message["slot_basis"] == "customer"
    (hold,) = operator.ok("POST", "/topics/orders/holds", {"slot_basis": "customer", "reason": "r"})["holds"]
    assert (hold["slot"], hold["held"]) == (message["slot"], 0)


def test_who_may_not_read_content_sees_no_keys(queue: Queue, operator: Caller, caller: Callable[..., Caller]) -> None:
    queue.topic()
    operator.ok("POST", "/topics/orders/holds", {"id": "secret content", "reason": "r"})
    (hold,) = caller("Viewer").ok("GET", "/topics/orders/holds")["holds"]
    assert hold["key"] is None
    assert hold["note"] is not None


def test_who_may_not_read_content_does_not_see_which_message_failed(
    queue: Queue, operator: Caller, caller: Callable[..., Caller]
) -> None:
    queue.topic(on_failure="wait", max_retries=3, backoff_ms=60_000)
    for number, key in enumerate(("secret", "next")):
        message = FixedTimeMessage("{}", queue.inspector.now_ms() + number, key=key, slot_basis="customer")
        queue.client.send("orders", message, allow_past=True)
    (delivery,) = queue.client.take("orders", timeout_ms=2_000)
    queue.client.nack(delivery)
    assert not queue.client.take("orders"), "the others of its slot basis wait behind it"
    (hold,) = operator.ok("GET", "/topics/orders/holds")["holds"]
    assert (hold["of"], hold["note"]) == ("failure", "secret")
    (hold,) = caller("Viewer").ok("GET", "/topics/orders/holds")["holds"]
    assert (hold["key"], hold["note"]) == (None, None)


def test_what_means_nothing_is_refused(queue: Queue, operator: Caller) -> None:
    queue.topic()
    reason = {"reason": "r"}
    for body in ({}, {"id": "a", "slot_basis": "b"}, {"id": "x" * 513}, {"id": "a", "slot": 4}):
        problem(operator("POST", "/topics/orders/holds", body | reason), 422, "invalid_message")
    problem(operator("POST", "/topics/orders/holds", {"id": "a"}), 422, "invalid")
    problem(operator("POST", "/topics/orders/holds/99-1:lift", {}), 422, "invalid_message")
