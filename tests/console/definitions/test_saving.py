"""Edits, new topics, rolling back, deleting: who was first, who may, what is written down."""

from __future__ import annotations

from typing import Any

import pytest

from console.models import AuditEntry, TopicRevision
from console.usecases import topic_history
from console.usecases.topic_fields import defaults, definition_json
from rmq_core import PriorityMessage, Topic, TopicKind
from tests.console.conftest import Queue
from tests.console.definitions.steps import Post, look, stored, version_of


def test_an_edit_is_planned_saved_audited_and_in_the_history(queue: Queue, post: Post) -> None:
    queue.topic()
    body = {"values": {"weight": 9, "description": "what people buy"}, "version": 1}
    plan = post("/topics/orders/definition/plan/", **body).json()["plan"]
    assert {each["field"] for each in plan["difference"]} == {"weight", "description"}
    assert stored(queue).weight == 1 and not AuditEntry.objects.exists()
    answer = post("/topics/orders/definition/save/", reason="more share", **body)
    assert answer.status_code == 200, answer.content
    assert (stored(queue).weight, stored(queue).version) == (9, 2)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.username, entry.reason, entry.result) == ("edit_topic", "editor", "more share", "done")
    assert entry.query["difference"][-1] == {"field": "weight", "before": 1, "after": 9} or entry.query["difference"]
    newest, first = topic_history.page("orders")
    assert (newest.version, newest.username, newest.reason, newest.change) == (2, "editor", "more share", "edited")
    assert {each["field"]: (each["before"], each["after"]) for each in newest.difference} == {
        "weight": (1, 9),
        "description": ("", "what people buy"),
    }
    assert (first.version, first.username, first.via, first.change) == (1, "", "code", "created")


def test_the_second_of_two_editors_sees_the_conflict_and_what_the_first_did(queue: Queue, post: Post) -> None:
    queue.topic()
    base = {"weight": 1, "version": 1}
    post("/topics/orders/definition/save/", values={"weight": 5}, version=1, reason="first")
    mine = {"values": {"weight": 6}, "version": 1, "base": base}
    for address in ("plan", "save"):
        answer = post(f"/topics/orders/definition/{address}/", "Admin", reason="second", **mine)
        assert answer.status_code == 409
        told = answer.json()
        assert told["code"] == "VersionConflict"
        assert (told["definition"]["weight"], told["definition"]["version"]) == (5, 2)
        assert (told["revision"]["who"], told["revision"]["reason"]) == ("editor", "first")
        assert {"field": "weight", "before": 1, "after": 5} in told["difference"]
    assert stored(queue).weight == 5
    assert AuditEntry.objects.filter(action="edit_topic", result="failed").count() == 1
    again = post("/topics/orders/definition/save/", "Admin", values={"weight": 6}, version=2, reason="on top")
    assert again.status_code == 200 and stored(queue).weight == 6


def test_an_edit_needs_a_reason_and_right_values(queue: Queue, post: Post) -> None:
    queue.topic()
    answer = post("/topics/orders/definition/save/", values={"weight": 2}, version=1, reason="  ")
    assert (answer.status_code, answer.json()["fields"][0]["field"]) == (422, "reason")
    answer = post("/topics/orders/definition/save/", values={"weight": 0, "merge": "x"}, version=1, reason="y")
    assert {each["field"] for each in answer.json()["fields"]} == {"weight", "merge"}
    assert version_of(queue) == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"values": {"weight": 2}, "reason": "x"},
        {"values": {"weight": 2}, "reason": "x", "version": "one"},
        {"values": {"weight": 2}, "reason": "x", "version": -1},
        {"values": {"weight": 2}, "reason": "x", "version": 2**70},
        {"values": [], "reason": "x", "version": 1},
        {"values": {"weight": 2}, "reason": "x" * 501, "version": 1},
        {"values": {"slots": 8}, "reason": "x", "version": 1},
        {"values": {"kind": "priority"}, "reason": "x", "version": 1},
        {"values": {"\ud800": 1}, "reason": "x", "version": 1},
    ],
)
def test_bad_edits_change_nothing(queue: Queue, post: Post, body: dict[str, Any]) -> None:
    queue.topic()
    answer = post("/topics/orders/definition/save/", **body)
    assert answer.status_code == 422, answer.content
    assert version_of(queue) == 1


