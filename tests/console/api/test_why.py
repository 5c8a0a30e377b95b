"""Why something is late, and what will be due, over REST: the engine's answers, and what a caller may read of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from console.models import AuditEntry
from console.snapshots.store import LiveKeys
from rmq_core import PriorityMessage, TopicKind
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue
from tests.support.waiting import wait_until


def codes(answer: dict) -> list[str]:
    return [reason["code"] for reason in answer["reasons"]]


def send(queue: Queue, *contents: str) -> None:
    queue.client.send_many("ranked", [PriorityMessage(content, 20) for content in contents])


@pytest.fixture
def ranked(queue: Queue, db: None) -> Queue:
    queue.topic("ranked", TopicKind.PRIORITY, slots=1)
    return queue


def test_a_topic_a_slot_and_a_message_answer(ranked: Queue, caller: Callable[..., Caller]) -> None:
    send(ranked, "a", "b")
    viewer = caller("Viewer")
    of_topic = viewer.ok("GET", "/topics/ranked/why")
    assert of_topic["reasons"] == [
        {"code": "no_worker", "text": "No worker listens to it; 2 ready.", "calm": False, "values": {"ready": 2}}
    ]
    assert (of_topic["topic"], of_topic["slot"], of_topic["id"]) == ("ranked", None, None)
    of_slot = viewer.ok("GET", "/topics/ranked/why?slot=0")
    assert codes(of_slot) == ["no_worker"] and of_slot["slot"] == 0
    of_message = viewer.ok("GET", "/topics/ranked/why/b")
    assert codes(of_message) == ["no_worker", "behind"] and of_message["id"] == "b"
    assert codes(viewer.ok("GET", "/topics/ranked/why/nowhere?slot=0")) == ["gone"]


def test_who_may_not_read_contents_sees_no_other_id(ranked: Queue, caller: Callable[..., Caller]) -> None:
    send(ranked, "secret")
    assert ranked.client.take("ranked")
    send(ranked, "b")
    ranked.worker(topics=["ranked"])

    def busy(role: str) -> dict:
        found = caller(role).ok("GET", "/topics/ranked/why/b")
        return next((reason for reason in found["reasons"] if reason["code"] == "busy"), {})

    wait_until(lambda: busy("Operator"), what="the slot to be busy for a second")
    assert busy("Operator")["values"]["id"] == "secret"
    hidden = busy("Viewer")
    assert hidden["values"]["id"] is None and "(hidden)" in hidden["text"]


def test_who_paused_it_is_for_those_who_may_read_the_audit(ranked: Queue, caller: Callable[..., Caller]) -> None:
    send(ranked, "a")
    caller("Operator").ok("POST", "/topics/ranked:pause", {"reason": "the bank is closed"})
    told = caller("Admin").ok("GET", "/topics/ranked/why")["reasons"][0]
    entry = AuditEntry.objects.get(action="pause")
    assert told["code"] == "paused"
    assert (told["values"]["by"], told["values"]["why"]) == (entry.username, "the bank is closed")
    assert "by" not in caller("Viewer").ok("GET", "/topics/ranked/why")["reasons"][0]["values"]
    # A program has resumed it, and paused it again.
    ranked.control.resume("ranked")
    ranked.control.pause("ranked")
    told = caller("Admin").ok("GET", "/topics/ranked/why")["reasons"][0]
    assert told["code"] == "paused" and "by" not in told["values"]


def test_the_pace_is_what_the_keeper_measured(ranked: Queue, caller: Callable[..., Caller]) -> None:
    send(ranked, *(f"m{n}" for n in range(10)))
    key, now = LiveKeys(ranked.client.keyspace.namespace).history("ranked"), ranked.inspector.now_ms()
    point = f"[{now}, 0, 2.5" + ", null" * 13 + "]"
    ranked.client.connection.client.rpush(key, "nonsense", "[1, 2]", point)
    found = caller("Viewer").ok("GET", "/topics/ranked/why")
    assert found["reasons"][0]["text"] == "10 are ready and 2.5 a second are done: that takes 4 s."


def test_what_cannot_be_asked(ranked: Queue, caller: Callable[..., Caller]) -> None:
    ranked.topic("events", TopicKind.STREAM, slots=1, max_retries=16)
    viewer = caller("Viewer")
    problem(viewer.get("/topics/events/why"), 422, "wrong_kind")
    problem(viewer.get("/topics/ranked/why?slot=7"), 422, "invalid")
    problem(viewer.get("/topics/nowhere/why"), 404, "unknown_topic")
    problem(viewer.get("/topics/ranked/why/%25zz"), 422, "invalid_message")


def test_what_will_be_due_by_minutes_hours_and_days(ranked: Queue, caller: Callable[..., Caller]) -> None:
    ranked.topic()
    for n, in_ms in enumerate((-1_000, 30_000, 90 * 60_000, 90 * 60_000, 26 * 3_600_000)):
        ranked.delayed(f"m{n}", in_ms=in_ms)
    viewer = caller("Viewer")
    minutes = viewer.ok("GET", "/topics/orders/forecast")
    assert (len(minutes["due"]), minutes["due"][0], sum(minutes["due"])) == (60, 1, 1)
    assert (minutes["step_ms"], minutes["ready"], minutes["out_s"], minutes["waiting"]) == (60_000, 1, None, None)
    hours = viewer.ok("GET", "/topics/orders/forecast?unit=hours")
    assert hours["due"][:3] == [1, 2, 0] and len(hours["due"]) == 24
    days = viewer.ok("GET", "/topics/orders/forecast?unit=days")
    assert days["due"][:3] == [3, 1, 0] and len(days["due"]) == 14
    key = LiveKeys(ranked.client.keyspace.namespace).history("orders")
    point = f"[{ranked.inspector.now_ms()}, 0, 0.0" + ", null" * 13 + "]"
    ranked.client.connection.client.rpush(key, point)
    assert viewer.ok("GET", "/topics/orders/forecast?unit=days")["waiting"][:3] == [4, 5, 5]
    ranked.client.connection.client.lset(key, 0, point.replace("0.0", "0.1"))
    assert viewer.ok("GET", "/topics/orders/forecast?unit=days")["waiting"] == [0] * 14
    problem(viewer.get("/topics/orders/forecast?unit=years"), 422, "invalid")


def test_the_sentence_is_in_the_language_of_whoever_asks(ranked: Queue, caller: Callable[..., Caller]) -> None:
    send(ranked, "a", "b")
    viewer = caller("Viewer")
    answer = viewer.ok("GET", "/topics/ranked/why/b", Accept_Language="zh-hans")
    assert [each["text"] for each in answer["reasons"]] == [
        "没有消费者在监听；2 条就绪。",
        "同一槽位中有 1 条消息排在它之前。",
    ]
