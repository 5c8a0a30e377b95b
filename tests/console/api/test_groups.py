"""Consumer groups over REST: listed, taken from, settled; their dead letters are their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from console.engine import new_async_engine
from console.keeper.sampler import Sampler
from console.models import AuditEntry
from console.options import options
from console.snapshots.store import LiveKeys
from console.usecases import groups as usecase
from console.usecases.actor import Actor
from rmq_core import Control, TopicKind
from rmq_core.errors import VersionConflict
from rmq_core.model.group import Group
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue


def events(queue: Queue, *groups: str, **settings: int) -> None:
    queue.topic("events", TopicKind.STREAM, slots=1, **settings)
    for group in groups:
        queue.client.define_group("events", group)
    queue.client.send_many("events", ["a", "b", "c"])


def test_groups_are_listed_with_what_they_stand_at(
    queue: Queue, operator: Caller, caller: Callable[..., Caller]
) -> None:
    events(queue, "mail", "statistics")
    queue.client.ack(queue.client.take("events@mail"))
    mail, statistics = operator.ok("GET", "/topics/events/groups")["groups"]
    assert (mail["group"], mail["lag"], mail["acked"], mail["in_flight"]) == ("mail", 2, 1, 0)
    assert (statistics["name"], statistics["lag"], statistics["read"], statistics["durable"]) == (
        "events@statistics", 3, 0, True,
    )  # fmt: skip
    assert operator.get("/topics/nosuch/groups").status_code == 404
    assert caller("Operator", "orders").get("/topics/events/groups").status_code == 403
    assert caller("Operator", "events").get("/topics/events@mail").status_code == 403
    assert caller("Viewer", "events*").ok("GET", "/topics/events@mail")["counts"]["counters"]["acked"] == 1
    assert operator.get("/topics/events@nosuch").status_code == 404


def test_a_group_is_taken_from_and_its_dead_letters_are_its_own(queue: Queue, caller: Callable[..., Caller]) -> None:
    events(queue, "mail", "statistics")
    program = caller("Operator")
    taken = program.ok("POST", "/topics/events@mail:take", {"max": 2})["deliveries"]
    assert [each["content"] for each in taken] == ["a", "b"]
    outcomes = [{"receipt": each["receipt"], "outcome": how} for each, how in zip(taken, ("ack", "nack"), strict=True)]
    assert program.ok("POST", "/topics/events@mail:settle", {"settle": outcomes})["done"] == 2
    (dead,) = program.ok("GET", "/topics/events@mail/dead")["rows"]
    assert dead["id"] == taken[1]["id"]
    assert program.ok("GET", "/topics/events@statistics/dead")["rows"] == []
    body = {"ids": [dead["id"]], "reason": "mended"}
    assert program.ok("POST", "/topics/events@mail/dead:requeue", body)["done"] == 1
    (again,) = program.ok("POST", "/topics/events@mail:take", {"max": 1})["deliveries"]
    assert again["id"] == dead["id"]
    assert program.post("/topics/events@mail:pause").status_code == 200
    assert program.ok("POST", "/topics/events@mail:take", {"max": 1})["deliveries"] == []


def test_groups_are_made_changed_and_deleted(queue: Queue, caller: Callable[..., Caller]) -> None:
    events(queue)
    admin, editor, operator = caller("Admin"), caller("Editor"), caller("Operator")
    path = "/topics/events/groups/mail"
    problem(operator("PUT", path, {}), 403, "forbidden")
    made = editor("PUT", path, {"start": "end", "waits": True, "max_retries": 3, "reason": "letters"})
    assert (made.status_code, made["Location"]) == (201, f"/api/v1{path}")
    assert (made.json()["lag"], made.json()["waits"], made.json()["own"]) == (0, True, ["max_retries"])
    changed = editor.ok("PUT", path, {"max_retries": None, "weight": 7})
    assert (changed["own"], changed["settings"]["weight"], changed["settings"]["max_retries"]) == (["weight"], 7, 0)
    assert operator.ok("GET", path)["start"] == "end"
    problem(editor("PUT", path, {"durable": False}), 422, "invalid")
    problem(editor("PUT", path, {"max_retries": 99}), 422, "invalid_topic")
    problem(editor("PUT", "/topics/events/groups/other", {"start": "yesterday"}), 422, "invalid")
    problem(operator.get("/topics/events/groups/nosuch"), 404, "unknown_group")
    problem(caller("Editor", "events@other*")("PUT", path, {"weight": 1}), 403, "out_of_scope")
    queue.client.send("events", "d")
    queue.client.take("events@mail")
    plan = admin.ok("DELETE", f"{path}?validate_only=true")
    assert (plan["severity"], plan["lines"][0]["count"]) == ("danger", 1)
    problem(editor("DELETE", f"{path}?reason=x"), 403, "forbidden")
    problem(admin("DELETE", f"{path}?reason=x"), 409, "topic_not_empty")
    assert admin.ok("DELETE", f"{path}?reason=x&force=true") == {"messages": 1}
    entries = AuditEntry.objects.filter(topic="events@mail", result="done").order_by("at")
    assert [entry.action for entry in entries] == ["create_group", "edit_group", "delete_group"]


def test_a_group_is_changed_and_deleted_as_it_was_seen(queue: Queue, caller: Callable[..., Caller]) -> None:
    events(queue)
    admin, path = caller("Admin"), "/topics/events/groups/mail"
    problem(admin("PUT", path, {}, If_Match='"1-1"'), 412, "no_such_version")
    first = admin("PUT", path, {"weight": 2})["ETag"]
    second = admin("PUT", path, {"weight": 3}, If_Match=first)["ETag"]
    assert admin.get(path)["ETag"] == second == admin.ok("GET", path)["etag"] != first
    problem(admin("PUT", path, {"weight": 4}, If_Match=first), 412, "changed_meanwhile")
    problem(admin("DELETE", f"{path}?reason=x", If_Match=first), 412, "changed_meanwhile")
    assert admin("PUT", path, {"weight": 5}, If_Match="*").status_code == 200
    assert admin.ok("PUT", path, {"weight": 6})["settings"]["weight"] == 6, "as before without"
    seen = queue.client.topic("events@mail")
    queue.client.forget("events@mail")
    admin.ok("DELETE", f"{path}?reason=x")
    assert admin("PUT", path, {}).status_code == 201
    with pytest.raises(VersionConflict):
        Control(queue.client).change_group("events@mail", seen=seen, weight=7)
    with pytest.raises(VersionConflict):
        Control(queue.client).delete_topic("events@mail", seen=seen)
    assert admin.ok("GET", path)["own"] == []


def test_a_group_is_made_once(queue: Queue, caller: Callable[..., Caller], monkeypatch: pytest.MonkeyPatch) -> None:
    events(queue)
    admin, path = caller("Admin"), "/topics/events/groups/mail"
    made = admin("PUT", path, {"weight": 2}, If_None_Match="*")
    assert made.status_code == 201
    problem(admin("PUT", path, {"weight": 3}, If_None_Match="*"), 412, "group_exists")
    problem(admin("PUT", path, {"weight": 3}, If_None_Match=made["ETag"]), 412, "group_exists")
    problem(admin("PUT", path, {"weight": 3}, If_None_Match="x"), 422, "invalid")
    assert admin.ok("GET", path)["settings"]["weight"] == 2

    # Somebody else makes it between the look and the making.
    known = usecase.make
    for name, headers, status in (("a", {"If_None_Match": "*"}, 412), ("b", {}, 200)):
        others: list[int] = []

        def make(actor: Actor, group: str, *values: Any, others: list[int] = others) -> Group:
            if not others:
                others.append(0)
                known(actor, group, "start", {"weight": 5})
            return known(actor, group, *values)

        monkeypatch.setattr(usecase, "make", make)
        answer = admin("PUT", f"/topics/events/groups/{name}", {"max_retries": 4}, **headers)
        assert answer.status_code == status, answer.content
        settings = admin.ok("GET", f"/topics/events/groups/{name}")["settings"]
        assert (settings["weight"], settings["max_retries"] == 4) == (5, status == 200)


def test_a_position_is_planned_then_set(queue: Queue, operator: Caller) -> None:
    events(queue, "mail")
    for delivery in queue.client.take("events@mail", 2):
        queue.client.ack(delivery)
    path = "/topics/events/groups/mail:move"
    plan = operator.ok("POST", path, {"to": "start", "validate_only": True})
    (slot,) = plan["slots"]
    assert (slot["lag_before"], slot["lag"], slot["behind"]) == (1, 3, "0-0")
    assert (plan["again"], plan["skipped"], plan["command"]) == (2, 0, "rmq position events@mail start")
    assert queue.inspector.sample(["events@mail"])[0].lag == 1
    problem(operator.post(path, {"to": "start"}), 422, "invalid")
    problem(operator.post(path, {"to": "start", "slots": [1], "validate_only": True}), 422, "bad_request")
    problem(operator.post(path, {"to": "yesterday", "reason": "x"}), 422, "invalid")
    assert operator.ok("POST", path, {"to": "start", "slots": [0], "reason": "wrong sums"})["lag"] == 3
    assert queue.inspector.sample(["events@mail"])[0].lag == 3
    assert operator.ok("POST", path, {"to": slot["behind_before"], "reason": "back"})["skipped"] == 2
    entry = AuditEntry.objects.filter(action="move_group").latest("at")
    assert (entry.result, entry.detail["slots"][0]["lag"]) == ("done", 1)


def test_who_has_what_is_shown_and_claimed(queue: Queue, operator: Caller) -> None:
    events(queue, "mail")
    (taken,) = operator.ok("POST", "/topics/events@mail:take", {"member": "anna"})["deliveries"]
    (acked,) = operator.ok("POST", "/topics/events@mail:take", {"member": "bert"})["deliveries"]
    body = {"settle": [{"receipt": acked["receipt"]}], "member": "bert"}
    assert operator.ok("POST", "/topics/events@mail:settle", body)["done"] == 1
    anna, bert = operator.ok("GET", "/topics/events/groups/mail/members")["members"]
    assert (anna["name"], anna["in_flight"], anna["slots"], anna["alive"]) == ("anna", 1, "0", None)
    assert (bert["in_flight"], bert["taken"], bert["acked"]) == (0, 1, 1)
    path = "/topics/events/groups/mail:claim"
    plan = operator.ok("POST", path, {"member": "anna", "validate_only": True})
    assert (plan["entries"], plan["command"]) == (1, "rmq claim events@mail 'anna'")
    problem(operator.post(path, {"member": "anna"}), 422, "invalid")
    assert operator.ok("POST", path, {"member": "anna", "reason": "she went home"})["entries"] == 1
    (again,) = operator.ok("POST", "/topics/events@mail:take", {"member": "bert"})["deliveries"]
    assert (again["id"], again["attempt"]) == (taken["id"], 1)
    stale = operator.ok("POST", "/topics/events@mail:settle", {"settle": [{"receipt": taken["receipt"]}]})
    assert stale["stale"] == 1
    queue.topic()
    problem(operator.post("/topics/orders:take", {"member": "anna"}), 422, "invalid")


def test_a_group_is_paused_until_a_time(queue: Queue, operator: Caller) -> None:
    events(queue, "mail")
    now_ms = queue.inspector.now_ms()
    problem(operator.post("/topics/events@mail:pause", {"until_ms": now_ms - 1}), 422, "bad_request")
    queue.topic()
    problem(operator.post("/topics/orders:pause", {"until_ms": now_ms + 60_000}), 422, "wrong_kind")
    operator.ok("POST", "/topics/events@mail:pause", {"until_ms": now_ms + 60_000})
    line = operator.ok("GET", "/topics/events/groups/mail")
    assert (line["paused"], line["paused_until_ms"]) == (True, now_ms + 60_000)
    assert operator.ok("POST", "/topics/events@mail:take", {})["deliveries"] == []
    operator.ok("POST", "/topics/events@mail:resume", {})
    assert len(operator.ok("POST", "/topics/events@mail:take", {})["deliveries"]) == 1


def test_the_keeper_puts_back_what_a_group_left(queue: Queue) -> None:
    events(queue, "mail", visibility_timeout_ms=100)
    queue.client.take("events@mail")

    async def rounds() -> dict[str, int]:
        own = new_async_engine()
        sampler = Sampler(own, LiveKeys(options().namespace), 1000, 10_000)
        reaped: dict[str, int] = {}
        while not reaped:
            reaped = (await sampler.round()).reaped
        await own.client.close()
        return reaped

    assert asyncio.run(rounds()) == {"events@mail": 1}