def test_a_topic_deleted_meanwhile_is_not_brought_back(queue: Queue, post: Post) -> None:
    queue.topic()
    queue.control.delete_topic("orders")
    answer = post("/topics/orders/definition/save/", values={"weight": 2}, version=1, reason="x")
    assert (answer.status_code, answer.json()["code"]) == (404, "UnknownTopic")
    assert queue.inspector.topics() == []


def test_an_edit_of_a_topic_is_none_of_the_one_made_anew(queue: Queue, post: Post) -> None:
    queue.topic()
    base = definition_json(stored(queue))
    revision = topic_history.note(stored(queue)).pk
    queue.control.delete_topic("orders")
    queue.topic()
    now = definition_json(stored(queue))
    assert (now["version"], now["created_ms"] > base["created_ms"]) == (1, True)
    about = {"version": 1, "reason": "x", "base": base}
    for address, body in (
        ("plan", {"values": {"weight": 6}}),
        ("save", {"values": {"weight": 6}}),
        ("save", {"values": {}}),
        ("rollback", {"revision": revision}),
    ):
        answer = post(f"/topics/orders/definition/{address}/", **about, **body)
        assert (answer.status_code, answer.json()["code"]) == (409, "VersionConflict"), address
        assert answer.json()["definition"] == now
    assert version_of(queue) == 1
    answer = post("/topics/orders/definition/save/", values={"weight": 6}, version=1, reason="x", base=now)
    assert answer.status_code == 200 and stored(queue).weight == 6


def test_what_code_declares_never_overwrites_an_edit(queue: Queue, post: Post) -> None:
    declared = Topic("orders", TopicKind.FIXED_TIME, slots=4, weight=3)
    queue.client.define(declared)
    post("/topics/orders/definition/save/", values={"weight": 8, "paused": True}, version=1, reason="calmer")
    assert queue.client.define(declared).weight == 8
    assert (stored(queue).weight, stored(queue).paused, stored(queue).version) == (8, True, 2)


def test_creating_a_topic(queue: Queue, post: Post) -> None:
    values = {**defaults(), "name": "invoices", "kind": "priority", "slots": 8}
    plan = post("/define/plan/", values=values).json()["plan"]
    assert "can never be changed" in plan["lines"][1]["text"]
    assert queue.inspector.topics() == []
    answer = post("/define/save/", values=values, reason="")
    assert answer.json()["definition"]["version"] == 1
    queue.client.send("invoices", PriorityMessage("x", 20))
    for address in ("plan", "save"):
        taken = post(f"/define/{address}/", values=values)
        assert (taken.status_code, taken.json()["fields"][0]["field"]) == (422, "name")
    assert AuditEntry.objects.get(action="create_topic", result="done").topic == "invoices"
    assert topic_history.page("invoices")[0].change == "created"
    assert post("/define/save/", values={"name": "a/b", "kind": "priority"}).status_code == 422


def test_rolling_back_makes_an_earlier_version_the_newest(queue: Queue, post: Post) -> None:
    queue.topic(weight=1)
    post("/topics/orders/definition/save/", values={"weight": 5}, version=1, reason="up")
    queue.control.pause("orders")
    first = TopicRevision.objects.get(topic="orders", version=1)
    body = {"revision": first.pk, "version": 3}
    plan = post("/topics/orders/definition/plan/", **body).json()["plan"]
    assert plan["difference"] == [{"field": "weight", "before": 5, "after": 1}]
    answer = post("/topics/orders/definition/rollback/", reason="too much", **body)
    assert answer.status_code == 200, answer.content
    assert (stored(queue).weight, stored(queue).version) == (1, 4)
    assert stored(queue).paused  # whether it is paused is about today
    newest = topic_history.page("orders")[0]
    assert (newest.change, newest.username, newest.reason) == ("rolled_back", "editor", "too much")
    late = post("/topics/orders/definition/rollback/", reason="again", **body)
    assert late.status_code == 409


