"""The outbox over REST: lists, and what is done about what failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from console import outbox
from console.models import AuditEntry
from console.outbox.models import OutboxMessage
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

BASE = "/outbox/default/messages"


@pytest.fixture(autouse=True)
def without_fast_path(settings: Any) -> None:
    settings.RMQ_OUTBOX = {"FAST_PATH": False}


def write(*contents: str, topic: str = "orders", **changes: Any) -> list[int]:
    with transaction.atomic():
        ids = [outbox.send(topic, content, priority=900) for content in contents]
        OutboxMessage.objects.filter(pk__in=ids).update(**({"state": "waiting"} | changes))
    return ids


def test_rows_are_listed_page_by_page(queue: Queue, caller: Callable[..., Caller]) -> None:
    viewer = caller("Viewer")
    ids = write("a", "b", "c")
    parked = write("d", "e", "f", state="parked", at_ms=1_000, error="WrongKind: content d")
    (figures,) = viewer.ok("GET", "/outbox")["outboxes"]
    assert (figures["database"], figures["waiting"], figures["parked"]) == ("default", 3, 3)
    seen = []
    for expected, state in ((ids, "waiting"), (parked[::-1], "parked")):
        cursor, found = "", []
        while cursor is not None:
            page = viewer.ok("GET", f"{BASE}?state={state}&limit=2&cursor={cursor}")
            found += page["messages"]
            cursor = page["next"]
        assert [each["id"] for each in found] == expected
        seen += found
    assert {each["error"] for each in seen} == {"", "WrongKind"}
    assert {each["message"] for each in seen} == {None}, "an id may be the content"
    problem(viewer.get(f"{BASE}?cursor=x.y"), 422, "invalid")
    problem(viewer.get("/outbox/other/messages"), 422, "bad_request")
    problem(viewer.get(f"{BASE}/{10**12}"), 404, "unknown_row")


def test_content_is_for_those_who_may_read_it(queue: Queue, caller: Callable[..., Caller]) -> None:
    (number,) = write("secret")
    masked = caller("Viewer").ok("GET", f"{BASE}/{number}")
    assert (masked["content"], masked["content_base64"], masked["headers"], masked["value"]) == (None, None, None, 900)
    shown = caller("Payload reader").ok("GET", f"{BASE}/{number}")
    assert (shown["content"], shown["headers"], shown["message"]) == ("secret", {}, "secret")


def test_rows_that_no_release_has_written_are_shown(queue: Queue, caller: Callable[..., Caller]) -> None:
    (number,) = write("x", kind="telegram", content=b"\xff\x00", headers="{", error="<b>", topic="a<b")
    reader = caller("Payload reader")
    shown = reader.ok("GET", f"{BASE}/{number}")
    assert (shown["content"], shown["content_base64"], shown["headers"]) == (None, "/wA=", None)
    assert len(reader.ok("GET", BASE)["messages"]) == 1


def test_rows_are_retried_and_discarded_with_a_reason(queue: Queue, caller: Callable[..., Caller]) -> None:
    operator, admin = caller("Operator"), caller("Admin")
    one, two, three = write("a", "b", "c", state="parked", tries=9)
    assert operator.ok("POST", f"{BASE}:retry", {"ids": [one]}) == {"changed": 1}
    problem(operator.post(f"{BASE}:discard", {"ids": [two], "reason": "x"}), 403, "forbidden")
    problem(admin.post(f"{BASE}:discard", {"ids": [two]}), 422, "invalid")
    assert admin.ok("POST", f"{BASE}:discard", {"ids": [two], "reason": "sold out"}) == {"changed": 1}
    problem(operator.post(f"{BASE}:retry", {}), 422, "bad_request")
    assert operator.ok("POST", f"{BASE}:retry", {"all_parked": True, "topic": "mail"}) == {"changed": 0}
    assert operator.ok("POST", f"{BASE}:retry", {"all_parked": True}) == {"changed": 1}
    states = OutboxMessage.objects.order_by("pk").values_list("pk", "state", "tries", "error")
    assert list(states) == [
        (one, "waiting", 0, ""),
        (two, "discarded", 9, "discarded: sold out"),
        (three, "waiting", 0, ""),
    ]
    entries = list(AuditEntry.objects.order_by("pk").values_list("action", "result", "done", "reason"))
    assert entries[0] == ("retry_outbox", "done", 1, "")
    assert ("discard_outbox", "done", 1, "sold out") in entries
    assert ("discard_outbox", "refused", 0, "x") in entries


def test_before_many_are_discarded_they_are_counted_and_their_database_is_named(
    queue: Queue, caller: Callable[..., Caller]
) -> None:
    operator, admin = caller("Operator"), caller("Admin")
    parked = write("a", "b", "c", state="parked") + write("d", topic="mail", state="parked")
    write("e")
    every = {"all_parked": True, "validate_only": True}
    assert admin.ok("POST", f"{BASE}:discard", every) == {"rows": 4, "capped": False, "confirm": False}
    assert admin.ok("POST", f"{BASE}:discard", every | {"topic": "mail"})["rows"] == 1
    assert operator.ok("POST", f"{BASE}:retry", every)["rows"] == 4
    problem(operator.post(f"{BASE}:discard", every), 403, "forbidden")
    problem(admin.post(f"{BASE}:discard", {"validate_only": True}), 422, "bad_request")
    assert OutboxMessage.objects.filter(state="parked").count() == 4, "nothing was changed"
    row = OutboxMessage.objects.get(pk=parked[0])
    OutboxMessage.objects.bulk_create([copied(row) for _ in range(1_000)])
    assert admin.ok("POST", f"{BASE}:discard", every) == {"rows": 1_004, "capped": False, "confirm": True}
    assert operator.ok("POST", f"{BASE}:retry", every)["confirm"] is False
    body = {"all_parked": True, "reason": "sold out"}
    problem(admin.post(f"{BASE}:discard", body), 422, "bad_request")
    problem(admin.post(f"{BASE}:discard", body | {"confirm": "other"}), 422, "bad_request")
    assert admin.ok("POST", f"{BASE}:discard", body | {"topic": "mail"}) == {"changed": 1}
    assert admin.ok("POST", f"{BASE}:discard", body | {"confirm": "default"}) == {"changed": 1_003}


def copied(row: OutboxMessage) -> OutboxMessage:
    values = {each.attname: getattr(row, each.attname) for each in row._meta.concrete_fields if not each.primary_key}
    return OutboxMessage(**values)


def test_a_token_for_some_topics_sees_and_does_what_is_theirs(
    queue: Queue,
    caller: Callable[..., Caller],
) -> None:
    mine, other = write("a", topic="orders", state="parked") + write("b", topic="mail", state="parked")
    scoped = caller("Operator", topics="orders")
    problem(scoped.get("/outbox"), 403, "out_of_scope")
    problem(scoped.get(f"{BASE}?state=parked"), 403, "out_of_scope")
    assert [each["id"] for each in scoped.ok("GET", f"{BASE}?state=parked&topic=orders")["messages"]] == [mine]
    problem(scoped.get(f"{BASE}/{other}"), 404, "unknown_row")
    problem(scoped.post(f"{BASE}:retry", {"ids": [other]}), 403, "out_of_scope")
    assert scoped.ok("POST", f"{BASE}:retry", {"ids": [mine, other], "topic": "orders"}) == {"changed": 1}
    assert OutboxMessage.objects.get(pk=other).state == "parked"
