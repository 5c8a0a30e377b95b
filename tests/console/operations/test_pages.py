"""What the bulk dialogs and the operations pages send and get."""

from __future__ import annotations

import csv
import io
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.access import Action
from console.models import Operation
from tests.console.operations.desk import Desk, text_of

CANCEL = "/api/v1/topics/orders/messages:cancel"
REQUEUE = "/api/v1/topics/orders/dead:requeue"


def test_a_look_first_then_the_start_then_the_page(
    desk: Desk, send: Callable[..., Any], as_role: Callable[..., Client]
) -> None:
    desk.delayed(30)
    wanted = {"filter": {"state": "delayed", "text": "m1"}}
    seen = send(CANCEL, **wanted, validate_only=True).json()
    assert (seen["count"], seen["exact"], seen["confirm"], seen["purges"]) == (11, True, False, False)
    assert [row["id"] for row in seen["examples"]] == ["m1", "m10", "m11", "m12", "m13"]
    assert desk.count("delayed") == 30, "a look changes nothing"
    started = send(CANCEL, **wanted, reason="sent twice").json()
    assert (started["state"], started["total"], started["action"]) == ("queued", 11, "cancel")
    desk.work()
    viewer = as_role("Viewer")
    assert viewer.get(f"/operations/{started['id']}/").status_code == 200
    page = viewer.get(f"/api/v1/operations/{started['id']}").json()
    assert (page["state"], page["done"], page["reason"]) == ("done", 11, "sent twice")
    assert page["filter"] == {"state": "delayed", "text": "…"}, "words of a message are for payload readers"
    listed = viewer.get("/api/v1/operations").json()
    assert [each["id"] for each in listed["operations"]] == [started["id"]]
    assert viewer.get("/api/v1/operations?state=live").json()["operations"] == []
    assert viewer.get("/api/v1/operations?topic=other").json()["operations"] == []


def test_stop_resume_and_undo_by_address(desk: Desk, send: Callable[..., Any]) -> None:
    desk.delayed(5)
    operation = desk.start(Action.CANCEL, "delayed", text="m")
    act = f"/api/v1/operations/{operation.pk}:"
    assert send(act + "stop").json()["state"] == "stopped"
    assert send(act + "stop").status_code == 422
    assert send(act + "resume").json()["state"] == "queued"
    desk.work()
    assert send(act + "undo").status_code == 422, "it needs a reason"
    undo = send(act + "undo", reason="a mistake").json()
    assert (undo["action"], undo["undoes"]) == ("restore", str(operation.pk))
    desk.work()
    assert desk.count("delayed") == 5
    assert Operation.objects.get(pk=undo["id"]).state == "done"
    assert send(act + "explode").status_code == 404


@pytest.mark.parametrize("path", ["", "/report", ":stop"])
def test_an_unknown_operation_is_not_found(
    desk: Desk, send: Callable[..., Any], as_role: Callable[..., Client], path: str
) -> None:
    address = f"/api/v1/operations/{uuid.uuid4()}"
    answer = send(address + path) if "stop" in path else as_role("Operator").get(address + path)
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_operation")


def test_an_unknown_operation_has_a_page_that_says_so(as_role: Callable[..., Client], queue: Any) -> None:
    browser = as_role("Viewer")
    assert browser.get(f"/operations/{uuid.uuid4()}/").status_code == 404
    assert browser.get("/operations/7/").status_code == 404
    assert browser.get("/api/v1/operations?cursor=x").status_code == 422
    assert browser.get("/api/v1/operations?state=odd").status_code == 422


def test_operations_are_listed_a_page_at_a_time(desk: Desk, as_role: Callable[..., Client]) -> None:
    for number in range(60):
        Operation.objects.create(action="cancel", topic="orders", username=str(number), state="done")
    browser = as_role("Viewer")
    first = browser.get("/api/v1/operations").json()
    assert first["next"] and len(first["operations"]) == 50
    second = browser.get("/api/v1/operations", {"cursor": first["next"]}).json()
    assert not second["next"]
    seen = [each["who"] for each in first["operations"] + second["operations"]]
    assert seen == [str(number) for number in reversed(range(60))]
    Operation.objects.create(action="requeue", topic="events@mail", username="g", state="done")
    (found,) = browser.get("/api/v1/operations", {"topic": "events@mail"}).json()["operations"]
    assert (found["who"], found["topic"]) == ("g", "events@mail"), "a group is asked for as a topic is"


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        (CANCEL, {}, "ids or filter"),
        (CANCEL, {"filter": "delayed"}, "filter"),
        (CANCEL, {"filter": {}}, "state"),
        (CANCEL, {"filter": {"state": "delayed", "colour": "red"}}, "colour"),
        (CANCEL, {"filter": {"state": "delayed", "since_ms": -1}}, "since_ms"),
        (CANCEL, {"filter": {"state": "delayed", "text": "\ud800"}}, "text"),
        (CANCEL, {"filter": {"state": "delayed", "text": "x" * 5000}}, "text"),
        (CANCEL, {"ids": [{"slot": "0", "id": ["a"]}]}, "ids"),
        (CANCEL, {"filter": {"state": "delayed"}, "rate_per_s": "fast"}, "rate_per_s"),
        (REQUEUE, {"filter": {}, "canary": 10**9}, "canary"),
    ],
)
@pytest.mark.parametrize("look", [True, False])
def test_bad_bodies_are_refused_in_words(
    desk: Desk, send: Callable[..., Any], look: bool, path: str, body: dict[str, Any], words: str
) -> None:
    answer = send(path, **body, reason="x", validate_only=look)
    assert answer.status_code == 422, answer.content
    assert words in answer.json()["message"]
    assert not Operation.objects.exists()


def test_the_report_is_a_file(desk: Desk, as_role: Callable[..., Client]) -> None:
    desk.queue.delayed("=1+1")
    operation = desk.start(Action.CANCEL, "delayed", text="=1")
    assert operation.total == 1
    named = desk.start(Action.CANCEL, refs=[desk.queue.find("=1+1").row.ref])
    desk.work()
    browser = as_role("Operator")
    answer = browser.get(f"/api/v1/operations/{named.pk}/report?form=csv")
    assert 'attachment; filename="operation-' in answer["Content-Disposition"]
    rows = list(csv.reader(io.StringIO(text_of(answer))))
    assert rows == [["id", "slot", "status"], ["'=1+1", rows[1][1], "not_found"]], "no spreadsheet runs it"
    lines = text_of(browser.get(f"/api/v1/operations/{named.pk}/report")).splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["=1+1"]
    assert as_role("Viewer").get(f"/api/v1/operations/{named.pk}/report").status_code == 403