@pytest.mark.parametrize("revision", [None, 0, 10**15, "x"])
def test_rolling_back_to_nothing_is_refused(queue: Queue, post: Post, revision: Any) -> None:
    queue.topic()
    answer = post("/topics/orders/definition/rollback/", revision=revision, version=1, reason="x")
    assert answer.status_code == 422
    assert version_of(queue) == 1


def test_a_version_of_another_topic_is_not_rolled_back_to(queue: Queue, post: Post) -> None:
    queue.topic()
    queue.topic("other", weight=9)
    look(queue)
    other = TopicRevision.objects.get(topic="other")
    answer = post("/topics/orders/definition/rollback/", revision=other.pk, version=1, reason="x")
    assert answer.status_code == 422
    assert stored(queue).weight == 1


def test_pausing_is_in_the_history_with_who_and_why(queue: Queue, post: Post) -> None:
    queue.topic()
    post("/topics/orders/act/pause/", "Operator", reason="deploying")
    post("/topics/orders/act/pause/", "Admin", reason="no change")
    newest = topic_history.page("orders")[0]
    assert (newest.version, newest.username, newest.reason) == (2, "operator", "deploying")
    assert newest.difference == [{"field": "paused", "before": False, "after": True}]


def test_a_topic_with_messages_is_only_deleted_by_force_and_name(queue: Queue, post: Post) -> None:
    queue.topic()
    queue.delayed("a")
    queue.dead("b")
    address = "/topics/orders/definition/delete/"
    plan = post("/topics/orders/definition/plan/", "Admin", delete=True).json()
    assert plan["plan"]["lines"][0]["count"] == 2 and plan["force"] is None
    refused = post(address, "Admin", reason="old")
    assert (refused.status_code, refused.json()["code"]) == (422, "TopicNotEmpty")
    for confirm in (None, "", "order"):
        assert post(address, "Admin", reason="old", force=True, confirm=confirm).status_code == 422
    assert post(address, "Admin", reason=" ", force=True, confirm="orders").status_code == 422
    assert queue.inspector.topics()
    assert post(address, "Admin", reason="old", force=True, confirm="orders").json()["messages"] == 2
    assert queue.inspector.topics() == []
    entry = AuditEntry.objects.get(action="force_delete", result="done")
    assert (entry.detail["messages"], entry.reason) == (2, "old")
    newest = topic_history.page("orders")[0]
    assert (newest.change, newest.username, newest.definition) == ("deleted", "admin", None)


def test_an_empty_topic_is_deleted_without_force(queue: Queue, post: Post) -> None:
    queue.topic()
    assert post("/topics/orders/definition/delete/", "Editor", reason="x").status_code == 403
    assert post("/topics/orders/definition/delete/", "Admin", reason="x").json()["messages"] == 0
    assert queue.inspector.topics() == []


@pytest.mark.parametrize("role", ["Viewer", "Payload reader", "Operator"])
def test_who_may_not_edit_changes_nothing_and_leaves_a_trace(queue: Queue, post: Post, role: str) -> None:
    queue.topic()
    values = {"name": "new", "kind": "priority"}
    for address, body in (
        ("/topics/orders/definition/save/", {"values": {"weight": 2}, "version": 1}),
        ("/topics/orders/definition/rollback/", {"revision": 1, "version": 1}),
        ("/topics/orders/definition/delete/", {"force": True, "confirm": "orders"}),
        ("/define/save/", {"values": values}),
    ):
        answer = post(address, role, reason="x", **body)
        assert answer.status_code == 403, address
    assert [topic.name for topic in queue.inspector.topics()] == ["orders"] and version_of(queue) == 1
    assert AuditEntry.objects.filter(result="refused").count() == 4
    assert post("/topics/orders/definition/plan/", role, values={}, version=1).status_code == 403
