"""Sending over REST: one, many, refused, checked only."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from rmq_core import TopicKind
from tests.console.api.conftest import Caller, make_token, problem
from tests.console.conftest import Queue

SEND = "/topics/orders/messages"


def test_one_message(queue: Queue, operator: Caller) -> None:
    queue.topic()
    due = queue.inspector.now_ms() + 60_000
    body = {"content": "hello", "key": "k", "due_ms": due, "headers": {"a": "b"}, "version": 3}
    found = operator.ok("POST", SEND, body)
    assert (found["sent"], found["merged"], found["refused"]) == (1, 0, 0)
    view = queue.find("k")
    (result,) = found["results"]
    assert (result["id"], result["slot"], result["size"], result["merged"]) == ("k", view.row.slot, 5, False)
    assert result["error"] is result["message"] is result["found"] is None
    assert (view.content, view.headers, view.version, view.row.score_ms) == (b"hello", {"a": "b"}, 3, due)
    assert operator.ok("POST", SEND, body)["merged"] == 1


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (TopicKind.RANGE_MERGE, {"range_ms": 60_000}),
        (TopicKind.PRIORITY, {"priority": 17}),
        (TopicKind.PRIORITY, {"priority": "1048576"}),
        (TopicKind.FIXED_TIME, {"delay_ms": 0}),
        (TopicKind.FIXED_TIME, {"due_ms": "4102444800000"}),
    ],
)
def test_every_kind(queue: Queue, operator: Caller, kind: TopicKind, value: dict[str, Any]) -> None:
    queue.topic(kind=kind)
    raw = bytes(range(256))
    body = {"content_base64": base64.b64encode(raw).decode(), "key": "k", **value}
    assert operator.ok("POST", SEND, body)["sent"] == 1
    assert queue.find("k").content == raw


def test_one_that_expires(queue: Queue, operator: Caller) -> None:
    queue.topic()
    due = queue.inspector.now_ms() + 60_000
    assert operator.ok("POST", SEND, {"content": "hello", "due_ms": due, "expires_ms": 5_000})["sent"] == 1
    (message,) = operator.ok("GET", "/topics/orders/messages/hello")["messages"]
    assert message["expires_at_ms"] == due + 5_000
    problem(operator.post(SEND, {"content": "x", "due_ms": due, "expires_ms": -1}), 422, "invalid")


def test_where_nothing_merges_each_has_an_id_that_is_told(queue: Queue, operator: Caller) -> None:
    queue.topic(merge="never")
    body = {"content": "same", "key": "k", "delay_ms": 60_000}
    checked = operator.ok("POST", SEND, body | {"validate_only": True})
    assert [each["id"] for each in checked["results"]] == [None]
    ids = [operator.ok("POST", SEND, body)["results"][0]["id"] for _ in "12"]
    assert len({*ids}) == 2
    assert [queue.find(each).content for each in ids] == [b"same"] * 2


def test_once_within_a_period(queue: Queue, operator: Caller) -> None:
    queue.topic(unique_for_ms=3_600_000)
    first = operator.ok("POST", SEND, {"content": "a", "delay_ms": 60_000})
    assert (first["sent"], first["duplicates"], first["results"][0]["duplicate_of_ms"]) == (1, 0, None)
    again = operator.ok("POST", SEND, {"messages": [{"content": each, "delay_ms": 60_000} for each in "ab"]})
    assert (again["sent"], again["duplicates"], again["merged"]) == (1, 1, 0)
    assert [each["duplicate_of_ms"] is None for each in again["results"]] == [False, True]
    anyway = operator.ok("POST", SEND, {"content": "a", "delay_ms": 60_000, "unique_for_ms": 0})
    assert (anyway["sent"], anyway["merged"], anyway["duplicates"]) == (1, 1, 0)


def test_an_older_version_than_was_handed_out(queue: Queue, operator: Caller) -> None:
    queue.topic(versions_for_ms=3_600_000)
    send = {"content": "a", "key": "k", "delay_ms": 0}
    assert operator.ok("POST", SEND, send | {"version": 5})["results"][0]["outdated_by"] is None
    queue.client.ack(queue.client.take("orders", timeout_ms=2000))
    late = operator.ok("POST", SEND, send | {"version": 4})
    assert (late["sent"], late["outdated"], late["results"][0]["outdated_by"]) == (0, 1, 5)


def test_what_follows(queue: Queue, operator: Caller) -> None:
    for name in ("orders", "ship", "alarm"):
        queue.topic(name, slots=1, max_retries=0)
    follow = {"topic": "ship", "content": "b", "in_ms": 0, "headers": {"a": "b"}}
    body = {"content": "a", "delay_ms": 0, "if_done": follow, "if_dead": {"topic": "alarm", "content": "c", "in_ms": 0}}
    assert operator.ok("POST", SEND, body)["sent"] == 1
    queue.client.ack(queue.client.take("orders", timeout_ms=2000))
    (next_one,) = queue.client.take("ship", timeout_ms=2000)
    assert (next_one.text, next_one.headers) == ("b", {"a": "b", "rmq-after": "orders 0 a"})
    queue.client.ack(next_one)
    for outcome, topic in (("ack", "ship"), ("nack", "alarm")):
        operator.ok("POST", SEND, body)
        (taken,) = operator.ok("POST", "/topics/orders:take", {"max": 1, "wait_ms": 2000})["deliveries"]
        operator.ok("POST", "/topics/orders:settle", {"settle": [{"receipt": taken["receipt"], "outcome": outcome}]})
        (found,) = queue.client.take(topic, timeout_ms=2000)
        assert (found.headers["rmq-after"], queue.client.ack(found)) == ("orders 0 a", ["done"])
    for wrong in ({"topic": "ship"}, {**follow, "priority": 20}, {**follow, "content": {"base64": "?"}}):
        problem(operator.post(SEND, {**body, "if_done": wrong}), 422, "invalid")
    hidden = {"rmq-then": "{}"}
    problem(operator.post(SEND, {**body, "headers": hidden}), 422, "invalid")
    problem(
        operator.post(SEND, {**body, "if_done": {**follow, "if_done": {**follow, "headers": hidden}}}), 422, "invalid"
    )


def test_a_receipt_that_is_sent_again_is_followed_by_nothing_that_waits(queue: Queue, operator: Caller) -> None:
    for name in ("orders", "ship"):
        queue.topic(name, slots=1)
    follow = {"topic": "ship", "content": "b", "in_ms": 0}
    body = {"content": "a", "delay_ms": 0, "key": "k"}
    operator.ok("POST", SEND, body)
    (taken,) = operator.ok("POST", "/topics/orders:take", {"max": 1, "wait_ms": 2000})["deliveries"]
    operator.ok("POST", SEND, {**body, "content": "next", "if_done": follow})
    done = {"settle": [{"receipt": taken["receipt"], "outcome": "ack"}]}
    for _ in range(2):  # the second time the answer to the first was lost
        operator.ok("POST", "/topics/orders:settle", done)
        assert queue.client.take("ship") == []


def test_what_follows_goes_where_the_sender_may_send(queue: Queue, db: None) -> None:
    queue.topic()
    narrow = Caller(*make_token("Operator", topics="orders"))
    follow: dict[str, Any] = {"topic": "orders", "content": "b", "in_ms": 0}
    body = {"content": "a", "delay_ms": 0, "if_done": follow}
    assert narrow.ok("POST", SEND, body)["sent"] == 1
    follow["if_dead"] = {"topic": "payments", "content": "c", "in_ms": 0}
    problem(narrow.post(SEND, body), 403, "out_of_scope")


def test_a_batch_tells_of_each(queue: Queue, operator: Caller) -> None:
    queue.topic()
    messages = [{"content": f"m{n % 4}", "delay_ms": 60_000} for n in range(6)]
    found = operator.ok("POST", SEND, {"messages": messages})
    assert [each["merged"] for each in found["results"]] == [False] * 4 + [True] * 2
    assert (found["sent"], found["merged"]) == (6, 2)
    assert queue.inspector.sample(["orders"])[0].backlog == 4


def test_some_are_refused_on_arrival(queue: Queue, operator: Caller) -> None:
    queue.topic()
    late = {"content": "late", "due_ms": 1_000_000}
    good = {"content": "good", "delay_ms": 60_000}
    found = operator.ok("POST", SEND, {"messages": [late, good]}, status=207)
    assert (found["sent"], found["refused"]) == (1, 1)
    assert [each["error"] for each in found["results"]] == ["due_in_the_past", None]
    problem(operator.post(SEND, late), 422, "due_in_the_past")
    assert operator.ok("POST", SEND, {**late, "allow_past": True})["sent"] == 1


def test_checking_sends_nothing(queue: Queue, operator: Caller) -> None:
    queue.topic()
    body = {"messages": [{"content": "x" * 100, "delay_ms": 1}], "validate_only": True}
    (checked,) = operator.ok("POST", SEND, body)["results"]
    assert queue.inspector.sample(["orders"])[0].counters.sent == 0
    (sent,) = operator.ok("POST", SEND, {**body, "validate_only": False})["results"]
    assert (sent["id"], sent["slot"]) == (checked["id"], checked["slot"])


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({}, "content"),
        ({"content": "a"}, "due_ms"),
        ({"content": "a", "due_ms": 10**13, "delay_ms": 1}, "due_ms"),
        ({"content": "a", "priority": 20}, "priority"),
        ({"content": "a", "range_ms": 20, "delay_ms": 1}, "range_ms"),
        ({"content": "", "delay_ms": 1}, "content"),
        ({"content": "a", "content_base64": "YQ==", "delay_ms": 1}, "content"),
        ({"content_base64": "!", "delay_ms": 1}, "content_base64"),
        ({"content": "\ud800", "delay_ms": 1}, "content"),
        ({"content": "a", "key": "", "delay_ms": 1}, "key"),
        ({"content": "a", "key": "k" * 513, "delay_ms": 1}, "key"),
        ({"content": "a", "headers": {"a": 1}, "delay_ms": 1}, "headers.a"),
        ({"content": "a", "headers": {"a": "x" * 20_000}, "delay_ms": 1}, "headers"),
        ({"content": "a", "version": -1, "delay_ms": 1}, "version"),
        ({"content": "a", "version": True, "delay_ms": 1}, "version"),
        ({"content": "a", "version": "1e3", "delay_ms": 1}, "version"),
        ({"content": "a", "due_ms": 10**30}, "due_ms"),
        ({"content": "a", "delay_ms": -1}, "delay_ms"),
        ({"content": "a", "dleay_ms": 1}, "dleay_ms"),
    ],
)
def test_a_wrong_message_is_named_and_nothing_is_sent(
    queue: Queue, operator: Caller, message: dict[str, Any], field: str
) -> None:
    queue.topic()
    fields = {each["field"] for each in problem(operator.post(SEND, message), 422, "invalid")["fields"]}
    assert field in fields, fields
    good = {"content": "good", "delay_ms": 1}
    found = problem(operator.post(SEND, {"messages": [good, message]}), 422, "invalid")
    assert all(each["field"].startswith("messages.1") for each in found["fields"]), found
    assert queue.inspector.sample(["orders"])[0].counters.sent == 0


def test_sizes(queue: Queue, operator: Caller) -> None:
    queue.topic(max_content_bytes=100)
    problem(operator.post(SEND, {"content": "é" * 51, "delay_ms": 1}), 413, "content_too_large")
    assert operator.post(SEND, {"content": "é" * 50, "delay_ms": 1}).status_code == 200
    many = [{"content": str(n), "delay_ms": 1} for n in range(1_001)]
    problem(operator.post(SEND, {"messages": many}), 422, "invalid")
    problem(operator.post(SEND, {"messages": []}), 422, "invalid")
    problem(operator.post(SEND, {"messages": many[:1], "content": "a"}), 422, "invalid")
    assert operator.ok("POST", SEND, {"messages": many[:1000]})["sent"] == 1_000


def test_viewers_do_not_send(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    problem(caller("Payload reader").post(SEND, {"content": "a", "delay_ms": 1}), 403, "forbidden")
    assert queue.inspector.sample(["orders"])[0].counters.sent == 0


def test_a_full_backlog_says_when_to_come_back(queue: Queue, operator: Caller) -> None:
    queue.topic(max_backlog=4, slots=1)
    for n in range(4):
        operator.ok("POST", SEND, {"content": f"m{n}", "delay_ms": 60_000})
    answer = operator.post(SEND, {"content": "one more", "delay_ms": 60_000})
    problem(answer, 429, "backlog_full")
    assert int(answer["Retry-After"]) >= 1
    assert operator.ok("POST", SEND, {"content": "m0", "delay_ms": 60_000})["merged"] == 1
    body = {"messages": [{"content": "m1", "delay_ms": 60_000}, {"content": "new", "delay_ms": 60_000}]}
    found = operator.ok("POST", SEND, body, status=207)
    assert [each["error"] for each in found["results"]] == [None, "backlog_full"]
    # The key may be used again: the queue may have room by then.
    assert operator.post(SEND, {"content": "x", "delay_ms": 1}, Idempotency_Key="k").status_code == 429
    queue.control.cancel("orders", ["m0"])
    assert operator.post(SEND, {"content": "x", "delay_ms": 1}, Idempotency_Key="k").status_code == 200
