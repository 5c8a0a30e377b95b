"""The send form: drafts, the dry run, the sending, and what is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry
from console.usecases.sending import MESSAGES_MAX
from rmq_core import FixedTimeMessage, TopicKind
from tests.console.conftest import FAR, Queue

Send = Callable[..., Any]


@pytest.fixture
def send(as_role: Callable[..., Client]) -> Send:
    browsers: dict[str, Client] = {}

    def post(
        mode: str = "one", topic: str = "orders", role: str = "Operator", dry_run: Any = False, **values: Any
    ) -> Any:
        if role not in browsers:
            browsers[role] = as_role(role)
        body = {"mode": mode, "values": values, "dry_run": dry_run}
        return browsers[role].post(f"/topics/{topic}/send/do/", json.dumps(body), content_type="application/json")

    return post


def due(queue: Queue, in_ms: int = FAR) -> int:
    return queue.inspector.now_ms() + in_ms


def test_a_dry_run_tells_where_it_would_go_and_sends_nothing(queue: Queue, send: Send) -> None:
    queue.topic()
    values = {"content": '{"n": 1}', "key": "a", "due_ms": due(queue)}
    (told,) = send(dry_run=True, **values).json()["messages"]
    assert queue.find("a") is None and not AuditEntry.objects.exists()
    (sent,) = send(**values).json()["messages"]
    assert (told["id"], told["slot"], told["size"], told["found"]) == ("a", sent["slot"], 8, [])
    assert queue.ref("a") == [sent["slot"], "a"]
    assert send(dry_run=True, **values).json()["messages"][0]["found"] == ["delayed"]
    assert send(**values).json()["merged"] == 1


def test_everything_a_message_can_have_is_sent(queue: Queue, send: Send) -> None:
    queue.topic(slots=8)
    at = due(queue)
    answer = send(
        content="日本\n=1", key="k", slot_basis="customer-7", headers={"trace": "x"}, version="9", due_ms=str(at)
    )
    assert answer.json()["new"] == 1, answer.content
    (view,) = queue.inspector.find("orders", "k", "customer-7")
    assert (view.content.decode(), dict(view.headers), view.version, view.row.score_ms) == (
        "日本\n=1",
        {"trace": "x"},
        9,
        at,
    )
    raw = base64.b64encode(b"\xff\x00").decode()
    assert send(content=raw, encoding="base64", key="raw", due_ms=at).json()["new"] == 1
    assert queue.find("raw").content == b"\xff\x00"


def test_each_kind_has_its_own_value(queue: Queue, send: Send) -> None:
    queue.topic("jobs", TopicKind.PRIORITY)
    queue.topic("merge", TopicKind.RANGE_MERGE)
    assert send(topic="jobs", content="x", priority=90).json()["new"] == 1
    assert queue.find("x", "jobs").row.priority == 90
    assert send(topic="merge", content="y", range_ms=FAR).json()["new"] == 1
    assert queue.find("y", "merge").row.state == "delayed"


def test_many_are_sent_by_line_or_as_objects(queue: Queue, send: Send) -> None:
    queue.topic()
    at = due(queue)
    answer = send("lines", content="one\n\n two \r\nthree", due_ms=at).json()
    assert (answer["count"], answer["new"]) == (3, 3)
    assert queue.find(" two ") is not None
    lines = [{"content": "a", "key": "k1"}, {"content": "b", "key": "k2", "due_ms": at + 5_000}]
    answer = send("objects", content="\n".join(map(json.dumps, lines)), due_ms=at).json()
    assert answer["new"] == 2
    assert [queue.find(key).row.score_ms for key in ("k1", "k2")] == [at, at + 5_000]
    entry = AuditEntry.objects.filter(action="send").first()
    assert entry is not None
    assert (entry.asked, entry.done, entry.result) == (2, 2, "done")
    assert entry.query["messages"] == [queue.ref("k1"), queue.ref("k2")]


def test_each_message_has_its_own_result(queue: Queue, send: Send) -> None:
    queue.topic()
    late = {"content": "late", "due_ms": 1_000_000}
    fine = {"content": "fine", "due_ms": due(queue)}
    answer = send("objects", content=f"{json.dumps(late)}\n{json.dumps(fine)}").json()
    assert (answer["new"], answer["failed"]) == (1, 1)
    assert answer["messages"][0]["status"] == "failed" and "past" in answer["messages"][0]["problem"]
    assert queue.find("fine") is not None and queue.find("late") is None
    entry = AuditEntry.objects.get()
    assert (entry.result, entry.done, entry.asked) == ("partly", 1, 2)
    dry = send("objects", dry_run=True, content=json.dumps(late)).json()
    assert dry["messages"][0]["problem"]
    send(**late)
    assert AuditEntry.objects.filter(result="failed").count() == 1


@pytest.mark.parametrize(
    ("mode", "values", "words"),
    [
        ("one", {"content": ""}, "empty"),
        ("one", {"content": 5}, "empty"),
        ("one", {"content": "x", "due_ms": ""}, "due_ms"),
        ("one", {"content": "x", "due_ms": "soon"}, "due_ms"),
        ("one", {"content": "x", "due_ms": 1.5}, "due_ms"),
        ("one", {"content": "x", "due_ms": True}, "due_ms"),
        ("one", {"content": "x", "due_ms": -1}, "due_ms"),
        ("one", {"content": "x", "due_ms": "9" * 30}, "due_ms"),
        ("one", {"content": "x", "priority": 20}, "priority"),
        ("one", {"content": "x", "key": "k" * 513}, "key"),
        ("one", {"content": "x", "key": ["k"]}, "key"),
        ("one", {"content": "x", "slot_basis": 7}, "slot_basis"),
        ("one", {"content": "x", "headers": ["a"]}, "headers"),
        ("one", {"content": "x", "headers": {"a": 1}}, "headers"),
        ("one", {"content": "x", "version": -2}, "version"),
        ("one", {"content": "\ud800"}, "surrogate"),
        ("one", {"content": "***", "encoding": "base64"}, "base64"),
        ("one", {"content": "x", "encoding": "utf-7"}, "encoding"),
        ("one", {"content": "x" * 200}, "at most 100"),
        ("one", {"content": "x", "colour": "red"}, "colour"),
        ("lines", {"content": " \n "}, "at least one"),
        ("lines", {"content": "a\nb", "key": "k"}, "key"),
        ("lines", {"content": "\n".join("x" * (MESSAGES_MAX + 1))}, str(MESSAGES_MAX)),
        ("lines", {"content": "fine\n" + "x" * 200}, "Line 2"),
        ("objects", {"content": '{"content": "a"}\n{'}, "Line 2"),
        ("objects", {"content": "[1]"}, "Line 1"),
        ("objects", {"content": '{"colour": 1}'}, "Line 1"),
        ("objects", {"content": "[" * 50_000}, "Line 1"),
        ("all", {"content": "x"}, "mode"),
    ],
)
def test_what_cannot_be_sent_is_refused_whole(
    queue: Queue, send: Send, mode: str, values: dict[str, Any], words: str
) -> None:
    queue.topic(max_content_bytes=100)
    for dry_run in (True, False):
        answer = send(mode, dry_run=dry_run, **{"due_ms": due(queue), **values})
        assert answer.status_code == 422, answer.content
        assert words in answer.json()["message"]
    assert queue.inspector.sample(["orders"])[0].backlog == 0


@pytest.mark.parametrize("body", [{}, {"values": []}, {"values": {}, "dry_run": "yes"}, {"values": "x"}])
def test_bodies_of_another_shape_are_refused(
    queue: Queue, as_role: Callable[..., Client], body: dict[str, Any]
) -> None:
    queue.topic()
    answer = as_role("Operator").post("/topics/orders/send/do/", json.dumps(body), content_type="application/json")
    assert answer.status_code == 422


def test_who_may_not_send_sees_the_form_and_sends_nothing(
    queue: Queue, send: Send, as_role: Callable[..., Client]
) -> None:
    queue.topic()
    for dry_run in (True, False):
        answer = send(role="Viewer", dry_run=dry_run, content="x", due_ms=due(queue))
        assert answer.status_code == 403 and "operate" in answer.json()["message"]
    assert queue.find("x") is None
    assert set(AuditEntry.objects.values_list("action", "result")) == {("send", "refused")}
    assert as_role("Payload reader").get("/topics/orders/send/").status_code == 200
    assert as_role("Editor").get("/topics/nosuch/send/").status_code == 404


def test_a_sent_message_knows_who_sent_it(queue: Queue, send: Send, as_role: Callable[..., Client]) -> None:
    queue.topic()
    send(content="hello", due_ms=due(queue))
    queue.client.send("orders", FixedTimeMessage("other", due(queue)))
    browser = as_role("Viewer")
    assert browser.get("/topics/orders/data/actions/?id=hello").json()["actions"][0]["action"] == "send"
    assert browser.get("/topics/orders/data/actions/?id=other").json()["actions"] == []
