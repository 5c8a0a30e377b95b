"""Actions on many messages over REST, and the operations they become."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.models import AuditEntry, Operation
from rmq_core import FixedTimeMessage
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

REQUEUE, DROP, CANCEL = "/topics/orders/dead:requeue", "/topics/orders/dead:drop", "/topics/orders/messages:cancel"


def test_by_ids_it_is_done_when_answered(queue: Queue, operator: Caller) -> None:
    queue.topic()
    first, second = queue.dead("a"), queue.dead("b")
    slot = queue.find(second).row.slot
    body = {"ids": [first, {"slot": slot, "id": second}, "nowhere"], "reason": "fixed"}
    found = operator.ok("POST", REQUEUE, body)
    assert (found["asked"], found["done"]) == (3, 2)
    assert [each["status"] for each in found["results"]].count("not_found") == 1
    assert queue.find(first).row.state == "ready"
    entry = AuditEntry.objects.get(action="requeue")
    assert (entry.reason, entry.via, entry.result) == ("fixed", "rest", "partly")


def test_by_a_filter_it_is_an_operation(queue: Queue, operator: Caller) -> None:
    queue.topic()
    for n in range(3):
        queue.dead(f"d{n}")
    checked = operator.ok("POST", REQUEUE, {"filter": {"error": "KeyError"}, "validate_only": True})
    assert (checked["count"], checked["exact"]) == (3, True) and len(checked["examples"]) == 3
    assert (checked["cost"]["looks"], checked["cost"]["measured"], checked["cost"]["drain_ms"]) == (3, False, None)
    assert not Operation.objects.exists()
    answer = operator.post(REQUEUE, {"filter": {"error": "KeyError"}, "reason": "fixed"})
    assert answer.status_code == 202, answer.content
    started = answer.json()
    assert answer["Location"] == f"/api/v1/operations/{started['id']}"
    assert (started["action"], started["total"], started["via"]) == ("requeue", 3, "rest")
    shown = operator.ok("GET", f"/operations/{started['id']}")
    assert shown["reason"] == "fixed" and shown["not_done"] == []
    assert [each["id"] for each in operator.ok("GET", "/operations")["operations"]] == [started["id"]]


def test_what_it_costs_is_said_by_what_former_ones_took(queue: Queue, operator: Caller) -> None:
    queue.topic()
    for n in range(4):
        queue.dead(f"d{n}")

    def cost(**more: Any) -> dict[str, Any]:
        found: dict[str, Any] = operator.ok("POST", REQUEUE, {"filter": {}, "validate_only": True, **more})["cost"]
        return found

    first = cost()
    assert (first["looks"], first["steps"], first["measured"]) == (0, 1, False)
    assert cost(rate_per_s=2)["for_ms"] == 2_000 and cost(spread_ms=60_000)["for_ms"] == 60_000
    began = timezone.now()
    for took_s, values in ((10, {}), (1, {"rate_per_s": 9}), (1, {"action": "drop"}), (1, {"done": 3})):
        Operation.objects.create(
            **{"action": "requeue", "topic": "x", "state": "done", "done": 2_000, "username": "o"} | values,
            started=began,
            finished=began + timedelta(seconds=took_s),
        )
    found = cost()
    assert (found["pace_s"], found["measured"], found["for_ms"]) == (200, True, 20)


def test_what_expires_first_is_left_and_said(queue: Queue, operator: Caller) -> None:
    queue.topic()
    due = queue.inspector.now_ms() + 3_600_000
    queue.client.send("orders", FixedTimeMessage("x", due, key="brief", expires_ms=60_000))
    path, later = "/topics/orders/messages:reschedule", due + 3_600_000
    seen = operator.ok("POST", path, {"filter": {"state": "delayed"}, "due_ms": later, "validate_only": True})
    assert (seen["count"], seen["expires_first"], seen["expires_looked_at"]) == (1, 1, 1)
    found = operator.ok("POST", path, {"ids": ["brief"], "due_ms": later})
    assert (found["done"], [each["status"] for each in found["results"]]) == (0, ["expires_first"])
    assert queue.find("brief").row.score_ms == due


def test_operations_can_be_stopped_by_their_own(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    queue.dead("d")
    one, other = caller("Operator"), caller("Operator")
    started = one.ok("POST", REQUEUE, {"filter": {}, "reason": "x"}, status=202)
    assert [each.ok("GET", f"/operations/{started['id']}")["mine"] for each in (one, other)] == [True, False]
    problem(other.post(f"/operations/{started['id']}:stop"), 403, "forbidden")
    assert one.ok("POST", f"/operations/{started['id']}:stop")["state"] in ("stopped", "stopping")
    problem(one.post(f"/operations/{started['id']}:undo", {"reason": "x"}), 422, "bad_request")
    assert one.ok("POST", f"/operations/{started['id']}:resume")["state"] == "queued"
    assert caller("Admin").ok("POST", f"/operations/{started['id']}:stop")["state"] in ("stopped", "stopping")


def test_pages_of_operations(queue: Queue, operator: Caller) -> None:
    queue.topic()
    queue.topic("other")
    queue.dead("d")
    made = [operator.ok("POST", REQUEUE, {"filter": {}, "reason": "x"}, status=202)["id"] for _ in range(3)]
    first = operator.ok("GET", "/operations?topic=orders&limit=2")
    second = operator.ok("GET", f"/operations?topic=orders&limit=2&cursor={first['next']}")
    seen = [each["id"] for page in (first, second) for each in page["operations"]]
    assert seen == made[::-1] and second["next"] is None
    problem(operator.get(f"/operations?topic=other&cursor={first['next']}"), 422, "invalid")
    problem(operator.get("/operations?cursor=zzz"), 422, "invalid")


def test_what_is_outside_a_tokens_topics_is_not_there(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    queue.dead("d")
    started = caller("Operator").ok("POST", REQUEUE, {"filter": {}, "reason": "x"}, status=202)
    scoped = caller("Admin", topics="other.*")
    problem(scoped.get(f"/operations/{started['id']}"), 404, "unknown_operation")
    assert scoped.ok("GET", "/operations")["operations"] == []
    problem(scoped.post(REQUEUE, {"filter": {}, "reason": "x"}), 403, "out_of_scope")
    problem(scoped.get(f"/operations/{uuid.uuid4()}"), 404, "unknown_operation")


def test_ids_reach_the_audit_in_a_form_that_any_database_keeps(queue: Queue, operator: Caller) -> None:
    queue.topic()
    body = {"ids": ["a\x00b", {"slot": 0, "id": "c\x00d"}], "reason": "x"}
    operator.ok("POST", CANCEL, body)
    operator("DELETE", "/topics/orders/messages/a%00b?slot=0")
    for entry in AuditEntry.objects.all():
        assert entry.query["messages"] and all(ident.isprintable() for _, ident in entry.query["messages"])


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"ids": []},
        {"ids": ["a"], "filter": {}},
        {"ids": [""]},
        {"ids": [{"slot": -1, "id": "a"}]},
        {"ids": [{"slot": 4, "id": "a"}]},
        {"filter": {"state": "dead"}},
        {"filter": {"fingerprint": "zz"}},
        {"filter": {"slot": 99}},
        {"filter": {"text": "a\x00b"}},
        {"filter": {"since_ms": 2, "until_ms": 1}},
        {"filter": {}, "canary": 1_001},
        {"filter": {}, "spread_ms": -1},
        {"filter": {}, "rate_per_s": "fast"},
        {"filter": {}, "reason": ""},
        {"filter": {}, "reason": "a\x00b"},
        {"filter": {}, "reason": "x" * 501},
        {"filter": {}, "colour": "red"},
    ],
)
def test_wrong_bulk_orders(queue: Queue, operator: Caller, wrong: dict[str, Any]) -> None:
    queue.topic()
    queue.dead("a")
    answer = operator.post(REQUEUE, {"reason": "x", **wrong})
    assert answer.status_code == 422, (answer.status_code, answer.content)
    assert not Operation.objects.exists() and queue.find("a").row.state == "dead"


def test_many_need_the_topics_name(queue: Queue, operator: Caller) -> None:
    queue.topic()
    from rmq_core import FixedTimeMessage

    far = queue.inspector.now_ms() + 3_600_000
    queue.client.send_many("orders", [FixedTimeMessage(f"m{n}", far) for n in range(1_001)])
    body = {"filter": {"state": "delayed", "text": "m"}, "reason": "x"}
    found = problem(operator.post(CANCEL, body), 422, "bad_request")
    assert "orders" in found["message"]
    assert operator.post(CANCEL, {**body, "confirm": "orders"}).status_code == 202


def test_taking_everything_out_is_for_administrators(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    queue.delayed("a")
    body = {"filter": {"state": "delayed"}, "reason": "x"}
    problem(caller("Editor").post(CANCEL, body), 403, "forbidden")
    problem(caller("Operator").post(DROP, {"filter": {}, "reason": "x"}), 403, "forbidden")
    assert caller("Admin").post(CANCEL, body).status_code == 202


def test_clusters(queue: Queue, operator: Caller, caller: Callable[..., Caller]) -> None:
    queue.topic()
    for n in range(3):
        queue.dead(f"d{n}", content=f'{{"n": {n}}}')
    queue.dead("e", error="ValueError")
    found = operator.ok("GET", "/topics/orders/clusters")["clusters"]
    assert sorted((each["error"], each["count"]) for each in found) == [("KeyError", 3), ("ValueError", 1)]
    assert all(each["example"] for each in found)
    assert not any(each["example"] for each in caller("Viewer").ok("GET", "/topics/orders/clusters")["clusters"])


def test_reports(queue: Queue, operator: Caller, caller: Callable[..., Caller]) -> None:
    queue.topic()
    queue.dead("d")
    started = operator.ok("POST", REQUEUE, {"filter": {}, "reason": "x"}, status=202)
    answer = operator.get(f"/operations/{started['id']}/report")
    assert answer.status_code == 200 and answer["Content-Type"].startswith("application/x-ndjson")
    assert b"".join(answer.streaming_content) == b""  # type: ignore[attr-defined]
    problem(caller("Viewer").get(f"/operations/{started['id']}/report"), 403, "forbidden")
