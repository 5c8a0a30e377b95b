"""Sets of messages over REST."""

from __future__ import annotations

from typing import Any

from console.models import AuditEntry
from tests.console.api.conftest import Caller, make_token, problem
from tests.console.conftest import Queue

MEMBERS = [{"topic": "orders", "content": each, "in_ms": 0, "tenant": "acme"} for each in ("pay", "pack")]
SHIP = {"topic": "ship", "content": "ship", "in_ms": 0}


def body(**changes: Any) -> dict[str, Any]:
    return {"messages": MEMBERS, "if_done": SHIP, "reason": "by hand", **changes}


def test_what_follows_is_sent_when_all_have_succeeded(queue: Queue, operator: Caller) -> None:
    for name in ("orders", "ship"):
        queue.topic(name)
    first, second = operator.ok("POST", "/sets/checkout-17", body())["results"]
    assert (first["topic"], first["id"], second["id"], first["merged"]) == ("orders", "pay", "pack", False)
    assert [each["merged"] for each in operator.ok("POST", "/sets/checkout-17", body())["results"]] == [True, True]
    for delivery in queue.client.take("orders", 10):
        assert queue.client.take("ship") == []
        queue.client.ack(delivery)
    assert [(each.text, each.tenant) for each in queue.client.take("ship")] == [("ship", "acme")]
    entry = AuditEntry.objects.filter(action="send").latest("pk")
    assert (entry.reason, entry.done, entry.query["set"]) == ("by hand", 2, "checkout-17")


def test_what_cannot_be_is_refused_before_anything_is_sent(queue: Queue, operator: Caller) -> None:
    for name in ("orders", "ship"):
        queue.topic(name)
    own = [{**MEMBERS[0], "if_done": SHIP}]
    hidden = [{**MEMBERS[0], "headers": {"rmq-then": "{}"}}]
    for wrong in (hidden, [{**MEMBERS[0], "odd": 1}]):
        problem(operator("POST", "/sets/s", body(messages=wrong)), 422, "invalid")
    for wrong in ([{"topic": "orders", "content": "no time"}], own):
        problem(operator("POST", "/sets/s", body(messages=wrong)), 422, "invalid_message")
    problem(
        operator("POST", "/sets/s", body(if_done={**SHIP, "topic": "nowhere"}, messages=[*MEMBERS, 7])), 422, "invalid"
    )
    assert queue.client.take("orders", 10) == []


def test_who_sends_must_be_allowed_to_send_what_follows(queue: Queue, db: None) -> None:
    for name in ("orders", "ship"):
        queue.topic(name)
    some = Caller(*make_token("Operator", topics="orders"))
    problem(some("POST", "/sets/s", body()), 403, "out_of_scope")
    assert queue.client.take("orders", 10) == []
