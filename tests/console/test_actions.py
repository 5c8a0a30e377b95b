"""What people do to messages and topics: done, counted, recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry
from console.usecases import actions, audit_list
from console.usecases.actions import MESSAGES_MAX
from rmq_core import PriorityMessage, TopicKind
from tests.console import acting
from tests.console.conftest import FAR, Queue


@pytest.fixture
def act(as_role: Callable[..., Client]) -> Callable[..., Any]:
    browser = as_role("Admin")

    def send(action: str, topic: str = "orders", **body: Any) -> Any:
        return acting.act(browser, action, topic, **body)

    return send


def test_cancel_takes_a_message_out_and_is_written_down(queue: Queue, act: Callable[..., Any]) -> None:
    queue.topic()
    ref = queue.ref(queue.delayed("a"))
    answer = act("cancel", messages=[ref], reason="sent twice").json()
    assert (answer["asked"], answer["done"]) == (1, 1)
    assert queue.find("a") is None
    entry = AuditEntry.objects.get()
    assert (entry.username, entry.action, entry.topic, entry.reason) == ("admin", "cancel", "orders", "sent twice")
    assert (entry.asked, entry.done, entry.result, entry.address) == (1, 1, "done", "127.0.0.1")
    assert entry.query == {"messages": [ref]}


def test_run_now_and_reschedule_change_the_time(queue: Queue, act: Callable[..., Any]) -> None:
    queue.topic()
    act("run_now", messages=[queue.ref(queue.delayed("a"))])
    assert queue.find("a").row.state == "ready"
    due = queue.inspector.now_ms() + 2 * FAR
    act("reschedule", messages=[queue.ref(queue.delayed("b"))], due_ms=due)
    assert queue.find("b").row.score_ms == due
    assert AuditEntry.objects.filter(action="reschedule").get().query["due_ms"] == due


def test_a_priority_is_changed_by_reschedule(queue: Queue, act: Callable[..., Any]) -> None:
    queue.topic("jobs", TopicKind.PRIORITY)
    queue.client.send("jobs", PriorityMessage("x", 20))
    assert act("reschedule", "jobs", messages=[queue.ref("x", "jobs")], priority=90).status_code == 200
    assert queue.find("x", "jobs").row.priority == 90


def test_dead_letters_are_requeued_and_dropped(queue: Queue, act: Callable[..., Any]) -> None:
    queue.topic()
    first, second = queue.ref(queue.dead("a")), queue.ref(queue.dead("b"))
    assert act("requeue", messages=[first], reason="fixed").json()["done"] == 1
    assert queue.find("a").row.state == "ready"
    assert act("drop", messages=[second], reason="of no use").json()["done"] == 1
    assert queue.find("b") is None


def test_an_action_that_met_nothing_is_not_partly_done(queue: Queue, act: Callable[..., Any]) -> None:
    queue.topic()
    act("cancel", messages=[[0, "nobody"], [1, "nobody"]], reason="a test")
    entry = AuditEntry.objects.get(action="cancel")
    assert (entry.done, entry.asked, entry.result, entry.get_result_display()) == (0, 2, "nothing", "nothing done")
    assert audit_list.status_of(entry, 0, "nobody") == "not_found"


def test_messages_that_moved_on_are_told_one_by_one(queue: Queue, act: Callable[..., Any]) -> None:
    queue.topic()
    kept, gone, held = (queue.ref(queue.delayed(key)) for key in "abc")
    act("cancel", messages=[gone], reason="first")
    queue.control.run_now("orders", ["c"])
    (delivery,) = queue.client.take("orders")
    answer = act("cancel", messages=[kept, gone, held], reason="all").json()
    statuses = {each["id"]: each["status"] for each in answer["results"]}
    assert statuses == {"a": "done", "b": "not_found", "c": "in_flight"}
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.asked, entry.done, entry.result) == (3, 1, "partly")
    assert entry.detail["counts"] == {"done": 1, "not_found": 1, "in_flight": 1}
    queue.client.ack(delivery)


def test_pause_and_resume(queue: Queue, act: Callable[..., Any]) -> None:
    queue.topic()
    assert act("pause", reason="deploying").status_code == 200
    assert queue.inspector.topics()[0].paused
    assert act("resume").status_code == 200
    assert not queue.inspector.topics()[0].paused
    assert [entry.action for entry in AuditEntry.objects.all()] == ["resume", "pause"]


@pytest.mark.parametrize(
    ("action", "body", "words"),
    [
        ("cancel", {"messages": [], "reason": "x"}, "at least 1"),
        ("cancel", {"messages": [[0, "a"]]}, "why"),
        ("drop", {"messages": [[0, "a"]], "reason": "  "}, "why"),
        ("cancel", {"ids": "a", "reason": "x"}, "ids"),
        ("cancel", {"messages": [["zero", "a"]], "reason": "x"}, "slot"),
        ("cancel", {"messages": [[True, "a"]], "reason": "x"}, "number"),
        ("cancel", {"messages": [[0, ""]], "reason": "x"}, "id"),
        ("cancel", {"messages": [[99, "a"]], "reason": "x"}, "slot"),
        ("cancel", {"messages": [[0, "%zz"]], "reason": "x"}, "hex"),
        ("cancel", {"messages": [[0, "a"]], "reason": "x" * 501}, "500"),
        ("cancel", {"messages": [[0, "a"]], "reason": ["x"]}, "reason"),
        ("cancel", {"ids": [str(n) for n in range(MESSAGES_MAX + 1)], "reason": "x"}, str(MESSAGES_MAX)),
        ("reschedule", {"messages": [[0, "a"]]}, "due_ms"),
        ("reschedule", {"messages": [[0, "a"]], "due_ms": "tomorrow"}, "due_ms"),
        ("reschedule", {"messages": [[0, "a"]], "due_ms": 1.5}, "due_ms"),
        ("reschedule", {"messages": [[0, "a"]], "priority": 5}, "due_ms"),
        ("reschedule", {"messages": [[0, "a"]], "due_ms": 1000}, "past"),
    ],
)
def test_bad_orders_are_refused_in_words(
    queue: Queue, act: Callable[..., Any], action: str, body: dict[str, Any], words: str
) -> None:
    queue.topic()
    queue.delayed("a")
    answer = act(action, **body)
    assert answer.status_code == 422, answer.content
    assert words in answer.json()["message"]
    assert queue.find("a").row.state == "delayed"


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"[" * 100_000, b"\xff"])
def test_bodies_that_are_no_object_are_refused(queue: Queue, as_role: Callable[..., Client], body: bytes) -> None:
    queue.topic()
    answer = as_role("Admin").post(acting.address("cancel"), body, content_type="application/json")
    assert answer.status_code == 422


def test_an_unknown_topic_is_a_failed_action(queue: Queue, act: Callable[..., Any]) -> None:
    answer = act("pause", "nosuch")
    assert answer.status_code == 404
    entry = AuditEntry.objects.get()
    assert entry.result == "failed"
    assert "UnknownTopic" in entry.detail["error"]


def test_an_action_cut_off_in_the_middle_is_seen_as_started(
    queue: Queue, act: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.topic()

    def crash(order: object) -> None:
        raise SystemExit("the process ends here")

    monkeypatch.setitem(actions._RUN, actions.Action.PAUSE, crash)
    with pytest.raises(SystemExit):
        act("pause")
    assert AuditEntry.objects.get().result == "started"


def test_hostile_ids_reach_the_queue_and_the_audit_unharmed(queue: Queue, act: Callable[..., Any]) -> None:
    queue.topic()
    for key in ("<script>alert(1)</script>", "a'b\"c;DROP TABLE", "\u202eabc", "日本/../..", "%41", "x" * 500):
        ref = queue.ref(queue.delayed(key))
        assert act("cancel", messages=[ref], reason="hostile").json()["done"] == 1, key
        entry = AuditEntry.objects.first()
        assert entry is not None and entry.query["messages"] == [ref]
