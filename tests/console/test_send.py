"""What somebody sends with a session: checked first, recorded, refused in words."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry
from rmq_core import FixedTimeMessage, TopicKind
from tests.console.api.conftest import Caller, make_token
from tests.console.conftest import FAR, Queue

Send = Callable[..., Any]


@pytest.fixture
def send(as_role: Callable[..., Client]) -> Send:
    browsers: dict[str, Client] = {}

    def post(topic: str = "orders", role: str = "Operator", **body: Any) -> Any:
        if role not in browsers:
            browsers[role] = as_role(role)
        address = f"/api/v1/topics/{topic}/messages"
        return browsers[role].post(address, json.dumps(body), content_type="application/json")

    return post


def due(queue: Queue, in_ms: int = FAR) -> int:
    return queue.inspector.now_ms() + in_ms


def test_a_check_tells_where_it_would_go_and_sends_nothing(queue: Queue, send: Send) -> None:
    queue.topic()
    values = {"content": '{"n": 1}', "key": "a", "due_ms": due(queue)}
    (reported,) = send(validate_only=True, **values).json()["results"]
    assert queue.find("a") is None and not AuditEntry.objects.exists()
    (sent,) = send(**values).json()["results"]
    assert (reported["id"], reported["slot"], reported["size"], reported["found"]) == ("a", sent["slot"], 8, [])
    assert queue.ref("a") == [sent["slot"], "a"] and sent["found"] is None
    (again,) = send(validate_only=True, **values).json()["results"]
    assert (again["found"], again["outcome"], reported["outcome"]) == (["delayed"], "merged", "new")
    assert [each["code"] for each in again["reasons"]] == ["send_merges", "send_content_latest", "send_due_stays"]
    assert again["reasons"][0]["text"] == "It would merge into the message of its id that waits."
    assert send(**values).json()["merged"] == 1


def test_a_check_looks_up_a_bounded_number(queue: Queue, send: Send) -> None:
    queue.topic()
    messages = [{"content": f"m{n}", "due_ms": due(queue)} for n in range(60)]
    results = send(messages=messages, validate_only=True).json()["results"]
    assert [each["found"] for each in results] == [[]] * 50 + [None] * 10


def test_everything_a_message_can_have_is_sent(queue: Queue, send: Send) -> None:
    queue.topic(slots=8)
    at = due(queue)
    values = {"key": "k", "slot_basis": "customer-7", "headers": {"trace": "x"}, "version": "9", "due_ms": str(at)}
    answer = send(content="日本\n=1", **values)
    assert answer.json()["sent"] == 1, answer.content
    (view,) = queue.inspector.find("orders", "k", "customer-7")
    assert (view.content.decode(), dict(view.headers), view.version, view.row.score_ms) == (
        "日本\n=1",
        {"trace": "x"},
        9,
        at,
    )
    raw = base64.b64encode(b"\xff\x00").decode()
    assert send(content_base64=raw, key="raw", due_ms=at).json()["sent"] == 1
    assert queue.find("raw").content == b"\xff\x00"


def test_each_kind_has_its_own_value(queue: Queue, send: Send) -> None:
    queue.topic("jobs", TopicKind.PRIORITY)
    queue.topic("merge", TopicKind.RANGE_MERGE)
    assert send("jobs", content="x", priority="90").json()["sent"] == 1
    assert queue.find("x", "jobs").row.priority == 90
    assert send("merge", content="y", range_ms=FAR).json()["sent"] == 1
    assert queue.find("y", "merge").row.state == "delayed"


def test_what_a_person_sends_is_written_down(queue: Queue, send: Send) -> None:
    queue.topic()
    at = due(queue)
    lines = [{"content": "a", "key": "k1", "due_ms": at}, {"content": "b", "key": "k2", "due_ms": at + 5_000}]
    assert send(messages=lines, reason="by hand").json()["sent"] == 2
    assert [queue.find(key).row.score_ms for key in ("k1", "k2")] == [at, at + 5_000]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.username, entry.reason) == ("send", "operator", "by hand")
    assert (entry.asked, entry.done, entry.result) == (2, 2, "done")
    assert entry.query["messages"] == [queue.ref("k1"), queue.ref("k2")]
    send(messages=lines)
    assert AuditEntry.objects.first().detail["counts"] == {
        "new": 0,
        "merged": 2,
        "unsure": 0,
        "duplicates": 0,
        "outdated": 0,
        "failed": 0,
    }


def test_a_program_is_written_down_where_it_says_why(queue: Queue, db: None) -> None:
    queue.topic()
    program, body = Caller(*make_token("Operator")), {"content": "a", "due_ms": due(queue)}
    program.ok("POST", "/topics/orders/messages", body)
    assert not AuditEntry.objects.filter(action="send").exists()
    program.ok("POST", "/topics/orders/messages", {**body, "reason": "INC-7"})
    assert AuditEntry.objects.get(action="send").reason == "INC-7"


def test_each_message_has_its_own_result(queue: Queue, send: Send) -> None:
    queue.topic()
    late = {"content": "late", "due_ms": 1_000_000}
    fine = {"content": "fine", "due_ms": due(queue)}
    answer = send(messages=[late, fine]).json()
    assert (answer["sent"], answer["refused"]) == (1, 1)
    assert answer["results"][0]["error"] and "past" in answer["results"][0]["message"]
    assert queue.find("fine") is not None and queue.find("late") is None
    entry = AuditEntry.objects.get()
    assert (entry.result, entry.done, entry.asked) == ("partly", 1, 2)
    dry = send(validate_only=True, **late).json()
    assert dry["results"][0]["error"] == "due_in_the_past"
    assert send(**late).status_code == 422
    assert AuditEntry.objects.filter(result="failed").count() == 1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"content": 5}, "content"),
        ({"content": "x", "due_ms": ""}, "due_ms"),
        ({"content": "x", "due_ms": "soon"}, "due_ms"),
        ({"content": "x", "due_ms": 1.5}, "due_ms"),
        ({"content": "x", "due_ms": True}, "due_ms"),
        ({"content": "x", "due_ms": -1}, "due_ms"),
        ({"content": "x", "due_ms": "9" * 30}, "due_ms"),
        ({"content": "x", "priority": 20}, "priority"),
        ({"content": "x", "key": "k" * 513}, "key"),
        ({"content": "x", "key": ["k"]}, "key"),
        ({"content": "x", "slot_basis": 7}, "slot_basis"),
        ({"content": "x", "headers": ["a"]}, "headers"),
        ({"content": "x", "headers": {"a": 1}}, "headers"),
        ({"content": "x", "version": -2}, "version"),
        ({"content": "\ud800"}, "surrogate"),
        ({"content_base64": "***"}, "base64"),
        ({"content": "x", "colour": "red"}, "colour"),
        ({"content": "x", "reason": "r" * 501}, "reason"),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("many", [True, False])
def test_what_cannot_be_sent_is_refused_whole(
    queue: Queue, send: Send, values: dict[str, Any], words: str, dry: bool, many: bool
) -> None:
    queue.topic(max_content_bytes=100)
    fine = {"content": "fine", "due_ms": due(queue)}
    own = {name: value for name, value in values.items() if name != "reason"}
    rest = {name: value for name, value in values.items() if name == "reason"}
    body = {"messages": [fine, {"due_ms": due(queue), **own}], **rest} if many else {"due_ms": due(queue), **values}
    answer = send(validate_only=dry, **body)
    assert answer.status_code == 422, answer.content
    assert words in answer.json()["message"]
    assert queue.inspector.sample(["orders"])[0].backlog == 0


def test_who_may_not_send_sees_the_form_and_sends_nothing(
    queue: Queue, send: Send, as_role: Callable[..., Client]
) -> None:
    queue.topic()
    for dry in (True, False):
        answer = send(role="Viewer", validate_only=dry, content="x", due_ms=due(queue))
        assert answer.status_code == 403 and "operate" in answer.json()["message"]
    assert queue.find("x") is None
    assert list(AuditEntry.objects.values_list("action", "result")) == [("send", "refused")]
    assert as_role("Payload reader").get("/topics/orders/send/").status_code == 200
    assert as_role("Editor").get("/topics/nosuch/send/").status_code == 404


def test_a_sent_message_knows_who_sent_it(queue: Queue, send: Send, as_role: Callable[..., Client]) -> None:
    queue.topic()
    send(content="hello", due_ms=due(queue))
    queue.client.send("orders", FixedTimeMessage("other", due(queue)))
    browser = as_role("Viewer")
    assert browser.get("/api/v1/topics/orders/biography/hello").json()["actions"][0]["action"] == "send"
    assert browser.get("/api/v1/topics/orders/biography/other").json()["actions"] == []
