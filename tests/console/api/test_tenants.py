"""Whose messages are, and who causes the load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rmq_core import TopicKind
from tests.console.api.conftest import Caller, problem
from tests.console.api.test_metrics import sample, scrape
from tests.console.conftest import Queue

HOSTILE = '<b>"\u00e4\\'


def test_they_are_sent_seen_and_counted(queue: Queue, operator: Caller, settings: Any) -> None:
    queue.topic(kind=TopicKind.PRIORITY)
    queue.topic("quiet")
    sent = [{"content": f"m{n}", "priority": 20, "tenant": HOSTILE if n else "acme"} for n in range(4)]
    assert operator.ok("POST", "/topics/orders/messages", {"messages": sent})["sent"] == 4
    problem(operator.post("/topics/orders/messages", {**sent[0], "tenant": "x" * 65}), 422, "invalid")
    (message,) = operator.ok("GET", "/topics/orders/messages/m1")["messages"]
    assert message["tenant"] == HOSTILE
    (taken,) = operator.ok("POST", "/topics/orders:take", {})["deliveries"]
    found = operator.ok("GET", "/topics/orders/tenants")
    assert [(each["tenant"], each["sent_share"]) for each in found["tenants"]] == [(HOSTILE, 0.75), ("acme", 0.25)]
    assert [each["tenant"] for each in found["tenants"] if each["taken_share"]] == [taken["tenant"]]
    assert (found["over_s"], found["sent_s"] > 0) == (0, True)
    assert len(operator.ok("GET", "/topics/orders/tenants?limit=1")["tenants"]) == 1
    problem(operator.get("/topics/orders/tenants?limit=0"), 422, "invalid")
    sample(settings)
    metrics = scrape(operator)
    told = metrics["rmq_tenant_sent_per_second", f"tenant={HOSTILE},topic=orders"]
    assert told == pytest.approx(found["tenants"][0]["sent_s"], rel=0.1)
    assert not any("topic=quiet" in labels for name, labels in metrics if name.startswith("rmq_tenant"))


def test_all_of_one_tenant_are_cancelled(queue: Queue, operator: Caller) -> None:
    queue.topic(kind=TopicKind.PRIORITY)
    sent = [{"content": f"m{n}", "priority": 20, "tenant": HOSTILE if n else "acme"} for n in range(4)]
    operator.ok("POST", "/topics/orders/messages", {"messages": sent})
    wanted = {"filter": {"state": "ready", "tenant": HOSTILE}, "validate_only": True}
    assert operator.ok("POST", "/topics/orders/messages:cancel", wanted)["count"] == 3
    wanted["filter"] = {"state": "ready", "tenant": "x" * 65}
    problem(operator.post("/topics/orders/messages:cancel", wanted), 422, "invalid")


def test_a_scoped_token_sees_the_tenants_of_its_topics(
    queue: Queue, caller: Callable[..., Caller], settings: Any
) -> None:
    for name in ("orders", "billing"):
        queue.topic(name, TopicKind.PRIORITY)
        queue.client.send(name, "m", priority=20, tenant="acme")
    sample(settings)
    scoped = caller("Viewer", topics="bill*")
    seen = {labels for name, labels in scrape(scoped) if name == "rmq_tenant_sent_per_second"}
    assert seen == {"tenant=acme,topic=billing"}
    problem(scoped.get("/topics/orders/tenants"), 403, "out_of_scope")


def test_a_definition_says_where_they_are_read(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic(kind=TopicKind.PRIORITY)
    editor = caller("Editor")
    plan = editor.ok("PUT", "/topics/orders?validate_only=true", {"tenant_from": "key:/"})
    assert [line["field"] for line in plan["lines"]] == ["tenant_from"]
    assert editor("PUT", "/topics/orders?reason=x", {"tenant_from": "key:/"}, If_Match="*").status_code == 200
    problem(editor("PUT", "/topics/orders", {"tenant_from": "body:x"}, If_Match="*"), 422, "invalid")
    assert queue.inspector.topics()[0].tenant_from == "key:/"


def test_turns_are_told_and_edited(queue: Queue, caller: Callable[..., Caller], settings: Any) -> None:
    queue.topic(kind=TopicKind.PRIORITY)
    editor = caller("Editor")
    wanted = {"fair": True, "tenant_weights": "acme=3"}
    plan = editor.ok("PUT", "/topics/orders?validate_only=true", wanted)
    assert {line["field"] for line in plan["lines"]} == set(wanted)
    assert editor("PUT", "/topics/orders?reason=x", wanted, If_Match="*").status_code == 200
    problem(editor("PUT", "/topics/orders", {"tenant_weights": "acme"}, If_Match="*"), 422, "invalid")
    queue.topic("timed")
    problem(editor("PUT", "/topics/timed", {"fair": True}, If_Match="*"), 422, "invalid")
    for n in range(3):
        queue.client.send("orders", f"m{n}", priority=20, tenant=HOSTILE if n else "acme")
    found = editor.ok("GET", "/topics/orders/tenants")
    assert (found["fair"], found["without_turn"]) == (True, 0)
    assert {each["tenant"]: (each["weight"], each["waiting"], each["share"]) for each in found["turns"]} == {
        "acme": (3, 1, 0.75),
        HOSTILE: (1, 2, 0.25),
    }
    sample(settings)
    metrics = scrape(editor)
    assert metrics["rmq_tenant_waiting", f"tenant={HOSTILE},topic=orders"] == 2


def test_limits_are_told_and_edited(queue: Queue, caller: Callable[..., Caller]) -> None:
    queue.topic(kind=TopicKind.PRIORITY, fair=True)
    for n in range(3):
        queue.client.send("orders", f"m{n}", priority=20, tenant="acme" if n else "globex")
    editor = caller("Editor")
    wanted = {"tenant_limits": "acme=held, globex=5/min 2 at once"}
    plan = editor.ok("PUT", "/topics/orders?validate_only=true", wanted)
    assert [(line["field"], line["severity"]) for line in plan["lines"]] == [("tenant_limits", "caution")]
    assert editor("PUT", "/topics/orders?reason=x", wanted, If_Match="*").status_code == 200
    for bad in ("acme", "acme=3", "acme=0/s"):
        problem(editor("PUT", "/topics/orders", {"tenant_limits": bad}, If_Match="*"), 422, "invalid")
    turns = {each["tenant"]: each for each in editor.ok("GET", "/topics/orders/tenants")["turns"]}
    told = {tenant: (each["limit"], each["capped"], each["share"]) for tenant, each in turns.items()}
    assert told == {"acme": ("held", True, 0), "globex": ("5/min 2 at once", False, 1)}
    assert [each.tenant for each in queue.client.take("orders", 3)] == ["globex"]
