"""Lists, search, one message, and what can be done to it, over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from console.api.messages.reports import NOTHING
from console.models import AuditEntry
from rmq_core import FixedTimeMessage, PriorityMessage, TopicKind
from rmq_core.model.ids import id_from_text
from rmq_core.protocol.scripts import one
from rmq_core.queries import owners
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

HOSTILE = [
    "<script>alert(1)</script>",
    "a'b\"c;DROP",
    "日本/../..",
    "%41",
    "a b?c#d",
    "x" * 500,
    "run",
    "a:run",
    "b:restore:reschedule",
    "a\u202eb",
]


def test_pages_join_without_a_gap(queue: Queue, operator: Caller) -> None:
    queue.topic()
    sent = {queue.delayed(f"m{n}", in_ms=60_000 + n) for n in range(25)}
    seen: list[str] = []
    path = "/topics/orders/messages?state=delayed&limit=7"
    while path:
        page = operator.ok("GET", path)
        seen += [row["id"] for row in page["rows"]]
        path = f"/topics/orders/messages?state=delayed&limit=7&cursor={page['next']}" if page["next"] else ""
    assert seen == [f"m{n}" for n in range(25)] and set(seen) == sent


def test_a_cursor_belongs_to_its_query(queue: Queue, operator: Caller) -> None:
    queue.topic()
    queue.topic("other")
    for n in range(4):
        queue.delayed(f"m{n}")
    cursor = operator.ok("GET", "/topics/orders/messages?state=delayed&limit=2")["next"]
    for path in (
        "/topics/orders/messages?state=ready",
        "/topics/orders/messages?state=delayed&order=newest",
        "/topics/orders/messages?state=delayed&slot=1",
        "/topics/other/messages?state=delayed",
    ):
        found = problem(operator.get(f"{path}&cursor={cursor}"), 422, "invalid_message")
        assert "cursor" in found["message"]
    for made_up in ("x", "AAAA", quote("日本"), cursor[:-3]):
        answer = operator.get(f"/topics/orders/messages?state=delayed&cursor={made_up}")
        problem(answer, 422, "invalid_message")


def test_content_is_shown_to_those_who_may_read_it(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    queue.delayed("k", content='{"secret": 9007199254740993}')
    reader = caller("Payload reader").ok("GET", "/topics/orders/messages/k")["messages"][0]
    assert reader["content"] == '{"secret": 9007199254740993}'
    viewer = caller("Viewer")
    answer = viewer.get("/topics/orders/messages/k")
    assert "secret" not in answer.content.decode()
    assert answer.json()["messages"][0]["content"] is None
    problem(viewer.get("/topics/orders/content/k"), 403, "forbidden")
    problem(viewer.get("/topics/orders/messages:search?text=secret&state=delayed"), 403, "forbidden")


def test_content_that_is_no_text(queue: Queue, operator: Caller) -> None:
    queue.topic()
    raw = bytes(range(256))
    queue.client.send("orders", FixedTimeMessage(raw, queue.inspector.now_ms() + 60_000, key="k"))
    found = operator.ok("GET", "/topics/orders/messages/k")["messages"][0]
    assert found["content"] is None and found["content_base64"]
    assert operator.get("/topics/orders/content/k").content == raw


def test_numbers_beyond_doubles_are_text(queue: Queue, operator: Caller) -> None:
    queue.topic(kind=TopicKind.PRIORITY)
    for priority in (2**53 - 1, 2**53):
        # Such priorities were accepted by earlier releases.
        sent = queue.client.send("orders", PriorityMessage("x", 17, key=f"p{priority}"))
        store = queue.client.keyspace.slot("orders", sent.slot).store
        queue.client.connection.client.zadd(store, {sent.id: priority})
        found = operator.ok("GET", f"/topics/orders/messages/p{priority}")["messages"][0]
        assert found["priority"] == (priority if priority < 2**53 else str(priority))


def test_search_says_how_much_it_looked_at(queue: Queue, operator: Caller) -> None:
    queue.topic()
    for n in range(5):
        queue.delayed(f"m{n}", content=f"needle {n}" if n % 2 else "hay")
    found = operator.ok("GET", "/topics/orders/messages:search?text=needle&state=delayed")
    assert [row["id"] for row in found["rows"]] == ["m1", "m3"]
    assert (found["looked_at"], found["total"], found["next"]) == (5, 5, None)
    problem(operator.get("/topics/orders/messages:search?state=delayed"), 422, "invalid")
    problem(operator.get("/topics/orders/messages:search?state=delayed&where=total%20%3E"), 422, "invalid")
    queue.delayed("deep", content='{"a":' * 90 + "1" + "}" * 90)
    answer = operator.get("/topics/orders/messages:search?state=delayed&where=%24..a..a..a..a..z")
    assert "takes too much work" in str(problem(answer, 422, "invalid"))


@pytest.mark.parametrize("key", HOSTILE)
def test_any_id_can_be_addressed(queue: Queue, operator: Caller, key: str) -> None:
    queue.topic()
    ident = queue.delayed(key)
    for address in (quote(ident, safe=""), quote("%" + id_from_text(ident).hex(), safe="")):
        found = operator.ok("GET", f"/topics/orders/messages/{address}")["messages"][0]
        assert found["id"] == ident
    assert operator.ok("DELETE", f"/topics/orders/messages/{address}")["done"] == 1
    assert queue.find(ident) is None
    assert operator.ok("GET", f"/topics/orders/messages/{address}")["messages"][0]["state"] == "trash"


def test_cancel(queue: Queue, operator: Caller) -> None:
    queue.topic()
    queue.delayed("a")
    found = operator.ok("DELETE", "/topics/orders/messages/a?reason=ordered+twice")
    assert found["done"] == 1 and found["results"][0]["id"] == "a"
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.reason, entry.result) == ("cancel", "ordered twice", "done")
    problem(operator("DELETE", "/topics/orders/messages/a"), 404, "unknown_message")
    problem(operator("DELETE", "/topics/orders/messages/%25zz"), 422, "invalid_message")


def test_a_cancelled_message_can_be_restored(queue: Queue, operator: Caller) -> None:
    queue.topic()
    due = queue.inspector.now_ms() + 60_000
    for n in range(3):
        queue.client.send("orders", FixedTimeMessage("x", due, key="k", slot_basis=f"b{n}"))
        queue.delayed(f"m{n}")
    operator.ok("DELETE", "/topics/orders/messages/m1")
    (row,) = operator.ok("GET", "/topics/orders/messages?state=trash")["rows"]
    assert row["id"] == "m1"
    (shown,) = operator.ok("GET", "/topics/orders/messages/m1")["messages"]
    assert (shown["state"], shown["content"]) == ("trash", '{"n": 1}')
    assert operator.ok("POST", "/topics/orders/messages/m1:restore", {"reason": "not twice"})["done"] == 1
    assert queue.find("m1").row.state == "delayed"
    problem(operator.post("/topics/orders/messages/m1:restore"), 404, "unknown_message")
    operator.ok("DELETE", "/topics/orders/messages/k")
    assert operator.ok("POST", "/topics/orders/messages:restore", {"ids": ["k"], "reason": "x"})["done"] >= 1


def test_what_is_in_flight_cannot_be_cancelled(queue: Queue, operator: Caller) -> None:
    queue.topic()
    queue.client.send("orders", FixedTimeMessage("x", queue.inspector.now_ms(), key="a"), allow_past=True)
    assert queue.client.take("orders", timeout_ms=2_000)
    found = problem(operator("DELETE", "/topics/orders/messages/a"), 409, "in_flight")
    assert "visibility timeout" in found["message"]


def test_of_what_is_in_flight_it_is_said_which_worker_has_it_where_that_is_known(
    queue: Queue, operator: Caller
) -> None:
    queue.topic(slots=1)
    queue.delayed("later")
    queue.client.send("orders", FixedTimeMessage("x", queue.inspector.now_ms(), key="a"), allow_past=True)
    assert queue.client.take("orders", timeout_ms=2_000)

    def worker(ident: str) -> Any:
        (found,) = operator.ok("GET", f"/topics/orders/messages:find?id={ident}")["messages"]
        return found["worker"]

    assert worker("a") is None, "any worker takes from a slot that nobody owns"
    keyspace = queue.client.keyspace
    queue.client.run(one(owners.note(keyspace, "orders", "acquired", "w-1", 7, [0], "test"), int))
    assert (worker("a"), worker("later")) == ("w-1", None)


def test_run_and_reschedule(queue: Queue, operator: Caller) -> None:
    queue.topic()
    queue.delayed("a")
    due = queue.inspector.now_ms() + 120_000
    assert operator.ok("POST", "/topics/orders/messages/a:reschedule", {"due_ms": str(due)})["done"] == 1
    assert queue.find("a").row.score_ms == due
    before = queue.inspector.now_ms()
    operator.ok("POST", "/topics/orders/messages/a:reschedule", {"delay_ms": 60_000})
    assert queue.find("a").row.score_ms >= before + 60_000
    assert operator.ok("POST", "/topics/orders/messages/a:run")["done"] == 1
    assert queue.find("a").row.state == "ready"
    problem(operator.post("/topics/orders/messages/b:run"), 404, "unknown_message")
    for wrong in ({}, {"priority": 20}, {"due_ms": 1, "delay_ms": 1}, {"due_ms": "soon"}, {"due_ms": 1.5}, {"x": 1}):
        answer = operator.post("/topics/orders/messages/a:reschedule", wrong)
        assert answer.status_code == 422, (wrong, answer.content)


def test_a_message_can_be_meant_by_its_slot(queue: Queue, operator: Caller) -> None:
    queue.topic(slots=4)
    due = queue.inspector.now_ms() + 60_000
    for n in range(12):
        queue.client.send("orders", FixedTimeMessage("x", due, key="k", slot_basis=f"b{n}"))
    slots = {}
    for n in range(12):
        (found,) = operator.ok("GET", f"/topics/orders/messages/k?slot_basis=b{n}")["messages"]
        slots[found["slot"]] = f"b{n}"
    assert len(slots) > 1
    (one, *others) = slots
    assert operator.ok("DELETE", f"/topics/orders/messages/k?slot={one}")["results"] == [
        {"slot": one, "id": "k", "status": "done"}
    ]
    (found,) = operator.ok("GET", f"/topics/orders/messages/k?slot_basis={slots[one]}")["messages"]
    assert found["state"] == "trash"
    for other in others:
        assert operator.get(f"/topics/orders/messages/k?slot_basis={slots[other]}").status_code == 200
    problem(operator("DELETE", "/topics/orders/messages/k?slot=4"), 422, "invalid")


def test_dead_letters(queue: Queue, operator: Caller, caller: Callable[..., Caller]) -> None:
    queue.topic()
    ident = queue.dead("d", error="KeyError")
    (row,) = operator.ok("GET", "/topics/orders/dead")["rows"]
    assert row["id"] == ident and row["error"].startswith("KeyError: no tail")
    (row,) = caller("Viewer").ok("GET", "/topics/orders/dead")["rows"]
    assert row["error"] == "KeyError"


def test_the_audit_is_read_by_those_who_may(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic()
    operator = caller("Operator")
    for n in range(5):
        queue.delayed(f"m{n}")
        operator("DELETE", f"/topics/orders/messages/m{n}")
    problem(operator.get("/audit"), 403, "forbidden")
    admin = caller("Admin")
    first = admin.ok("GET", "/audit?action=cancel&limit=3")
    second = admin.ok("GET", f"/audit?action=cancel&limit=3&cursor={first['next']}")
    assert [len(first["entries"]), len(second["entries"]), second["next"]] == [3, 2, None]
    newest: dict[str, Any] = first["entries"][0]
    assert newest["query"]["messages"][0][1] == "m4" and newest["via"] == "rest"
    assert (first["count"], first["exact"]) == (5, True)
    problem(admin.get(f"/audit?action=pause&cursor={first['next']}"), 422, "invalid")
    problem(admin.get("/audit?cursor=xyz"), 422, "invalid")
    problem(admin.get("/audit?since_ms=yesterday"), 422, "invalid")
    problem(admin.get("/audit?text=%00"), 422, "bad_request")
    assert caller("Admin", topics="orders").ok("GET", "/audit?topic=orders&limit=1")["entries"]


def test_what_a_listener_told(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic(result_for_ms=60_000)
    reader, viewer = caller("Payload reader"), caller("Viewer")
    assert reader.ok("GET", "/topics/orders/report/k") == NOTHING
    queue.delayed("k", in_ms=0)
    (delivery,) = queue.client.take("orders", timeout_ms=2000)
    queue.client.note(delivery, progress={"n": 2**60}, log="halfway")
    found = reader.ok("GET", "/topics/orders/report/k")
    assert (found["state"], found["done"], found["progress"]) == ("in_flight", False, '{"n": 1152921504606846976}')
    assert [(line["text"], line["attempt"]) for line in found["lines"]] == [("halfway", 1)]
    queue.client.note(delivery, result="secret")
    queue.client.ack(delivery)
    found = reader.ok("GET", "/topics/orders/report/k")
    assert (found["state"], found["done"], found["result"]) == (None, True, '"secret"')
    masked = viewer.ok("GET", "/topics/orders/report/k")
    assert (masked["result"], masked["progress"], masked["lines"][0]["text"]) == (None, None, None)
    assert masked["result_ms"] == found["result_ms"]
