"""Dead letters put right and sent again, exported, and restored with or without those whose time has gone by; slots
handed back to shared mode."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from console.access import Action
from console.models import AuditEntry, Operation
from rmq_core import Control, FixedTimeMessage, MessageRef, Topic, TopicKind
from rmq_core.client.inspector import Inspector
from rmq_core.errors import ConnectionLost
from rmq_core.protocol.scripts import one
from rmq_core.protocol.slot_calls import acquire
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import FAR, Queue
from tests.console.operations.desk import Desk, desk, text_of
from tests.support.waiting import wait_until

__all__ = ["desk"]


def test_one_is_put_right_and_sent_anew(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    ident = queue.dead("bill", '{"sum": "1O"}')
    slot = queue.find(ident).row.slot
    body = {"slot": slot, "id": ident, "content": '{"sum": 10}', "drop": True, "reason": "a typo"}
    problem(caller("Operator").post("/topics/orders/dead:resend", body), 403, "forbidden")
    answer = caller("Admin").post("/topics/orders/dead:resend", body)
    assert answer.status_code == 201, answer.content
    assert answer.json() == {"id": "bill", "slot": slot, "merged": False}
    assert answer["Location"] == "/api/v1/topics/orders/messages/bill"
    view = queue.find("bill")
    assert (view.content, view.row.state) == (b'{"sum": 10}', "ready")
    entry = AuditEntry.objects.filter(action="send", result="done").get()
    assert entry.detail["dropped"] == "done" and entry.reason == "a typo"


def died_twice(queue: Queue, ident: str) -> tuple[dict[str, Any], int]:
    """A dead letter, named as a list showed it, and when the one died that has its id by now."""
    queue.dead(ident, "old")
    seen = queue.find(ident).row
    Control(queue.client).drop("orders", ident)
    wait_until(lambda: queue.inspector.now_ms() > seen.score_ms, what="a millisecond to go by")
    queue.dead(ident, "new")
    return {"slot": seen.slot, "id": ident, "at_ms": seen.score_ms}, queue.find(ident).row.score_ms


def test_one_that_has_died_since_is_not_the_one_that_was_seen(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    admin = caller("Admin")
    seen, at_ms = died_twice(queue, "bill")
    for action in ("requeue", "drop"):
        answer = admin.ok("POST", f"/topics/orders/dead:{action}", {"ids": [seen], "reason": "r"})
        assert (answer["done"], answer["results"][0]["status"]) == (0, "replaced")
    problem(admin.post("/topics/orders/dead:resend", {**seen, "content": "x", "reason": "r"}), 404, "unknown_message")
    assert queue.find("bill").states == ("dead",)
    queue.topic("parking", TopicKind.STREAM)
    moved = {"messages": [seen], "target": {"topic": "parking"}, "reason": "r"}
    for more in ({"validate_only": True}, {}):
        (result,) = admin.ok("POST", "/topics/orders/dead:redrive", moved | more)["results"]
        assert result["status"] == "replaced"
    assert queue.find("bill").states == ("dead",)
    body = {"ids": [seen], "reason": "r"}
    assert "at_ms" in problem(admin.post("/topics/orders/messages:cancel", body), 422, "invalid")["message"]
    old = {**seen, "at_ms": queue.inspector.removed("orders", "bill")[0].row.score_ms - 1}
    answer = admin.ok("POST", "/topics/orders/messages:restore", {"ids": [old]})
    assert answer["results"][0]["status"] == "replaced"
    answer = admin.ok("POST", "/topics/orders/dead:drop", {"ids": [{**seen, "at_ms": at_ms}], "reason": "r"})
    assert answer["done"] == 1
    removed = {**seen, "at_ms": queue.inspector.removed("orders", "bill")[0].row.score_ms}
    assert admin.ok("POST", "/topics/orders/messages:restore", {"ids": [removed]})["done"] == 1


def test_an_operation_leaves_those_that_have_died_since(queue: Queue, desk: Desk) -> None:
    queue.topic()
    seen, at_ms = died_twice(queue, "bill")
    ref = MessageRef(seen["slot"], "bill")
    for action in (Action.REQUEUE, Action.DROP):
        ended = desk.do(action, refs=[ref], seen={ref: seen["at_ms"]}, rate_per_s=100)
        assert (ended.state, ended.done, ended.skipped) == ("done", 0, 1)
    assert desk.do(Action.DROP, refs=[ref], seen={ref: at_ms}, rate_per_s=100).done == 1


def test_a_dead_letter_is_put_right_beside_one_that_waits(queue: Queue, caller: Callable[..., Caller]) -> None:
    """What is sent has the headers of the dead one."""
    queue.topic()
    due = queue.inspector.now_ms()
    queue.client.send("orders", FixedTimeMessage("old", due, key="k", headers={"of": "the dead"}), allow_past=True)
    (delivery,) = queue.client.take("orders", timeout_ms=2000)
    queue.client.reject(delivery)
    queue.client.send("orders", FixedTimeMessage("new", due + FAR, key="k", headers={"of": "the waiting"}))
    body = {"slot": delivery.slot, "id": "k", "content": "new", "drop": True, "reason": "r"}
    assert caller("Admin").ok("POST", "/topics/orders/dead:resend", body, 201)["merged"] is True
    view = queue.find("k")
    assert (view.content, view.headers, view.states) == (b"new", {"of": "the dead"}, ("ready",))


def test_what_is_gone_or_unchanged_is_not_sent(queue: Queue, operator: Caller) -> None:
    queue.topic()
    ident = queue.dead("bill", "same")
    body = {"slot": queue.find(ident).row.slot, "id": ident, "content": "same", "reason": "r"}
    problem(operator.post("/topics/orders/dead:resend", body), 422, "bad_request")
    problem(operator.post("/topics/orders/dead:resend", {**body, "id": "none"}), 404, "unknown_message")
    problem(operator.post("/topics/orders/dead:resend", {**body, "content_base64": "AA=="}), 422, "invalid")
    queue.control.requeue("orders", ["bill"])
    problem(operator.post("/topics/orders/dead:resend", {**body, "content": "x"}), 404, "unknown_message")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_export_that_cannot_begin_is_refused_and_no_file(
    queue: Queue, operator: Caller, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.client.define(Topic("events", TopicKind.STREAM, slots=1))
    problem(operator.get(f"/topics/events/dead:export?form={form}"), 422, "wrong_kind")
    assert not AuditEntry.objects.filter(action="export", result="done").exists()

    def away(*_: object, **__: object) -> None:
        raise ConnectionLost("Redis is away")

    queue.topic()
    queue.dead()
    monkeypatch.setattr(Inspector, "select", away)
    problem(operator.get(f"/topics/orders/dead:export?form={form}"), 503, "connection_lost")


def test_they_are_exported_with_content(queue: Queue, operator: Caller) -> None:
    queue.topic()
    for n in range(3):
        queue.dead(f"d{n}")
    lines = [json.loads(line) for line in text_of(operator.get("/topics/orders/dead:export")).splitlines()]
    assert {line["id"] for line in lines} == {"d0", "d1", "d2"} and {line["state"] for line in lines} == {"dead"}
    slot = queue.find("d0").row.slot
    rows = text_of(operator.get(f"/topics/orders/dead:export?form=csv&slot={slot}&until_ms=9000000000000"))
    assert rows.startswith("id,slot,state") and "d0" in rows
    problem(operator.get("/topics/orders/dead:export?fingerprint=zz"), 422, "invalid")
    problem(operator.get("/topics/nosuch/dead:export"), 404, "unknown_topic")
    entries = AuditEntry.objects.filter(action="export", result="done")
    assert [each.query["filter"].get("slot") for each in entries.order_by("id")] == [None, slot]


def restored(desk: Desk, asked: Caller, **body: Any) -> Operation:
    found = asked.ok(
        "POST", "/topics/orders/messages:restore", {"filter": {}, "reason": "r", "confirm": "orders", **body}, 202
    )
    operation = Operation.objects.get(pk=found["id"])
    return desk.finish(operation)


def test_all_are_restored_or_only_those_with_time_left(desk: Desk, caller: Callable[..., Caller]) -> None:
    queue = desk.queue
    now = queue.inspector.now_ms()
    queue.client.send("orders", FixedTimeMessage("x", now, key="late"), allow_past=True)
    queue.client.send("orders", FixedTimeMessage("x", now + FAR, key="early"))
    queue.control.cancel("orders", ["late", "early"])
    asked = caller("Operator")
    looked = asked.ok(
        "POST", "/topics/orders/messages:restore", {"filter": {}, "overdue": False, "validate_only": True}
    )
    assert (looked["count"], looked["exact"]) == (2, False)
    assert restored(desk, asked, overdue=False).done == 1
    assert queue.find("early").row.state == "delayed" and not queue.inspector.find("orders", "late")
    assert AuditEntry.objects.filter(action="restore").get().query["overdue"] is False
    assert restored(desk, asked).done == 1
    assert queue.find("late").row.state == "ready"


def test_time_goes_by_for_timed_topics_and_filters_only(queue: Queue, operator: Caller) -> None:
    queue.topic("ranked", TopicKind.PRIORITY)
    queue.topic("orders")
    body = {"overdue": False, "reason": "r"}
    problem(operator.post("/topics/ranked/messages:restore", {**body, "filter": {}}), 422, "bad_request")
    problem(operator.post("/topics/orders/messages:restore", {**body, "ids": ["a"]}), 422, "bad_request")


def test_owned_slots_are_handed_back(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    for slot in (0, 2):
        queue.client.run(one(acquire(queue.client.keyspace, queue.client.topic("orders"), slot, 7), bytes))
    admin = caller("Admin")
    problem(admin.post("/topics/orders:unfence", {}), 422, "invalid")
    queue.worker(state="stopping", session="connected")
    problem(admin.post("/topics/orders:unfence", {"reason": "too early"}), 422, "bad_request")
    queue.worker(session="shared")
    assert admin.ok("POST", "/topics/orders:unfence", {"reason": "back to one"}) == {"slots": 2}
    assert admin.ok("POST", "/topics/orders:unfence", {"reason": "again"}) == {"slots": 0}
    assert AuditEntry.objects.filter(action="unfence", result="done").count() == 2
