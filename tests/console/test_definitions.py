"""Topic definitions: what may be entered, what a change would do, who was first, what the history says."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from console.definitions import history
from console.definitions.fields import BY_NAME, FIELDS, STORED, InvalidDefinition, defaults, wanted_topic
from console.definitions.plan import change_plan, spoken
from console.definitions.watch import watch_definitions
from console.engine import new_async_engine
from console.models import AuditEntry, TopicRevision
from rmq_core import FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.errors import InvalidTopic, TopicConflict
from tests.console.conftest import Queue
from tests.support.waiting import wait_until_async

Post = Callable[..., Any]


@pytest.fixture
def post(as_role: Callable[..., Client]) -> Post:
    """POST as a role, signed in once each."""
    browsers: dict[str, Client] = {}

    def send(address: str, role: str = "Editor", **body: Any) -> Any:
        if role not in browsers:
            browsers[role] = as_role(role)
        return browsers[role].post(address, json.dumps(body), content_type="application/json")

    return send


def ready(queue: Queue, *keys: str) -> None:
    """Messages that are due at once."""
    for key in keys:
        queue.client.send("orders", FixedTimeMessage("x", queue.inspector.now_ms(), key=key), allow_past=True)


def version_of(queue: Queue, name: str = "orders") -> int:
    return next(topic.version for topic in queue.inspector.topics() if topic.name == name)


def stored(queue: Queue, name: str = "orders") -> Topic:
    return next(topic for topic in queue.inspector.topics() if topic.name == name)


def look(queue: Queue) -> int:
    at_ms = queue.inspector.now_ms()
    return history.look(queue.inspector.topics(), at_ms)


# -- fields ------------------------------------------------------------------------------------------------------


def test_every_field_of_a_topic_has_its_place_in_the_form() -> None:
    assert {each.name for each in dataclasses.fields(Topic)} == set(BY_NAME) | STORED


@pytest.mark.parametrize("name", [field.name for field in FIELDS if field.input in ("count", "duration", "bytes")])
def test_the_bounds_are_those_of_the_engine(name: str) -> None:
    field = BY_NAME[name]
    base = Topic("t", TopicKind.FIXED_TIME, backoff_ms=0, backoff_max_ms=86_400_000)
    for value in (field.low, field.high):
        assert getattr(dataclasses.replace(base, **{name: value}), name) == value
    for value in (field.low - 1, field.high + 1):
        with pytest.raises(InvalidTopic):
            dataclasses.replace(base, **{name: value})
        with pytest.raises(InvalidDefinition) as refused:
            wanted_topic({name: value}, base)
        assert list(refused.value.problems) == [name]


def test_the_defaults_are_those_of_the_engine() -> None:
    topic = wanted_topic({"name": "a", "kind": "priority"})
    assert topic.same_definition(Topic("a", TopicKind.PRIORITY))
    assert set(defaults()) == set(BY_NAME)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "9lives"),
        ("name", "a b"),
        ("name", ""),
        ("name", None),
        ("name", "a" * 101),
        ("name", "<script>"),
        ("kind", "stream"),
        ("kind", ["priority"]),
        ("slots", 3),
        ("slots", "8"),
        ("max_retries", True),
        ("max_retries", 1.5),
        ("max_retries", 10**30),
        ("visibility_timeout_ms", ""),
        ("merge", "newest"),
        ("paused", "yes"),
        ("description", "x" * 2_001),
        ("description", 5),
        ("version", 7),
        ("colour", "red"),
    ],
)
def test_a_wrong_value_is_told_at_its_field(name: str, value: Any) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        wanted_topic({"name": "orders", "kind": "priority", name: value})
    assert list(refused.value.problems) == [name]
    assert len(refused.value.problems[name]) > 10


def test_all_wrong_fields_are_told_at_once() -> None:
    with pytest.raises(InvalidDefinition) as refused:
        wanted_topic({"name": "9", "kind": "x", "slots": 5, "backoff_ms": 50_000, "backoff_max_ms": 10})
    assert set(refused.value.problems) == {"name", "kind", "slots", "backoff_max_ms"}


# -- the plan ----------------------------------------------------------------------------------------------------


def planned(queue: Queue, **changes: Any) -> dict[str, Any]:
    now = stored(queue)
    plan = change_plan(now, dataclasses.replace(now, **changes))
    return {line.field: line for line in plan.lines} | {"": plan}


def test_pausing_counts_what_is_ready_and_in_flight(queue: Queue) -> None:
    queue.topic()
    ready(queue, *"abc")
    queue.delayed("later")
    held = queue.client.take("orders", timeout_ms=2_000)
    line = planned(queue, paused=True)["paused"]
    assert (line.count.number, line.count.exact, line.severity) == (2, True, "caution")
    assert "Ready messages (2)" in line.text and "(1)" in line.text
    queue.client.ack(held)


def test_a_shorter_visibility_timeout_counts_the_deliveries_that_are_over_it(queue: Queue) -> None:
    queue.topic(visibility_timeout_ms=60_000)
    ready(queue, *"ab")
    held = queue.client.take("orders", 2, timeout_ms=2_000)
    held += queue.client.take("orders", 2, timeout_ms=2_000) if len(held) < 2 else []
    age_ms = queue.inspector.now_ms() - min(each.taken_ms for each in held)
    assert planned(queue, visibility_timeout_ms=50_000)["visibility_timeout_ms"].severity == "info"
    while age_ms <= 100:
        age_ms = queue.inspector.now_ms() - max(each.taken_ms for each in held)
    line = planned(queue, visibility_timeout_ms=100)["visibility_timeout_ms"]
    assert (line.count.number, line.severity) == (2, "danger")
    assert planned(queue, visibility_timeout_ms=90_000)["visibility_timeout_ms"].severity == "info"
    queue.client.ack(held)


def test_fewer_retries_count_the_messages_on_their_last_try(queue: Queue) -> None:
    queue.topic(max_retries=5, backoff_ms=60_000)
    for key, failures in (("once", 1), ("thrice", 3)):
        ready(queue, key)
        for _ in range(failures):
            (delivery,) = queue.client.take("orders", timeout_ms=2_000)
            queue.client.nack(delivery, delay_ms=0 if failures > 1 else 60_000)
        if failures > 1:  # the last failure leaves it waiting
            (delivery,) = queue.client.take("orders", timeout_ms=2_000)
            queue.client.nack(delivery, delay_ms=60_000)
    plan = planned(queue, max_retries=2)
    assert plan["max_retries"].count.number == 1
    assert plan[""].severity == "danger"
    assert planned(queue, max_retries=9)["max_retries"].count.number == 2


def test_a_plan_says_when_it_has_not_looked_at_all(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.definitions.plan.LOOKED_AT", 2)
    monkeypatch.setattr("console.definitions.plan.AT_ONCE", 2)
    queue.topic(max_retries=5, backoff_ms=60_000)
    ready(queue, *"abcde")
    taken = 0
    while taken < 5:
        deliveries = queue.client.take("orders", 5, timeout_ms=2_000)
        taken += len(deliveries)
        queue.client.nack(deliveries)
    line = planned(queue, max_retries=1)["max_retries"]
    assert (line.count.number, line.count.exact) == (2, False)
    assert "at least 2" in line.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"description": "x"}, "No message is affected"),
        ({"backoff_ms": 5_000, "backoff_max_ms": 7_000}, "wait already (1) keep"),
        ({"backoff_max_ms": 70_000}, "From the next failure on"),
        ({"merge": "first"}, "From the next duplicate on"),
        ({"max_content_bytes": 100}, "Senders of larger messages get an error"),
        ({"max_content_bytes": 2_000_000}, "Larger messages are accepted"),
        ({"weight": 7}, "from 1 to 7"),
    ],
)
def test_each_change_is_explained(queue: Queue, changes: dict[str, Any], words: str) -> None:
    queue.topic(max_retries=3)
    ready(queue, "a")
    (delivery,) = queue.client.take("orders", timeout_ms=2_000)
    queue.client.nack(delivery, delay_ms=60_000)
    plan = planned(queue, **changes)[""]
    assert [each["field"] for each in plan.difference] == list(changes)
    assert len(plan.lines) == 1 and words in plan.lines[0].text


def test_limits_are_planned_against_what_waits(queue: Queue) -> None:
    queue.topic()
    ready(queue, *"abc")
    over = planned(queue, max_backlog=2)["max_backlog"]
    assert (over.severity, over.count.number) == ("danger", 3)
    assert planned(queue, max_backlog=10)["max_backlog"].severity == "info"
    slow = planned(queue, rate_limit=1)["rate_limit"]
    assert slow.severity == "caution" and "3 s" in slow.text
    assert planned(queue, undo_ms=0)["undo_ms"].severity == "caution"
    assert "1 h" in planned(queue, undo_ms=3_600_000)["undo_ms"].text
    now = dataclasses.replace(stored(queue), max_backlog=5, rate_limit=5, undo_ms=1_000)
    lifted = change_plan(now, dataclasses.replace(now, max_backlog=0, rate_limit=0, undo_ms=2_000))
    assert [line.severity for line in lifted.lines] == ["info"] * 3


def test_kind_and_slots_cannot_be_planned_away(queue: Queue) -> None:
    queue.topic()
    now = stored(queue)
    for other in (dataclasses.replace(now, slots=8), dataclasses.replace(now, kind=TopicKind.PRIORITY)):
        with pytest.raises(TopicConflict):
            change_plan(now, other)


def test_durations_are_spoken_in_their_largest_unit() -> None:
    assert [spoken(ms) for ms in (0, 999, 1_000, 90_000, 5_400_000, 86_400_000)] == [
        "0 ms", "999 ms", "1 s", "1.5 min", "1.5 h", "1 d",
    ]  # fmt: skip


# -- saving ------------------------------------------------------------------------------------------------------


def test_an_edit_is_planned_saved_audited_and_in_the_history(queue: Queue, post: Post) -> None:
    queue.topic()
    body = {"values": {"weight": 9, "description": "what people buy"}, "version": 1}
    plan = post("/topics/orders/definition/plan/", **body).json()["plan"]
    assert {each["field"] for each in plan["difference"]} == {"weight", "description"}
    assert stored(queue).weight == 1 and not AuditEntry.objects.exists()
    answer = post("/topics/orders/definition/save/", reason="more share", **body)
    assert answer.status_code == 200, answer.content
    assert (stored(queue).weight, stored(queue).version) == (9, 2)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.username, entry.reason, entry.result) == ("edit_topic", "editor", "more share", "done")
    assert entry.query["difference"][-1] == {"field": "weight", "before": 1, "after": 9} or entry.query["difference"]
    newest, first = history.page("orders")
    assert (newest.version, newest.username, newest.reason, newest.change) == (2, "editor", "more share", "edited")
    assert {each["field"]: (each["before"], each["after"]) for each in newest.difference} == {
        "weight": (1, 9),
        "description": ("", "what people buy"),
    }
    assert (first.version, first.username, first.via, first.change) == (1, "", "code", "created")


def test_the_second_of_two_editors_sees_the_conflict_and_what_the_first_did(queue: Queue, post: Post) -> None:
    queue.topic()
    base = {"weight": 1, "version": 1}
    post("/topics/orders/definition/save/", values={"weight": 5}, version=1, reason="first")
    mine = {"values": {"weight": 6}, "version": 1, "base": base}
    for address in ("plan", "save"):
        answer = post(f"/topics/orders/definition/{address}/", "Admin", reason="second", **mine)
        assert answer.status_code == 409
        told = answer.json()
        assert told["code"] == "VersionConflict"
        assert (told["definition"]["weight"], told["definition"]["version"]) == (5, 2)
        assert (told["revision"]["who"], told["revision"]["reason"]) == ("editor", "first")
        assert {"field": "weight", "before": 1, "after": 5} in told["difference"]
    assert stored(queue).weight == 5
    assert AuditEntry.objects.filter(action="edit_topic", result="failed").count() == 1
    again = post("/topics/orders/definition/save/", "Admin", values={"weight": 6}, version=2, reason="on top")
    assert again.status_code == 200 and stored(queue).weight == 6


def test_an_edit_needs_a_reason_and_right_values(queue: Queue, post: Post) -> None:
    queue.topic()
    answer = post("/topics/orders/definition/save/", values={"weight": 2}, version=1, reason="  ")
    assert (answer.status_code, answer.json()["fields"][0]["field"]) == (422, "reason")
    answer = post("/topics/orders/definition/save/", values={"weight": 0, "merge": "x"}, version=1, reason="y")
    assert {each["field"] for each in answer.json()["fields"]} == {"weight", "merge"}
    assert version_of(queue) == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"values": {"weight": 2}, "reason": "x"},
        {"values": {"weight": 2}, "reason": "x", "version": "one"},
        {"values": {"weight": 2}, "reason": "x", "version": -1},
        {"values": {"weight": 2}, "reason": "x", "version": 2**70},
        {"values": [], "reason": "x", "version": 1},
        {"values": {"weight": 2}, "reason": "x" * 501, "version": 1},
        {"values": {"slots": 8}, "reason": "x", "version": 1},
        {"values": {"kind": "priority"}, "reason": "x", "version": 1},
        {"values": {"\ud800": 1}, "reason": "x", "version": 1},
    ],
)
def test_bad_edits_change_nothing(queue: Queue, post: Post, body: dict[str, Any]) -> None:
    queue.topic()
    answer = post("/topics/orders/definition/save/", **body)
    assert answer.status_code == 422, answer.content
    assert version_of(queue) == 1


def test_a_topic_deleted_meanwhile_is_not_brought_back(queue: Queue, post: Post) -> None:
    queue.topic()
    queue.control.delete_topic("orders")
    answer = post("/topics/orders/definition/save/", values={"weight": 2}, version=1, reason="x")
    assert (answer.status_code, answer.json()["code"]) == (404, "UnknownTopic")
    assert queue.inspector.topics() == []


def test_what_code_declares_never_overwrites_an_edit(queue: Queue, post: Post) -> None:
    declared = Topic("orders", TopicKind.FIXED_TIME, slots=4, weight=3)
    queue.client.define(declared)
    post("/topics/orders/definition/save/", values={"weight": 8, "paused": True}, version=1, reason="calmer")
    assert queue.client.define(declared).weight == 8
    assert (stored(queue).weight, stored(queue).paused, stored(queue).version) == (8, True, 2)


def test_creating_a_topic(queue: Queue, post: Post) -> None:
    values = {**defaults(), "name": "invoices", "kind": "priority", "slots": 8}
    plan = post("/define/plan/", values=values).json()["plan"]
    assert "can never be changed" in plan["lines"][1]["text"]
    assert queue.inspector.topics() == []
    answer = post("/define/save/", values=values, reason="")
    assert answer.json()["definition"]["version"] == 1
    queue.client.send("invoices", PriorityMessage("x", 20))
    for address in ("plan", "save"):
        taken = post(f"/define/{address}/", values=values)
        assert (taken.status_code, taken.json()["fields"][0]["field"]) == (422, "name")
    assert AuditEntry.objects.get(action="create_topic", result="done").topic == "invoices"
    assert history.page("invoices")[0].change == "created"
    assert post("/define/save/", values={"name": "a/b", "kind": "priority"}).status_code == 422


def test_rolling_back_makes_an_earlier_version_the_newest(queue: Queue, post: Post) -> None:
    queue.topic(weight=1)
    post("/topics/orders/definition/save/", values={"weight": 5}, version=1, reason="up")
    queue.control.pause("orders")
    first = TopicRevision.objects.get(topic="orders", version=1)
    body = {"revision": first.pk, "version": 3}
    plan = post("/topics/orders/definition/plan/", **body).json()["plan"]
    assert plan["difference"] == [{"field": "weight", "before": 5, "after": 1}]
    answer = post("/topics/orders/definition/rollback/", reason="too much", **body)
    assert answer.status_code == 200, answer.content
    assert (stored(queue).weight, stored(queue).version) == (1, 4)
    assert stored(queue).paused  # whether it is paused is about today
    newest = history.page("orders")[0]
    assert (newest.change, newest.username, newest.reason) == ("rolled_back", "editor", "too much")
    late = post("/topics/orders/definition/rollback/", reason="again", **body)
    assert late.status_code == 409


@pytest.mark.parametrize("revision", [None, 0, 10**15, "x"])
def test_rolling_back_to_nothing_is_refused(queue: Queue, post: Post, revision: Any) -> None:
    queue.topic()
    answer = post("/topics/orders/definition/rollback/", revision=revision, version=1, reason="x")
    assert answer.status_code == 422
    assert version_of(queue) == 1


def test_a_version_of_another_topic_is_not_rolled_back_to(queue: Queue, post: Post) -> None:
    queue.topic()
    queue.topic("other", weight=9)
    look(queue)
    other = TopicRevision.objects.get(topic="other")
    answer = post("/topics/orders/definition/rollback/", revision=other.pk, version=1, reason="x")
    assert answer.status_code == 422
    assert stored(queue).weight == 1


def test_pausing_is_in_the_history_with_who_and_why(queue: Queue, post: Post) -> None:
    queue.topic()
    post("/topics/orders/act/pause/", "Operator", reason="deploying")
    post("/topics/orders/act/pause/", "Admin", reason="no change")
    newest = history.page("orders")[0]
    assert (newest.version, newest.username, newest.reason) == (2, "operator", "deploying")
    assert newest.difference == [{"field": "paused", "before": False, "after": True}]


# -- deleting ----------------------------------------------------------------------------------------------------


def test_a_topic_with_messages_is_only_deleted_by_force_and_name(queue: Queue, post: Post) -> None:
    queue.topic()
    queue.delayed("a")
    queue.dead("b")
    address = "/topics/orders/definition/delete/"
    plan = post("/topics/orders/definition/plan/", "Admin", delete=True).json()
    assert plan["plan"]["lines"][0]["count"] == 2 and plan["force"] is None
    refused = post(address, "Admin", reason="old")
    assert (refused.status_code, refused.json()["code"]) == (422, "TopicNotEmpty")
    for confirm in (None, "", "order"):
        assert post(address, "Admin", reason="old", force=True, confirm=confirm).status_code == 422
    assert post(address, "Admin", reason=" ", force=True, confirm="orders").status_code == 422
    assert queue.inspector.topics()
    assert post(address, "Admin", reason="old", force=True, confirm="orders").json()["messages"] == 2
    assert queue.inspector.topics() == []
    entry = AuditEntry.objects.get(action="force_delete", result="done")
    assert (entry.detail["messages"], entry.reason) == (2, "old")
    newest = history.page("orders")[0]
    assert (newest.change, newest.username, newest.definition) == ("deleted", "admin", None)


def test_an_empty_topic_is_deleted_without_force(queue: Queue, post: Post) -> None:
    queue.topic()
    assert post("/topics/orders/definition/delete/", "Editor", reason="x").status_code == 403
    assert post("/topics/orders/definition/delete/", "Admin", reason="x").json()["messages"] == 0
    assert queue.inspector.topics() == []


# -- who may -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["Viewer", "Payload reader", "Operator"])
def test_who_may_not_edit_changes_nothing_and_leaves_a_trace(queue: Queue, post: Post, role: str) -> None:
    queue.topic()
    values = {"name": "new", "kind": "priority"}
    for address, body in (
        ("/topics/orders/definition/save/", {"values": {"weight": 2}, "version": 1}),
        ("/topics/orders/definition/rollback/", {"revision": 1, "version": 1}),
        ("/topics/orders/definition/delete/", {"force": True, "confirm": "orders"}),
        ("/define/save/", {"values": values}),
    ):
        answer = post(address, role, reason="x", **body)
        assert answer.status_code == 403, address
    assert [topic.name for topic in queue.inspector.topics()] == ["orders"] and version_of(queue) == 1
    assert AuditEntry.objects.filter(result="refused").count() == 4
    assert post("/topics/orders/definition/plan/", role, values={}, version=1).status_code == 403


# -- the history -------------------------------------------------------------------------------------------------


def test_changes_by_code_are_noted_when_first_seen(queue: Queue, db: None) -> None:
    queue.topic(weight=2)
    assert look(queue) == 1
    assert look(queue) == 0
    queue.control.put_topic(dataclasses.replace(stored(queue), weight=4), 1)
    assert look(queue) == 1
    newest, first = history.page("orders")
    assert (newest.via, newest.username, newest.change) == ("code", "", "edited")
    assert newest.difference == [{"field": "weight", "before": 2, "after": 4}]
    assert history.revision_json(newest)["by_code"]
    assert first.change == "created"


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.usefixtures("roles_come_back")
async def test_the_keeper_looks_by_itself(queue: Queue) -> None:
    engine, stop = new_async_engine(), asyncio.Event()
    watching = asyncio.create_task(watch_definitions(engine, stop))

    def rows() -> list[TopicRevision]:
        return history.page("orders")

    async def changes(expected: list[str]) -> None:
        async def seen() -> bool:
            return [row.change for row in await sync_to_async(rows)()] == expected

        await wait_until_async(seen, what=f"the history says {expected}")

    queue.topic()
    await changes(["created"])
    queue.control.pause("orders")
    await changes(["edited", "created"])
    queue.control.delete_topic("orders")
    await changes(["deleted", "edited", "created"])
    stop.set()
    await watching
    await engine.client.close()


def test_versions_that_nobody_saw_are_not_made_up(queue: Queue, db: None) -> None:
    queue.topic()
    for weight in (2, 3, 4):
        queue.control.put_topic(dataclasses.replace(stored(queue), weight=weight), weight - 1)
    look(queue)
    (only,) = history.page("orders")
    assert (only.version, only.change, only.difference) == (4, "found", [])


def test_a_deleted_topic_and_its_namesake_are_told_apart(queue: Queue, db: None) -> None:
    queue.topic(weight=2)
    look(queue)
    queue.control.delete_topic("orders")
    queue.inspector.now_ms()
    assert look(queue) == 1
    assert look(queue) == 0
    queue.topic(weight=7)
    look(queue)
    assert [(row.change, row.version) for row in history.page("orders")] == [
        ("created", 1),
        ("deleted", 1),
        ("created", 1),
    ]
    assert history.page("orders")[0].difference == []


def test_a_change_of_ours_that_the_keeper_saw_first_is_still_ours(
    queue: Queue, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.topic()
    record = history.record

    def seen_first(topic: Topic, *args: Any) -> Any:
        look(queue)
        return record(topic, *args)

    monkeypatch.setattr(history, "record", seen_first)
    post("/topics/orders/definition/save/", values={"weight": 2}, version=1, reason="mine")
    rows = [row for row in history.page("orders") if row.version == 2]
    assert [(row.username, row.reason, row.change) for row in rows] == [("editor", "mine", "edited")]


def test_a_topic_made_after_the_look_is_not_taken_for_gone(queue: Queue, db: None) -> None:
    at_ms = queue.inspector.now_ms()
    before = queue.inspector.topics()
    queue.topic()
    history.note(stored(queue))
    assert history.look(before, at_ms) == 0
    assert history.page("orders")[0].change == "created"


def test_the_history_is_paged(queue: Queue, post: Post, as_role: Callable[..., Client]) -> None:
    queue.topic()
    for weight in range(2, 27):
        queue.control.put_topic(dataclasses.replace(stored(queue), weight=weight), weight - 1)
        look(queue)
    browser = as_role("Viewer")
    first = browser.get("/topics/orders/data/definition/").json()
    assert [row["version"] for row in first["history"]] == list(range(26, 6, -1))
    rest = browser.get(f"/topics/orders/data/definition/?before={first['next']}").json()
    assert [row["version"] for row in rest["history"]] == list(range(6, 1, -1))
    assert rest["next"] is None
    assert browser.get("/topics/orders/data/definition/?before=999999999").status_code == 422
    assert browser.get("/topics/nosuch/data/definition/").status_code == 404


# -- pages -------------------------------------------------------------------------------------------------------


def test_the_admin_lists_definitions_and_leads_to_the_form(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic(description="<b>bold</b>")
    look(queue)
    browser = as_role("Viewer")
    listed = browser.get("/admin/console/topicdefinition/")
    assert listed.status_code == 200
    assert "/topics/orders/definition/" in listed.content.decode()
    assert "/define/" not in listed.content.decode()
    assert browser.get("/admin/console/topicdefinition/orders/change/")["Location"] == "/topics/orders/definition/"
    assert browser.get("/admin/console/topicdefinition/add/")["Location"] == "/define/"
    revisions = browser.get("/admin/console/topicrevision/")
    assert revisions.status_code == 200 and "orders" in revisions.content.decode()
    row = TopicRevision.objects.get()
    assert browser.get(f"/admin/console/topicrevision/{row.pk}/change/").status_code == 200
    assert "/define/" in as_role("Editor").get("/admin/console/topicdefinition/").content.decode()


def test_the_new_topic_page_begins_like_another(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic(weight=42, paused=True)
    browser = as_role("Editor")
    page = browser.get("/define/?like=orders").content.decode()
    assert '"weight": 42' in page and '"paused": false' in page
    assert browser.get("/define/?like=nosuch").status_code == 200
