"""Stream topics over REST: sent to, read by id and time, deleted, trimmed; where an entry stands in each group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from console.models import AuditEntry
from rmq_core import StreamMessage, TopicKind, Trim
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue


@pytest.fixture
def stream(queue: Queue) -> Queue:
    queue.topic("events", TopicKind.STREAM, slots=2)
    return queue


def send(caller: Caller, *contents: str, basis: str = "LH 400") -> list[str]:
    messages = [{"content": content, "slot_basis": basis} for content in contents]
    return [each["id"] for each in caller.ok("POST", "/topics/events/messages", {"messages": messages})["results"]]


def test_entries_are_sent_in_the_order_given_and_read_by_id_and_time(stream: Queue, operator: Caller) -> None:
    first, second, third = send(operator, "a", "b", "c")
    page = operator.ok("GET", "/topics/events/entries?limit=2")
    assert [(row["id"], row["preview"]) for row in page["rows"]] == [(first, "a"), (second, "b")]
    assert page["more"]
    (last,) = operator.ok("GET", f"/topics/events/entries?cursor={page['cursor']}")["rows"]
    assert (last["id"], last["preview"]) == (third, "c")
    newest = operator.ok("GET", "/topics/events/entries?order=newest&limit=1")["rows"]
    assert [row["id"] for row in newest] == [third]
    assert operator.ok("GET", f"/topics/events/entries?since={second}")["rows"] == [last]
    assert len(operator.ok("GET", "/topics/events/entries?since=1000")["rows"]) == 3
    assert operator.ok("GET", "/topics/events/entries?until=1000")["rows"] == []
    problem(operator.get("/topics/events/entries?since=yesterday"), 422, "invalid_message")
    problem(operator.get("/topics/events/entries?slot=2"), 422, "invalid")


def test_who_follows_gets_what_comes(stream: Queue, operator: Caller) -> None:
    send(operator, "old")
    end = operator.ok("GET", "/topics/events/entries?since=end")
    assert end["rows"] == []
    send(operator, "new")
    found = operator.ok("GET", f"/topics/events/entries?cursor={end['cursor']}&wait_ms=20000")
    assert [row["preview"] for row in found["rows"]] == ["new"]


def test_fields_headers_and_ids_of_ones_own(stream: Queue, operator: Caller) -> None:
    body = {"fields": {"gate": "A 12"}, "slot_basis": "x", "headers": {"trace": "4bf9"}, "id": "5-1"}
    (sent,) = operator.ok("POST", "/topics/events/messages", body)["results"]
    assert sent["id"] == "5-1"
    (entry,) = operator.ok("GET", "/topics/events/entries/5-1")["entries"]
    assert (entry["fields"], entry["headers"], entry["slot_basis"]) == ({"gate": "A 12"}, {"trace": "4bf9"}, "x")
    problem(operator.post("/topics/events/messages", body), 422, "id_not_larger")
    problem(operator.post("/topics/events/messages", {"content": "a", "priority": 90}), 422, "invalid")
    problem(operator.post("/topics/events/messages", {"content": "a", "fields": {"a": "b"}}), 422, "invalid")
    stream.topic("orders")
    problem(operator.post("/topics/orders/messages", {"fields": {"a": "b"}, "delay_ms": 1}), 422, "invalid")
    (checked,) = operator.ok("POST", "/topics/events/messages", {"content": "a", "validate_only": True})["results"]
    assert (checked["id"], checked["found"]) == (None, [])


def test_an_entry_tells_where_it_stands_in_each_group(stream: Queue, caller: Callable[..., Caller]) -> None:
    reader = caller("Payload reader", "events*")
    for group in ("idle", "busy", "done", "failed"):
        stream.client.define_group("events", group, max_retries=0)
    sent = stream.client.send("events", "boarding")
    stream.client.take("events@busy")
    stream.client.ack(stream.client.take("events@done"))
    stream.client.nack(stream.client.take("events@failed"))
    (entry,) = reader.ok("GET", f"/topics/events/entries/{sent.id}")["entries"]
    assert {each["group"]: each["state"] for each in entry["groups"]} == {
        "events@busy": "in_flight", "events@done": "passed", "events@failed": "dead", "events@idle": "ahead",
    }  # fmt: skip
    assert entry["content"] == "boarding"
    assert reader.get(f"/topics/events/entries/{sent.id}/content").content == b"boarding"
    scoped = caller("Viewer", "events,events@busy")
    (entry,) = scoped.ok("GET", f"/topics/events/entries/{sent.id}")["entries"]
    assert [each["group"] for each in entry["groups"]] == ["events@busy"]
    assert (entry["content"], entry["preview"], entry["headers"]) == (None, None, None)
    problem(scoped.get(f"/topics/events/entries/{sent.id}/content"), 403, "forbidden")


def test_deleting_and_trimming_are_audited(stream: Queue, caller: Callable[..., Caller]) -> None:
    admin = caller("Admin")
    first, *_ = send(admin, "a", "b", "c")
    problem(caller("Editor")("DELETE", f"/topics/events/entries/{first}?reason=x"), 403, "forbidden")
    assert admin.ok("DELETE", f"/topics/events/entries/{first}?reason=wrong")["done"] == 1
    problem(admin("DELETE", f"/topics/events/entries/{first}?reason=wrong"), 404, "unknown_message")
    definition = admin.get("/topics/events")
    body = {"max_length": 2, "trim": "exact"}
    plan = admin.ok("PUT", "/topics/events?validate_only=true", body)
    assert (plan["lines"][0]["severity"], plan["lines"][0]["count"]) == ("danger", 1)
    admin.ok("PUT", "/topics/events", body, If_Match=definition["ETag"])
    problem(admin.post("/topics/events:trim", {}), 422, "invalid")
    assert admin.ok("POST", "/topics/events:trim", {"reason": "full"}) == {"entries": 1}
    assert [row["preview"] for row in admin.ok("GET", "/topics/events/entries")["rows"]] == ["c"]
    done = AuditEntry.objects.filter(action__in=("delete_entries", "trim")).order_by("at")
    assert [(entry.action, entry.result) for entry in done] == [
        ("delete_entries", "refused"), ("delete_entries", "done"), ("delete_entries", "nothing"), ("trim", "done"),
    ]  # fmt: skip


def test_a_trim_says_what_it_would_take_and_of_many_asks_for_the_name(
    stream: Queue, caller: Callable[..., Caller]
) -> None:
    admin = caller("Admin")

    def bounded(**changes: Any) -> None:
        before = stream.client.topic("events")
        stream.control.put_topic(replace(before, trim=Trim.EXACT, **changes), before.version)
        stream.client.forget("events")

    def plan(who: Caller) -> Any:
        return who.ok("POST", "/topics/events:trim", {"validate_only": True})

    for group, durable in (("mail", False), ("billing", True)):
        stream.client.define_group("events", group, durable=durable)
    stream.client.send_many("events", [StreamMessage(str(n), id=f"{1_000 + n}-0") for n in range(1_500)])
    bounded(max_length=1_000)
    assert plan(admin)["entries"] == 0, "a durable group has not read them"
    bounded(trim_unread=True)
    found = plan(admin)
    gone = found["entries"]
    assert (found["bound"], found["confirm"], found["max_length"]) == ("exact", False, 1_000)
    assert {each["group"]: each["entries"] for each in found["unread"]} == {"events@billing": gone, "events@mail": gone}
    assert [each["group"] for each in plan(caller("Admin", "events,events@mail"))["unread"]] == ["events@mail"]
    problem(caller("Viewer").post("/topics/events:trim", {"validate_only": True}), 403, "forbidden")
    bounded(max_length=2)
    found = plan(admin)
    assert (found["entries"], found["confirm"]) == (1_498, True)
    assert found["last_ms"] in (2_497, 2_498), "all but one of each slot"
    problem(admin.post("/topics/events:trim", {"reason": "full"}), 422, "bad_request")
    problem(admin.post("/topics/events:trim", {"reason": "full", "confirm": "orders"}), 422, "bad_request")
    body = {"reason": "full", "confirm": "events"}
    assert admin.ok("POST", "/topics/events:trim", body) == {"entries": 1_498}


def test_what_does_not_fit_a_kind_is_refused_with_a_sentence(stream: Queue, caller: Callable[..., Caller]) -> None:
    admin = caller("Admin")
    stream.topic("orders")
    stream.client.define_group("events", "mail")
    send(admin, "a")
    for path in ("/topics/events/messages", "/topics/events/dead", "/topics/events:take", "/topics/events:pause"):
        answer = admin.post(path, {}) if ":" in path else admin.get(path)
        assert answer.status_code == 422, (path, answer.content)
    problem(admin.get("/topics/orders/entries"), 422, "wrong_kind")
    problem(admin.post("/topics/events@mail/messages", {"content": "a"}), 422, "wrong_kind")
    body = {"ids": ["1-1"], "delay_ms": 1, "reason": "x"}
    problem(admin.post("/topics/events@mail/messages:reschedule", body), 422, "bad_request")
    fields = problem(admin("PUT", "/topics/late", {"kind": "fixed-time", "max_length": 5}), 422, "invalid")["fields"]
    assert [each["field"] for each in fields] == ["max_length"]
    fields = problem(admin("PUT", "/topics/log", {"kind": "stream", "merge": "first"}), 422, "invalid")["fields"]
    assert [each["field"] for each in fields] == ["merge"]


def test_slots_and_deletion_of_a_stream(stream: Queue, caller: Callable[..., Caller]) -> None:
    admin = caller("Admin")
    stream.client.define_group("events", "mail")
    send(admin, "a", "b")
    stream.client.take("events@mail")
    lines = admin.ok("GET", "/topics/events/slots")["slots"]
    assert sorted(line["length"] for line in lines) == [0, 2]
    full = next(line for line in lines if line["length"])
    view = admin.ok("GET", f"/topics/events/slots/{full['slot']}")
    assert (view["length"], view["ledger_gap"], view["next"]) == (2, 0, [])
    view = admin.ok("GET", f"/topics/events@mail/slots/{full['slot']}")
    assert (view["lag"], view["behind"], view["in_flight"]) == (1, full["first_entry"], 1)
    plan = admin.ok("DELETE", "/topics/events?validate_only=true")
    assert [line["count"] for line in plan["lines"][:2]] == [2, 2]
    problem(admin("DELETE", "/topics/events?reason=x"), 409, "topic_not_empty")
    assert admin.ok("DELETE", "/topics/events?reason=x&force=true&confirm=events")["messages"] >= 2
