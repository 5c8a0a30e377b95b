"""Routes over REST: defined, changed, paused, deleted, watched; dead letters moved by hand; run by the keeper."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from console.engine import new_async_engine
from console.keeper.forwarding import Forwarding
from console.keeper.problems import find_problems
from console.models import AuditEntry
from console.options import options
from console.snapshots.store import LiveKeys
from rmq_core import Route, RouteStatus, TopicKind
from tests.console.api.conftest import Caller
from tests.console.api.test_metrics import sample, scrape
from tests.console.conftest import Queue
from tests.support.waiting import PATIENCE_S

BODY = {"source": "orders", "targets": [{"topic": "events"}, {"topic": "mail", "priority": 50, "when": {"e": "f"}}]}


def topics(queue: Queue) -> None:
    queue.topic("orders", TopicKind.PRIORITY, slots=1)
    queue.topic("events", TopicKind.STREAM, slots=1)
    queue.topic("mail", TopicKind.PRIORITY, slots=1)


def made(queue: Queue, editor: Caller) -> None:
    topics(queue)
    assert editor("PUT", "/routes/orders-out?reason=wanted", BODY).status_code == 201


def test_a_route_is_defined_changed_and_deleted_by_version(queue: Queue, caller: Callable[..., Caller]) -> None:
    editor = caller("Admin")
    made(queue, editor)
    (found,) = editor.ok("GET", "/routes")["routes"]
    assert (found["name"], found["state"], found["waiting"], found["version"]) == ("orders-out", "idle", 0, 1)
    assert found["targets"][1] == {"topic": "mail", "priority": 50, "when": {"e": ["f"]}}
    assert editor("PUT", "/routes/orders-out", BODY).status_code == 428
    one = editor.get("/routes/orders-out")
    changed = BODY | {"targets": [{"topic": "events"}], "description": "all of it"}
    headers = {"If-Match": one["ETag"]}
    answer = editor("PUT", "/routes/orders-out", changed, **headers)
    assert (answer.status_code, answer.json()["version"]) == (200, 2)
    assert editor("PUT", "/routes/orders-out", BODY, **headers).status_code == 412
    by_rank = {"topic": "mail", "priority_from": "header:rank"}
    etag = editor.get("/routes/orders-out")["ETag"]
    answer = editor("PUT", "/routes/orders-out", BODY | {"targets": [by_rank]}, **{"If-Match": etag})
    assert (answer.status_code, answer.json()["targets"]) == (200, [by_rank])
    assert editor.ok("POST", "/routes/orders-out:pause", {"reason": "night"})["state"] == "paused"
    assert editor.ok("POST", "/routes/orders-out:resume", {})["paused"] is False
    assert editor("DELETE", "/routes/orders-out?reason=done").status_code == 204
    assert editor.get("/routes/orders-out").status_code == 404
    assert editor.ok("GET", "/routes")["routes"] == []
    kept = list(AuditEntry.objects.order_by("id").values_list("action", "topic", "result"))
    assert kept == [
        ("put_route", "orders", "done"),
        ("put_route", "orders", "done"),
        ("put_route", "orders", "done"),
        ("pause_route", "orders", "done"),
        ("resume_route", "orders", "done"),
        ("delete_route", "orders", "done"),
    ]


def test_what_makes_no_sense_or_is_not_allowed_is_refused(queue: Queue, caller: Callable[..., Caller]) -> None:
    editor = caller("Editor")
    topics(queue)
    for body, word in (
        ({"source": "orders", "targets": ["events"]}, "targets"),
        ({"source": "orders", "targets": [{"topic": "mail"}]}, "priority"),
        ({"source": "orders", "targets": [{"topic": "orders"}]}, "back to its source"),
        ({"source": "orders", "targets": [{"topic": "events", "key": "{nobody}"}]}, "nobody"),
        ({"source": "orders", "targets": [{"topic": "mail", "priority_from": "rank"}]}, "header:"),
        ({"source": "orders", "targets": [{"topic": "events", "priority_from": "header:rank"}]}, "does not fit"),
    ):
        answer = editor("PUT", "/routes/bad", body)
        assert (answer.status_code, word in answer.content.decode()) == (422, True), answer.content
    assert editor("PUT", "/routes/bad", {"source": "nosuch", "targets": [{"topic": "events"}]}).status_code == 404
    assert caller("Operator")("PUT", "/routes/orders-out", BODY).status_code == 403
    assert caller("Editor", "orders")("PUT", "/routes/orders-out", BODY).status_code == 403
    assert editor("PUT", "/routes/orders-out", BODY).status_code == 201
    narrow = caller("Operator", "orders\nevents")
    assert narrow.ok("GET", "/routes")["routes"] == []  # it leads to mail, too
    assert narrow.get("/routes/orders-out").status_code == 404
    assert narrow.post("/routes/orders-out:pause", {}).status_code == 404
    assert editor("DELETE", "/routes/orders-out?reason=x").status_code == 204


def test_dead_letters_are_moved_by_hand(queue: Queue, caller: Callable[..., Caller]) -> None:
    topics(queue)
    admin = caller("Admin")
    queue.client.send("orders", "poison", priority=20)
    queue.client.reject(queue.client.take("orders"))
    (dead,) = admin.ok("GET", "/topics/orders/dead")["rows"]
    wanted = [{"slot": dead["slot"], "id": dead["id"]}]
    to_mail = {"topic": "mail", "priority": 500, "key": "again/{id}"}
    gone = {"slot": 0, "id": "gone"}
    plan = {"messages": [*wanted, gone], "target": to_mail, "validate_only": True}
    planned = admin.ok("POST", "/topics/orders/dead:redrive", plan)
    assert [(each["status"], each["to_id"]) for each in planned["results"]] == [
        ("done", "again/poison"),
        ("not_found", None),
    ]
    to = '{"topic": "mail", "priority": 500, "key": "again/{id}"}'
    assert planned["command"] == f"rmq redrive orders poison gone --to '{to}'"
    plan["target"] = to_mail | {"key": "{header.flight}"}
    (refused, _) = admin.ok("POST", "/topics/orders/dead:redrive", plan)["results"]
    assert (refused["status"], "no header 'flight'" in refused["problem"]) == ("refused", True)
    assert len(admin.ok("GET", "/topics/orders/dead")["rows"]) == 1
    body = {"messages": wanted, "target": {"topic": "events"}, "reason": "looked into by hand"}
    assert admin.post("/topics/orders/dead:redrive", body | {"reason": " "}).status_code == 422
    assert caller("Operator").post("/topics/orders/dead:redrive", body).status_code == 403
    (result,) = admin.ok("POST", "/topics/orders/dead:redrive", body)["results"]
    assert (result["id"], result["status"]) == ("poison", "done")
    assert [entry.text for entry in queue.client.read("events").entries] == ["poison"]
    assert admin.ok("GET", "/topics/orders/dead")["rows"] == []
    assert AuditEntry.objects.filter(action="redrive", done=1).exists()


def test_what_keeps_a_route_is_a_problem() -> None:
    route = Route("r", "orders", ("events",))
    found = find_problems(
        [],
        None,
        [],
        10_000,
        routes=[
            RouteStatus(route, problem="full", waiting=3, runners=("keeper",)),
            RouteStatus(route, waiting=3),
            RouteStatus(route, waiting=0),
            RouteStatus(replace(route, paused=True), waiting=3, problem="full"),
        ],
    )
    assert [(each.code, each.values) for each in found] == [
        ("route_failing", {"route": "r", "problem": "full"}),
        ("route_idle", {"route": "r", "waiting": 3}),
    ]


def test_the_keeper_runs_routes(queue: Queue, caller: Callable[..., Caller]) -> None:
    admin = caller("Admin")
    made(queue, admin)
    queue.client.send("orders", "one", priority=20)

    async def keep() -> None:
        task = Forwarding(new_async_engine(), LiveKeys(options().namespace))
        async with asyncio.timeout(PATIENCE_S):
            while (await task.engine.inspector.routes())[0].forwarded == 0:
                await task.round()
                await asyncio.sleep(0.02)
        assert (await task.engine.inspector.routes())[0].state == "running"
        await task.close()
        await task.engine.client.close()

    asyncio.run(keep())
    assert [entry.text for entry in queue.client.read("events").entries] == ["one"]
    (found,) = admin.ok("GET", "/routes")["routes"]
    assert (found["forwarded"], found["state"], found["runners"]) == (1, "idle", [])
    sample(None)
    values = scrape(admin)
    assert values["rmq_route_forwarded_total", "route=orders-out"] == 1
    assert values["rmq_route_running", "route=orders-out"] == 0
    assert ("rmq_route_waiting", "route=orders-out") not in scrape(
        caller("Viewer", "orders")
    )  # it leads elsewhere, too
    assert admin("DELETE", "/routes/orders-out?reason=done").status_code == 204
