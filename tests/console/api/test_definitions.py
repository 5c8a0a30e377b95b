"""Definitions over REST: versions, plans, history, deletion."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from console.models import AuditEntry
from rmq_core import FixedTimeMessage
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import FAR, Queue

NEW = {"kind": "fixed-time", "slots": 4, "max_retries": 3}


@pytest.fixture
def editor(caller: Callable[..., Caller]) -> Caller:
    return caller("Editor")


def test_create_read_change(queue: Queue, editor: Caller) -> None:
    made = editor("PUT", "/topics/orders", NEW)
    assert made.status_code == 201, made.content
    version = made.json()["version"]
    assert made["ETag"] == f'"{version}-{made.json()["created_ms"]}"' and made.json()["max_retries"] == 3
    assert editor.get("/topics/orders")["ETag"] == made["ETag"]
    changed = editor("PUT", "/topics/orders?reason=slower", {"max_retries": 5}, If_Match=made["ETag"])
    assert changed.status_code == 200, changed.content
    assert changed.json()["max_retries"] == 5 and changed.json()["version"] > version
    assert changed.json()["slots"] == 4  # what was left out stays
    assert queue.inspector.topics()[0].max_retries == 5
    entry = AuditEntry.objects.filter(action="edit_topic").get()
    assert (entry.reason, entry.via, entry.result) == ("slower", "rest", "done")


def test_the_second_of_two_editors_is_told(queue: Queue, editor: Caller) -> None:
    tag = editor("PUT", "/topics/orders", NEW)["ETag"]
    second = editor("PUT", "/topics/orders", {"weight": 2}, If_Match=tag)["ETag"]
    problem(editor("PUT", "/topics/orders", {"weight": 3}, If_Match=tag), 412, "version_conflict")
    found = problem(editor("PUT", "/topics/orders", {"weight": 3}), 428, "version_required")
    assert "If-Match" in found["message"]
    problem(editor("PUT", "/topics/orders", NEW, If_None_Match="*"), 412, "topic_exists")
    problem(editor("PUT", "/topics/other", NEW, If_Match='"1"'), 412, "no_such_version")
    for wrong in ("3", "abc", '"3', '"3" "4"', '"3",*'):
        problem(editor("PUT", "/topics/orders", {"weight": 3}, If_Match=wrong), 422, "invalid")
    # Tags that are not ours, and weak ones, which never say that it is the very same.
    for other in ('"-1"', '"' + "9" * 30 + '"', f"W/{second}", f"{tag}, W/{second}", '"2"', '"2-0"'):
        problem(editor("PUT", "/topics/orders", {"weight": 3}, If_Match=other), 412, "version_conflict")
    third = editor("PUT", "/topics/orders", {"weight": 3}, If_Match=f"{tag}, {second}")["ETag"]
    found = editor("PUT", "/topics/orders", {"weight": 4}, If_Match=third, If_None_Match=f"W/{third}")
    problem(found, 412, "topic_exists")
    assert editor("PUT", "/topics/orders", {"weight": 4}, If_Match="*").status_code == 200
    assert queue.inspector.topics()[0].weight == 4


def test_a_tag_of_a_topic_is_none_of_the_one_made_anew(
    queue: Queue, editor: Caller, caller: Callable[..., Caller]
) -> None:
    admin = caller("Admin")
    tag = editor("PUT", "/topics/orders", NEW)["ETag"]
    revision = editor.ok("GET", "/topics/orders/revisions")["revisions"][0]["id"]
    assert admin("DELETE", "/topics/orders?reason=gone").status_code == 200
    again = editor("PUT", "/topics/orders", NEW)
    assert again.json()["version"] == 1 and again["ETag"] != tag
    problem(editor("PUT", "/topics/orders", {"weight": 2}, If_Match=tag), 412, "version_conflict")
    back = {"revision": revision, "reason": "as it was"}
    problem(editor.post("/topics/orders:rollback", back, If_Match=tag), 412, "version_conflict")
    problem(admin("DELETE", "/topics/orders?reason=gone", If_Match=tag), 412, "version_conflict")
    assert editor.get("/topics/orders", If_None_Match=tag).status_code == 200
    assert editor("PUT", "/topics/orders", {"weight": 2}, If_Match=again["ETag"]).status_code == 200


def test_who_knows_the_definition_hears_that_it_is_the_same(queue: Queue, editor: Caller) -> None:
    tag = editor("PUT", "/topics/orders", NEW)["ETag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        for method in ("GET", "HEAD"):
            found = editor(method, "/topics/orders", If_None_Match=known)
            assert (found.status_code, found.content, found["ETag"]) == (304, b"", tag)
    for other in ('"1"', '"other"', ""):
        assert editor.get("/topics/orders", If_None_Match=other).status_code == 200
    problem(editor.get("/topics/orders", If_None_Match="1"), 422, "invalid")
    problem(editor.get("/topics/nowhere", If_None_Match="*"), 404, "unknown_topic")
    editor("PUT", "/topics/orders", {"weight": 2}, If_Match=tag)
    assert editor.get("/topics/orders", If_None_Match=tag).status_code == 200


def test_a_plan_changes_nothing(queue: Queue, editor: Caller) -> None:
    queue.topic(max_retries=3)
    queue.delayed()
    found = editor.ok("PUT", "/topics/orders?validate_only=true", {"paused": True})
    assert found["difference"] == [{"field": "paused", "before": False, "after": True}]
    assert found["lines"] and not queue.inspector.topics()[0].paused
    created = editor.ok("PUT", "/topics/fresh?validate_only=true", NEW)
    assert created["lines"] and [topic.name for topic in queue.inspector.topics()] == ["orders"]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"slots": 3}, "slots"),
        ({"slots": "many"}, "slots"),
        ({"kind": "rocket"}, "kind"),
        ({"max_retries": 17}, "max_retries"),
        ({"backoff_ms": 100, "backoff_max_ms": 10}, "backoff_max_ms"),
        ({"concurrency": -1}, "concurrency"),
        ({"concurrency": 10**30}, "concurrency"),
        ({"key_concurrency": "two"}, "key_concurrency"),
        ({"key_concurrency": 1.5}, "key_concurrency"),
        ({"key_concurrency": 1, "in_order": True}, "key_concurrency"),
        ({"name": "another"}, "name"),
        ({"version": 7}, "version"),
        ({"colour": "red"}, "colour"),
        ({"description": "x" * 2_001}, "description"),
    ],
)
def test_wrong_fields_are_named(queue: Queue, editor: Caller, values: dict[str, object], field: str) -> None:
    found = problem(editor("PUT", "/topics/orders", {**NEW, **values}), 422, "invalid")
    assert field in {each["field"] for each in found["fields"]}, found
    assert not queue.inspector.topics()


def test_the_shape_is_for_ever(queue: Queue, editor: Caller) -> None:
    tag = editor("PUT", "/topics/orders", NEW)["ETag"]
    problem(editor("PUT", "/topics/orders", {"slots": 8}, If_Match=tag), 409, "topic_conflict")
    problem(editor("PUT", "/topics/orders?validate_only=1", {"kind": "priority"}), 409, "topic_conflict")


def test_history_and_rollback(queue: Queue, editor: Caller) -> None:
    tag = editor("PUT", "/topics/orders?reason=start", NEW)["ETag"]
    tag = editor("PUT", "/topics/orders?reason=more", {"max_retries": 9}, If_Match=tag)["ETag"]
    first = editor.ok("GET", "/topics/orders/revisions?limit=1")
    assert [each["reason"] for each in first["revisions"]] == ["more"]
    second = editor.ok("GET", f"/topics/orders/revisions?limit=1&cursor={first['next']}")
    assert [each["reason"] for each in second["revisions"]] == ["start"] and second["next"] is None
    problem(editor.get(f"/topics/other/revisions?cursor={first['next']}"), 422, "invalid")
    back = {"revision": second["revisions"][0]["id"], "reason": "it was better"}
    problem(editor.post("/topics/orders:rollback", back), 428, "version_required")
    assert editor.ok("POST", "/topics/orders:rollback", back, If_Match=tag)["max_retries"] == 3
    missing = {"revision": 10**9, "reason": "x"}
    problem(editor.post("/topics/orders:rollback", missing, If_Match="*"), 422, "bad_request")


def test_delete(queue: Queue, editor: Caller, caller: Callable[..., Caller]) -> None:
    queue.topic()
    queue.delayed()
    admin = caller("Admin")
    problem(editor("DELETE", "/topics/orders?reason=x"), 403, "forbidden")
    problem(admin("DELETE", "/topics/orders"), 422, "invalid")
    problem(admin("DELETE", "/topics/orders?reason=%20"), 422, "invalid")
    problem(admin("DELETE", "/topics/orders?reason=old"), 409, "topic_not_empty")
    assert queue.find("a") is not None
    now = queue.inspector.now_ms()
    queue.client.send_many("orders", [FixedTimeMessage("x", now + FAR, key=f"m{n}") for n in range(1_000)])
    for confirm in ("", "&confirm=order"):
        found = problem(admin("DELETE", f"/topics/orders?reason=old&force=true{confirm}"), 422, "bad_request")
        assert "1001 messages would be deleted with it" in found["message"]
    assert queue.find("a") is not None
    assert admin.ok("DELETE", "/topics/orders?reason=old&force=true&confirm=orders") == {"messages": 1_001}
    queue.topic()
    queue.delayed()
    assert admin.ok("DELETE", "/topics/orders?reason=few&force=true") == {"messages": 1}
    assert not queue.inspector.topics()
    problem(admin("DELETE", "/topics/orders?reason=old"), 404, "unknown_topic")
