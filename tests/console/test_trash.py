"""What was cancelled or dropped: listed, found, read, searched, downloaded and restored for a while."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.test import Client

from console.models import AuditEntry
from tests.console.conftest import Queue


@pytest.fixture
def removed(queue: Queue) -> Queue:
    """A cancelled message "a", a dropped dead letter "d", and one that is still there."""
    queue.topic()
    queue.delayed("kept")
    queue.delayed("a", content='{"n": 12345678901234567890}')
    queue.dead("d")
    assert queue.control.cancel("orders", ["a"])[0].status == "done"
    assert queue.control.drop("orders", ["d"])[0].status == "done"
    return queue


def test_removed_messages_are_listed(removed: Queue, as_role: Callable[..., Client]) -> None:
    listed = as_role("Operator").get("/api/v1/topics/orders/messages?state=trash&order=newest").json()["rows"]
    rows = {row["id"]: row for row in listed}
    assert {name: (row["was"], row["state"]) for name, row in rows.items()} == {
        "a": ("delayed", "trash"),
        "d": ("dead", "trash"),
    }
    assert rows["d"]["error"].startswith("KeyError") and "12345678901234567890" in rows["a"]["preview"]
    masked = as_role("Viewer").get("/api/v1/topics/orders/messages?state=trash").json()["rows"]
    assert [row["preview"] for row in masked] == [None, None]


def test_a_removed_message_is_found_read_and_downloaded(removed: Queue, as_role: Callable[..., Client]) -> None:
    browser = as_role("Operator")
    (found,) = browser.get("/api/v1/topics/orders/messages:find?id=a").json()["messages"]
    assert (found["state"], found["states"], found["was"]) == ("trash", ["trash"], "delayed")
    assert found["content"] == '{"n": 12345678901234567890}'
    assert browser.get("/topics/orders/message/?id=a").status_code == 200
    assert browser.get("/api/v1/topics/orders/content/a").content == b'{"n": 12345678901234567890}'
    (dropped,) = browser.get("/api/v1/topics/orders/messages:find?id=d").json()["messages"]
    assert dropped["failure"]["error"] == "KeyError"
    (masked,) = as_role("Viewer").get("/api/v1/topics/orders/messages:find?id=a").json()["messages"]
    assert masked["content"] is None


def test_a_message_that_is_there_again_is_shown_before_the_removed_one(
    removed: Queue, as_role: Callable[..., Client]
) -> None:
    removed.delayed("a", content="again")
    (found,) = as_role("Operator").get("/api/v1/topics/orders/messages:find?id=a").json()["messages"]
    assert (found["state"], found["content"]) == ("delayed", "again")


def test_the_content_of_removed_messages_is_searched(removed: Queue, as_role: Callable[..., Client]) -> None:
    browser = as_role("Operator")
    found = browser.get("/api/v1/topics/orders/messages:search?state=trash&text=34567890123").json()
    assert [row["id"] for row in found["rows"]] == ["a"]
    assert (found["looked_at"], found["total"]) == (2, 2)
    assert browser.get("/api/v1/topics/orders/messages:search?state=trash&text=nosuch").json()["rows"] == []


def test_restoring_brings_them_back_and_is_written_down(removed: Queue, as_role: Callable[..., Client]) -> None:
    (view,) = removed.inspector.removed("orders", "a")
    body = {"ids": [{"slot": view.row.slot, "id": each} for each in ("a", "nosuch")], "reason": "by mistake"}
    address = "/api/v1/topics/orders/messages:restore"
    assert as_role("Viewer").post(address, json.dumps(body), content_type="application/json").status_code == 403
    answer = as_role("Operator").post(address, json.dumps(body), content_type="application/json").json()
    assert [each["status"] for each in answer["results"]] == ["done", "not_found"]
    assert removed.find("a").row.state == "delayed"
    assert removed.inspector.removed("orders", "a") == []
    entry = AuditEntry.objects.filter(action="restore", result="partly").get()
    assert entry.reason == "by mistake"


def test_nothing_is_kept_where_nothing_shall_be(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic(undo_ms=0)
    queue.delayed("a")
    queue.control.cancel("orders", ["a"])
    assert queue.inspector.removed("orders", "a") == []
    browser = as_role("Operator")
    assert browser.get("/api/v1/topics/orders/messages?state=trash").json()["rows"] == []
    assert browser.get("/api/v1/topics/orders/messages:find?id=a").json()["messages"] == []
