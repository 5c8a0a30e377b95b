"""Whatever is made or begun by a request is found at the address that its answer names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from console.models import AlertRule, Finding, Operation, Reconciliation
from rmq_core import TopicKind
from rmq_core.protocol.keys import slot_for
from tests.console.api.conftest import Caller, openapi
from tests.console.conftest import Queue

REASON = {"reason": "a test"}
DELAYED = {"filter": {"state": "delayed"}, **REASON}
DEAD = {"filter": {}, **REASON}


def dropped() -> Operation:
    made: Operation = Operation.objects.create(
        action="drop", topic="orders", state="done", done=1, finished=timezone.now(), username="somebody"
    )
    return made


def run() -> Reconciliation:
    made: Reconciliation = Reconciliation.objects.create(state="done", kind="reconcile", topics=["orders"])
    about = {"kind": "not_done", "repair": "requeue_dead", "topic": "orders"}
    Finding.objects.create(run=made, **about, slot=slot_for(b"d", 4), ident="d")
    return made


STARTED: dict[tuple[str, str], tuple[str | Callable[[], str], Any]] = {
    ("PUT", "/topics/{topic}"): ("/topics/new", {"kind": "fixed-time", "slots": 4}),
    ("PUT", "/topics/{topic}/groups/{group}"): ("/topics/events/groups/mail", {}),
    ("PUT", "/routes/{name}"): ("/routes/r", {"source": "orders", "targets": [{"topic": "events"}]}),
    ("POST", "/topics/{topic}/dead:requeue"): ("/topics/orders/dead:requeue", DEAD),
    ("POST", "/topics/{topic}/dead:drop"): ("/topics/orders/dead:drop", {**DEAD, "confirm": "orders"}),
    ("POST", "/topics/{topic}/dead:resend"): (
        "/topics/orders/dead:resend", {"slot": slot_for(b"d", 4), "id": "d", "content": "b", **REASON},
    ),
    ("POST", "/topics/{topic}/messages:cancel"): (
        "/topics/orders/messages:cancel", {**DELAYED, "confirm": "orders"},
    ),
    ("POST", "/topics/{topic}/messages:run"): ("/topics/orders/messages:run", DELAYED),
    ("POST", "/topics/{topic}/messages:reschedule"): (
        "/topics/orders/messages:reschedule", {**DELAYED, "delay_ms": 60_000},
    ),
    ("POST", "/topics/{topic}/messages:restore"): (
        "/topics/orders/messages:restore", {**DEAD, "confirm": "orders"},
    ),
    ("POST", "/operations/{operation}:undo"): (lambda: f"/operations/{dropped().pk}:undo", REASON),
    ("POST", "/reconciliations"): ("/reconciliations", {}),
    ("POST", "/reconciliations/schedules"): ("/reconciliations/schedules", {"every_ms": 3_600_000, **REASON}),
    ("POST", "/reconciliations/{ident}:repair"): (
        lambda: f"/reconciliations/{run().pk}:repair", {"repair": "requeue_dead", **REASON},
    ),
    ("POST", "/recurring"): (
        "/recurring",
        {"name": "n", "topic": "orders", "content": "x", "when": "in_ms", "value": 0, "every_ms": 60_000},
    ),
    ("POST", "/alerts/rules"): ("/alerts/rules", {"name": "n", "problem": "dead"}),
    ("POST", "/alerts/silences"): ("/alerts/silences", {"for_ms": 60_000, **REASON}),
    ("POST", "/alerts/receivers"): ("/alerts/receivers", {"name": "n", "address": "https://n.test/"}),
    ("POST", "/screens"): ("/screens", {"name": "n", "panels": "alerts"}),
    ("POST", "/views"): ("/views", {"name": "n", "address": "", "shared": True}),
}  # fmt: skip
"""For each such route, a request that is answered so."""


def test_every_such_route_is_here() -> None:
    found = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, ways in openapi()["paths"].items()
        for method, about in ways.items()
        if {201, 202} & {int(status) for status in about["responses"]}
    }
    assert found == set(STARTED)


@pytest.mark.parametrize("key", sorted(STARTED))
def test_its_location_leads_there(queue: Queue, caller: Callable[..., Caller], key: tuple[str, str]) -> None:
    queue.topic()
    queue.topic("events", TopicKind.STREAM, slots=1)
    queue.dead("d")
    for ident in ("a", "gone"):
        queue.delayed(ident)
    queue.control.cancel("orders", ["gone"])
    path, body = STARTED[key]
    admin = caller("Admin")
    answer = admin(key[0], path if isinstance(path, str) else path(), body)
    assert answer.status_code in (201, 202), answer.content
    found = admin.get(answer["Location"].removeprefix("/api/v1"))
    assert found.status_code == 200, found.content


def test_it_is_what_was_made(queue: Queue, caller: Callable[..., Caller]) -> None:
    admin = caller("Admin")
    for path in ("/alerts/rules", "/alerts/silences", "/alerts/receivers", "/screens", "/views"):
        made = admin.post(path, STARTED["POST", path][1])
        assert admin.ok("GET", made["Location"].removeprefix("/api/v1")) == json.loads(made.content)


def test_one_is_seen_by_whom_the_list_shows_it(queue: Queue, caller: Callable[..., Caller]) -> None:
    editor, scoped = caller("Editor"), caller("Viewer", "mail")
    AlertRule.objects.all().delete()
    for topics, status in (("orders", 404), ("mail", 200)):
        rule = editor.post("/alerts/rules", {"name": topics, "problem": "dead", "topics": topics})
        silence = editor.post("/alerts/silences", {"for_ms": 60_000, "topics": topics, **REASON})
        view = editor.post("/views", {"name": topics, "address": f"topics/{topics}/", "shared": True})
        for made in (rule, silence, view):
            assert scoped.get(made["Location"].removeprefix("/api/v1")).status_code == status, made["Location"]
