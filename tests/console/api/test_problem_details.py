"""Refusals by RFC 9457, entity tags of answers, and where a caller stands with its limit."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from console.models import AuditEntry
from tests.console.api.conftest import BASE, Caller, problem
from tests.console.conftest import Queue


def test_refusals_carry_what_the_standard_asks_for(queue: Queue, operator: Caller) -> None:
    found = problem(operator.get("/topics/nosuch"), 404, "unknown_topic")
    assert found["type"] == "urn:rmq-console:unknown_topic" and found["title"] == "Unknown topic"
    assert found["instance"] == f"{BASE}/topics/nosuch"


def test_who_has_the_answer_already_gets_304(queue: Queue, operator: Caller) -> None:
    first = operator.get("/me")
    assert first["ETag"].startswith('W/"')
    again = operator.get("/me", If_None_Match=f'"other", {first["ETag"]}')
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    assert "Content-Type" not in again, "whoever keeps the answer would take it over"
    assert operator.get("/me", If_None_Match='W/"other"').status_code == 200
    head = operator("HEAD", "/me")
    assert (head.status_code, head.content, head["ETag"]) == (200, b"", first["ETag"])
    assert operator("HEAD", "/me", If_None_Match=first["ETag"]).status_code == 304
    assert "ETag" not in operator.post("/topics/nosuch:pause", {})


def test_the_time_of_a_look_alone_makes_no_other_answer(queue: Queue, operator: Caller) -> None:
    queue.topic()
    queue.delayed("a")
    first = operator.get("/topics/orders/messages?state=delayed")
    again = operator.get("/topics/orders/messages?state=delayed")
    assert first.json()["as_of_ms"] < again.json()["as_of_ms"] and first["ETag"] == again["ETag"]
    queue.delayed("b")
    assert operator.get("/topics/orders/messages?state=delayed", If_None_Match=first["ETag"]).status_code == 200


def test_a_limit_is_told_before_it_is_met(queue: Queue, caller: Callable[..., Caller]) -> None:
    limited = caller("Viewer", rate_per_minute=3)
    left = [int(limited.get("/me")["RateLimit-Remaining"]) for _ in range(3)]
    assert left == [2, 1, 0]
    refused = limited.get("/me")
    problem(refused, 429, "too_many_requests")
    assert (refused["RateLimit-Limit"], refused["RateLimit-Remaining"]) == ("3", "0")
    assert 0 < int(refused["Retry-After"]) <= int(refused["RateLimit-Reset"]) <= 120
    assert "RateLimit-Limit" not in caller("Viewer", rate_per_minute=0).get("/me")


def test_the_audit_tells_people_from_programs(queue: Queue, operator: Caller, as_role: Callable[..., Client]) -> None:
    queue.topic()
    operator.ok("POST", "/topics/orders:pause", {})
    browser = as_role("Operator")
    assert browser.post(f"{BASE}/topics/orders:resume", "{}", content_type="application/json").status_code == 200
    assert [each.via for each in AuditEntry.objects.order_by("id")] == ["rest", "page"]


def test_what_may_be_of_several_kinds_is_told_as_one_field(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    admin = caller("Admin")

    def wrong(method: str, path: str, body: dict[str, object]) -> list[tuple[str, str]]:
        found = problem(admin(method, path, body), 422, "invalid")
        return [(each["field"], each["problem"]) for each in found["fields"]]

    def of_ids(*ids: object) -> list[tuple[str, str]]:
        return wrong("POST", "/topics/orders/dead:requeue", {"ids": [*ids], "reason": "x"})

    assert of_ids(5) == [("ids.0", "must be text or an object")]
    assert of_ids("a", {"slot": 1, "id": "x", "place": "soon"}) == [("ids.1.place", "must be a number, not text")]
    assert of_ids({"slot": 1, "id": 3}, {"slot": 1, "id": "x", "a": 1}) == [
        ("ids.0.id", "Input should be a valid string"),
        ("ids.1.a", "Extra inputs are not permitted"),
    ]
    group = "/topics/orders/groups/g"
    assert wrong("PUT", group, {"start": {}}) == [("start", "must be text or a whole number")]
    assert wrong("POST", f"{group}:move", {"to": []}) == [("to", "must be text or a whole number")]
    # A name that somebody has given is not taken for one of a kind.
    sent = {"content": "x", "delay_ms": 0, "headers": {"str": 5, "int": 6}}
    assert [name for name, _ in wrong("POST", "/topics/orders/messages", sent)] == ["headers.str", "headers.int"]
