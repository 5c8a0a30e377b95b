"""Edits, new topics, rolling back, deleting: who was first, who may, what is recorded."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from console.models import AuditEntry, TopicRevision
from console.serializers.topics import etag
from console.usecases.definitions import revisions as topic_history
from console.usecases.definitions.fields import defaults
from rmq_core import PriorityMessage, Topic, TopicKind
from tests.console.conftest import Queue
from tests.console.definitions.steps import Editors, look, stored, tag_of, version_of


def test_an_edit_is_planned_saved_audited_and_in_the_history(queue: Queue, editors: Editors) -> None:
    queue.topic()
    values, match = {"weight": 9, "description": "what people buy"}, tag_of(queue)
    plan = editors.put(values, match, validate_only=True).json()
    assert {each["field"] for each in plan["difference"]} == {"weight", "description"}
    assert stored(queue).weight == 1 and not AuditEntry.objects.exists()
    answer = editors.put(values, match, reason="more share")
    assert answer.status_code == 200, answer.content
    assert (stored(queue).weight, stored(queue).version) == (9, 2)
    assert answer["ETag"] == tag_of(queue)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.username, entry.reason, entry.result) == ("edit_topic", "editor", "more share", "done")
    assert {"field": "weight", "before": 1, "after": 9} in entry.query["difference"]
    newest, first = topic_history.page("orders")
    assert (newest.version, newest.username, newest.reason, newest.change) == (2, "editor", "more share", "edited")
    assert {each["field"]: (each["before"], each["after"]) for each in newest.difference} == {
        "weight": (1, 9),
        "description": ("", "what people buy"),
    }
    assert (first.version, first.username, first.via, first.change) == (1, "", "code", "created")


def test_the_second_of_two_editors_sees_the_conflict_and_what_the_first_did(queue: Queue, editors: Editors) -> None:
    queue.topic()
    match = tag_of(queue)
    editors.put({"weight": 5}, match, reason="first")
    for dry in (True, False):
        answer = editors.put({"weight": 6}, match, "Admin", reason="second", validate_only=dry)
        assert (answer.status_code, answer.json()["code"]) == (412, "version_conflict")
    now = editors.ask("GET", "/orders", "Admin")
    assert (now.json()["weight"], now.json()["version"], now["ETag"]) == (5, 2, tag_of(queue))
    newest = editors.ask("GET", "/orders/revisions", "Admin", limit=1).json()["revisions"][0]
    assert (newest["version"], newest["who"], newest["reason"]) == (2, "editor", "first")
    assert {"field": "weight", "before": 1, "after": 5} in newest["difference"]
    assert stored(queue).weight == 5
    again = editors.put({"weight": 6}, now["ETag"], "Admin", reason="on top")
    assert again.status_code == 200 and stored(queue).weight == 6


def test_the_newest_version_is_in_the_history_before_the_keeper_has_seen_it(queue: Queue, editors: Editors) -> None:
    queue.topic()
    (first,) = editors.ask("GET", "/orders/revisions", "Viewer").json()["revisions"]
    assert (first["id"], first["version"], first["by_code"]) == (None, 1, True)
    assert not TopicRevision.objects.exists(), "looking writes nothing down"
    topic_history.note(stored(queue))
    (noted,) = editors.ask("GET", "/orders/revisions", "Viewer").json()["revisions"]
    assert noted == first | {"id": TopicRevision.objects.get().pk}


@pytest.mark.parametrize("written_down_meanwhile", [False, True])
def test_pages_begin_with_what_is_not_written_down(
    queue: Queue, editors: Editors, written_down_meanwhile: bool
) -> None:
    queue.topic()
    topic_history.note(stored(queue))
    queue.control.put_topic(dataclasses.replace(stored(queue), weight=2), 1)
    first = editors.ask("GET", "/orders/revisions", "Viewer", limit=1).json()
    assert [row["version"] for row in first["revisions"]] == [2]
    if written_down_meanwhile:
        topic_history.note(stored(queue))
    rest = editors.ask("GET", "/orders/revisions", "Viewer", limit=1, cursor=first["next"]).json()
    assert [row["version"] for row in rest["revisions"]] == [1] and rest["next"] is None


def test_wrong_values_are_named(queue: Queue, editors: Editors) -> None:
    queue.topic()
    answer = editors.put({"weight": 0, "merge": "x"}, tag_of(queue), reason="y")
    assert answer.status_code == 422
    assert {each["field"] for each in answer.json()["fields"]} & {"weight", "merge"}
    assert version_of(queue) == 1


@pytest.mark.parametrize("values", [{"slots": 8}, {"kind": "priority"}, {"\ud800": 1}, [], "x", {"weight": ""}])
@pytest.mark.parametrize("dry", [True, False])
def test_bad_edits_change_nothing(queue: Queue, editors: Editors, values: Any, dry: bool) -> None:
    queue.topic()
    answer = editors.put(values, tag_of(queue), reason="x", validate_only=dry)
    assert answer.status_code in (409, 422), answer.content
    assert version_of(queue) == 1


def test_a_reason_that_is_too_long_changes_nothing(queue: Queue, editors: Editors) -> None:
    queue.topic()
    assert editors.put({"weight": 2}, tag_of(queue), reason="x" * 501).status_code == 422
    assert version_of(queue) == 1


def test_a_topic_deleted_meanwhile_is_not_brought_back(queue: Queue, editors: Editors) -> None:
    queue.topic()
    match = tag_of(queue)
    queue.control.delete_topic("orders")
    answer = editors.put({"weight": 2, "kind": "priority"}, match, reason="x")
    assert answer.status_code == 412, answer.content
    assert queue.inspector.topics() == []


def test_an_edit_of_a_topic_is_none_of_the_one_made_anew(queue: Queue, editors: Editors) -> None:
    queue.topic()
    match = tag_of(queue)
    revision = topic_history.note(stored(queue)).pk
    queue.control.delete_topic("orders")
    queue.topic()
    assert (version_of(queue), tag_of(queue) != match) == (1, True)
    for values, dry in (({"weight": 6}, True), ({"weight": 6}, False), ({}, False)):
        answer = editors.put(values, match, reason="x", validate_only=dry)
        assert (answer.status_code, answer.json()["code"]) == (412, "version_conflict"), values
    for dry in (True, False):
        answer = editors.rollback({"revision": revision, "reason": "x", "validate_only": dry}, match)
        assert (answer.status_code, answer.json()["code"]) == (412, "version_conflict")
    assert version_of(queue) == 1
    assert editors.put({"weight": 6}, tag_of(queue), reason="x").status_code == 200 and stored(queue).weight == 6


def test_what_code_declares_never_overwrites_an_edit(queue: Queue, editors: Editors) -> None:
    declared = Topic("orders", TopicKind.FIXED_TIME, slots=4, weight=3)
    queue.client.define(declared)
    editors.put({"weight": 8, "paused": True}, tag_of(queue), reason="calmer")
    assert queue.client.define(declared).weight == 8
    assert (stored(queue).weight, stored(queue).paused, stored(queue).version) == (8, True, 2)


def test_creating_a_topic(queue: Queue, editors: Editors) -> None:
    values = {**defaults(), "name": "invoices", "kind": "priority", "slots": 8}
    plan = editors.put(values, name="invoices", validate_only=True).json()
    assert "can never be changed" in plan["lines"][1]["text"]
    assert queue.inspector.topics() == []
    answer = editors.put(values, name="invoices")
    assert (answer.status_code, answer.json()["version"]) == (201, 1)
    queue.client.send("invoices", PriorityMessage("x", 20))
    for dry in (True, False):
        taken = editors.put(values, name="invoices", validate_only=dry)
        assert (taken.status_code, taken.json()["code"]) == (412, "topic_exists")
    assert AuditEntry.objects.get(action="create_topic", result="done").topic == "invoices"
    assert topic_history.page("invoices")[0].change == "created"
    assert editors.put({"name": "a/b", "kind": "priority"}, name="a%2Fb").status_code == 404


def test_rolling_back_makes_an_earlier_version_the_newest(queue: Queue, editors: Editors) -> None:
    queue.topic(weight=1)
    editors.put({"weight": 5}, tag_of(queue), reason="up")
    queue.control.pause("orders")
    first, match = TopicRevision.objects.get(topic="orders", version=1), tag_of(queue)
    plan = editors.rollback({"revision": first.pk, "validate_only": True}, match).json()
    assert plan["difference"] == [{"field": "weight", "before": 5, "after": 1}]
    assert editors.rollback({"revision": first.pk, "reason": " "}, match).status_code == 422
    answer = editors.rollback({"revision": first.pk, "reason": "too much"}, match)
    assert answer.status_code == 200, answer.content
    assert (stored(queue).weight, stored(queue).version) == (1, 4)
    assert stored(queue).paused  # whether it is paused is about today
    newest = topic_history.page("orders")[0]
    assert (newest.change, newest.username, newest.reason) == ("rolled_back", "editor", "too much")
    assert editors.rollback({"revision": first.pk, "reason": "again"}, match).status_code == 412


@pytest.mark.parametrize("revision", [None, 0, 10**15, "x"])
@pytest.mark.parametrize("dry", [True, False])
def test_rolling_back_to_nothing_is_refused(queue: Queue, editors: Editors, revision: Any, dry: bool) -> None:
    queue.topic()
    answer = editors.rollback({"revision": revision, "reason": "x", "validate_only": dry}, tag_of(queue))
    assert answer.status_code == 422
    assert version_of(queue) == 1


def test_a_version_of_another_topic_is_not_rolled_back_to(queue: Queue, editors: Editors) -> None:
    queue.topic()
    queue.topic("other", weight=9)
    look(queue)
    other = TopicRevision.objects.get(topic="other")
    answer = editors.rollback({"revision": other.pk, "reason": "x"}, etag(stored(queue)))
    assert answer.status_code == 422
    assert stored(queue).weight == 1


def test_pausing_is_in_the_history_with_who_and_why(queue: Queue, editors: Editors) -> None:
    queue.topic()
    editors.ask("POST", "/orders:pause", "Operator", {"reason": "deploying"})
    editors.ask("POST", "/orders:pause", "Admin", {"reason": "no change"})
    newest = topic_history.page("orders")[0]
    assert (newest.version, newest.username, newest.reason) == (2, "operator", "deploying")
    assert newest.difference == [{"field": "paused", "before": False, "after": True}]


def test_a_topic_with_messages_is_only_deleted_by_force(queue: Queue, editors: Editors) -> None:
    queue.topic()
    queue.delayed("a")
    queue.dead("b")
    plan = editors.delete(validate_only=True).json()
    assert plan["lines"][0]["count"] == 2 and queue.inspector.topics()
    refused = editors.delete(reason="old")
    assert (refused.status_code, refused.json()["code"]) == (409, "topic_not_empty")
    for reason in ("", " "):
        assert editors.delete(reason=reason, force=True).status_code == 422
    assert queue.inspector.topics()
    assert editors.delete(reason="old", force=True).json()["messages"] == 2
    assert queue.inspector.topics() == []
    entry = AuditEntry.objects.get(action="force_delete", result="done")
    assert (entry.detail["messages"], entry.reason) == (2, "old")
    newest = topic_history.page("orders")[0]
    assert (newest.change, newest.username, newest.definition) == ("deleted", "admin", None)


def test_an_empty_topic_is_deleted_without_force(queue: Queue, editors: Editors) -> None:
    queue.topic()
    assert editors.delete("Editor", reason="x").status_code == 403
    assert editors.delete("Editor", validate_only=True).status_code == 403
    assert editors.delete(reason="x").json()["messages"] == 0
    assert queue.inspector.topics() == []


@pytest.mark.parametrize("role", ["Viewer", "Payload reader", "Operator"])
def test_who_may_not_edit_changes_nothing_and_leaves_a_trace(queue: Queue, editors: Editors, role: str) -> None:
    queue.topic()
    match = tag_of(queue)
    for answer in (
        editors.put({"weight": 2}, match, role, reason="x"),
        editors.rollback({"revision": 1, "reason": "x"}, match, role),
        editors.delete(role, reason="x", force=True),
        editors.put({"kind": "priority"}, "", role, "new"),
    ):
        assert answer.status_code == 403, answer.content
    assert [topic.name for topic in queue.inspector.topics()] == ["orders"] and version_of(queue) == 1
    assert AuditEntry.objects.filter(result="refused").count() == 4
    assert editors.put({}, match, role, validate_only=True).status_code == 403
    assert AuditEntry.objects.count() == 4
