"""The record as pages and the API show it, and how it is forgotten."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from console.models import MessageRecord, MessageTransition, RecordPosition
from console.record import retention
from console.record.intake import Batch, Place, write
from rmq_core import TopicKind
from tests.console.api.conftest import Caller, caller, problem
from tests.console.conftest import Queue
from tests.console.record.steps import Made, life

__all__ = ["caller"]
DAY_MS = 86_400_000


@pytest.fixture
def recorded(db: None, queue: Queue) -> Queue:
    queue.topic()
    steps = life("a", slot=1) + life("b", slot=2, start_ms=5_000)[:3] + [Made("sent", 9_000, b"c", slot=3)]
    write(Batch("orders", {}, {1: Place("1-0"), 2: Place("1-0"), 3: Place("1-0")}, steps, {2: 4_000}))
    return queue


def test_the_page_gets_every_step(recorded: Queue, as_role: Callable[..., Client]) -> None:
    browser = as_role("Operator")
    (found,) = browser.get("/api/v1/topics/orders/biography/a", {"slot": 1}).json()["lives"]
    assert [step["event"] for step in found["steps"]] == ["sent", "taken", "retried", "promoted", "taken", "acked"]
    assert found["record"]["state"] == "done" and found["gap_ms"] is None
    assert found["steps"][1]["worker"] == "host/1"
    # Without a slot all of them are looked through, for a slot basis may have put it anywhere.
    (found,) = browser.get("/api/v1/topics/orders/biography/b").json()["lives"]
    assert (found["record"]["slot"], found["record"]["state"], found["gap_ms"]) == (2, "retrying", 4_000)
    nothing = {"lives": [], "actions": [], "complete": True}
    assert browser.get("/api/v1/topics/orders/biography/nobody").json() == nothing


def test_it_says_which_sends_became_one_and_which_of_them_won(recorded: Queue, as_role: Callable[..., Client]) -> None:
    moved = ("new", "store")
    steps = [
        Made("sent", 20_000, b"m", due_ms=90_000),
        Made("merged", 21_000, b"m", n=1),
        Made("merged", 22_000, b"m", n=2, due_ms=95_000, route=moved),
        Made("taken", 95_000, b"m", n=3),
        Made("sent", 95_500, b"m", n=4, due_ms=99_000),
        Made("released", 96_000, b"m", n=5, route=("prepare", "gone")),
        Made("merged", 96_000, b"m", n=5, seq=1, route=("prepare", "gone")),
        Made("merged", 97_000, b"m", n=6),
        Made("sent", 98_000, b"other", n=7),
    ]
    write(Batch("orders", {}, {0: Place("9-0")}, steps))
    browser = as_role("Viewer")
    (found,) = browser.get("/api/v1/topics/orders/biography/m", {"slot": 0}).json()["lives"]
    first, second = found["merges"]
    assert first == {
        "first_ms": 20_000, "last_ms": 22_000, "sends": 3, "content": "latest", "due_ms": 90_000, "priority": None,
        "moves": [{"at_ms": 22_000, "due_ms": 95_000, "priority": None}], "taken_ms": 95_000,
    }  # fmt: skip
    assert (second["sends"], second["last_ms"], second["taken_ms"], second["moves"]) == (2, 97_000, None, [])
    (lone,) = browser.get("/api/v1/topics/orders/biography/other", {"slot": 0}).json()["lives"]
    assert lone["merges"] == []


def test_words_of_errors_are_for_those_who_may_read_content(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    steps = [Made("sent", 1), Made("taken", 2), Made("died", 3, error="KeyError: secret-tail")]
    write(Batch("orders", {}, {0: Place("3-0")}, steps))
    for role, shown in (("Viewer", "KeyError"), ("Payload reader", "KeyError: secret-tail")):
        (found,) = as_role(role).get("/api/v1/topics/orders/biography/a", {"slot": 0}).json()["lives"]
        assert found["steps"][2]["error"] == found["record"]["error"] == shown
        assert (found["record"]["id"] is None) == (role == "Viewer")


def test_rest_tells_the_timeline(recorded: Queue, caller: Callable[..., Caller]) -> None:
    viewer = caller("Viewer")
    (found,) = viewer.ok("GET", "/topics/orders/timeline/a")["lives"]
    assert found["steps"][0]["from"] is None and found["steps"][0]["to"] == "delayed"
    assert found["record"]["deliveries"] == 2 and not found["more"]
    (found,) = viewer.ok("GET", "/topics/orders/timeline/a?limit=2")["lives"]
    assert [step["event"] for step in found["steps"]] == ["taken", "acked"] and found["more"]
    problem(viewer.get("/topics/orders/timeline/zzz"), 404, "unknown_message")
    problem(viewer.get("/topics/orders/timeline/%25zz"), 422, "invalid_message")
    problem(viewer.get("/topics/nothing/timeline/a"), 404, "unknown_topic")
    problem(caller("Viewer", "other").get("/topics/orders/timeline/a"), 403, "out_of_scope")


def test_rest_lists_records_with_cursors(recorded: Queue, caller: Callable[..., Caller]) -> None:
    reader = caller("Payload reader")
    first = reader.ok("GET", "/topics/orders/records?limit=2")
    assert [each["id"] for each in first["records"]] == ["c", "b"]
    rest = reader.ok("GET", f"/topics/orders/records?limit=2&cursor={first['next']}")
    assert [each["id"] for each in rest["records"]] == ["a"] and rest["next"] is None
    assert [each["id"] for each in reader.ok("GET", "/topics/orders/records?state=done")["records"]] == ["a"]
    problem(reader.get(f"/topics/orders/records?state=done&cursor={first['next']}"), 422, "invalid")
    problem(reader.get("/topics/orders/records?cursor=garbage"), 422, "invalid")


def test_what_is_old_is_forgotten_but_not_what_still_lives(recorded: Queue, settings: object) -> None:
    assert retention.prune(20_000) == 0
    retention.prune(30 * DAY_MS + 5_005)
    # What ended goes; a message that still waits keeps its record and its newer steps.
    assert {bytes(each.ident) for each in MessageRecord.objects.all()} == {b"b", b"c"}
    assert set(MessageTransition.objects.values_list("event", flat=True)) == {"taken", "retried", "sent"}
    assert RecordPosition.objects.count() == 3
    retention.prune(20_000, {"others"})
    assert not RecordPosition.objects.exists()


def test_other_kinds_have_records_too(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic("jobs", TopicKind.PRIORITY)
    write(Batch("jobs", {}, {0: Place("1-0")}, [Made("sent", 1, b"x", "jobs", priority=40)]))
    (found,) = as_role("Viewer").get("/api/v1/topics/jobs/biography/x", {"slot": 0}).json()["lives"]
    assert found["record"]["priority"] == 40 and found["record"]["state"] == "ready"
