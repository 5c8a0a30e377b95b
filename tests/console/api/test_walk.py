"""Every REST route with every role, and with none. One that is added has to be added here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from console.access import NEEDED, ROLES, Action, Permission
from rmq_core import TopicKind
from tests.console.api.conftest import Caller, make_token, openapi, problem
from tests.console.conftest import Queue

REASON = {"reason": "a test"}
NONE = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Route:
    """What a route needs, and a request that a caller who has it is not refused for its form."""

    needs: Permission | Action | None
    path: str
    body: Any = None
    also: Permission | None = None

    @property
    def permissions(self) -> set[Permission]:
        found = {NEEDED[self.needs] if isinstance(self.needs, Action) else self.needs, self.also}
        return {each for each in found if each is not None}


VIEW, READ, OPERATE = Permission.VIEW, Permission.READ_PAYLOAD, Permission.OPERATE
NO_RUN = "6f1d7d3e-0000-4000-8000-000000000001"
ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/me"): Route(None, "/me"),
    ("GET", "/me/preferences"): Route(None, "/me/preferences"),
    ("PUT", "/me/preferences"): Route(None, "/me/preferences", {"time_zone": "Asia/Tokyo", "numbers": "1.234,5"}),
    ("GET", "/topics"): Route(VIEW, "/topics"),
    ("GET", "/topics/{topic}"): Route(VIEW, "/topics/orders"),
    ("PUT", "/topics/{topic}"): Route(Action.EDIT_TOPIC, "/topics/orders", {"weight": 2}),
    ("DELETE", "/topics/{topic}"): Route(Action.DELETE_TOPIC, "/topics/orders?reason=x"),
    ("GET", "/topics/{topic}/revisions"): Route(VIEW, "/topics/orders/revisions"),
    ("POST", "/topics/{topic}:rollback"): Route(
        Action.EDIT_TOPIC, "/topics/orders:rollback", {"revision": 1, **REASON}
    ),
    ("GET", "/topics/{topic}/slots"): Route(VIEW, "/topics/orders/slots"),
    ("GET", "/topics/{topic}/slots/{slot}"): Route(VIEW, "/topics/orders/slots/0"),
    ("GET", "/topics/{topic}/forecast"): Route(VIEW, "/topics/orders/forecast?unit=hours"),
    ("GET", "/topics/{topic}/tenants"): Route(VIEW, "/topics/orders/tenants?limit=5"),
    ("GET", "/topics/{topic}/bands"): Route(VIEW, "/topics/orders/bands?slot=0"),
    ("GET", "/topics/{topic}/why"): Route(VIEW, "/topics/orders/why"),
    ("GET", "/topics/{topic}/why/{id}"): Route(VIEW, "/topics/orders/why/a"),
    ("GET", "/topics/{topic}/holds"): Route(VIEW, "/topics/orders/holds"),
    ("POST", "/topics/{topic}/holds"): Route(Action.HOLD, "/topics/orders/holds", {"id": "a", **REASON}),
    ("POST", "/topics/{topic}/holds/{ref}:lift"): Route(Action.LIFT, "/topics/orders/holds/0-1:lift", {}),
    ("GET", "/topics/{topic}/order"): Route(VIEW, "/topics/orders/order"),
    ("POST", "/topics/{topic}/order:skip"): Route(
        Action.SKIP, "/topics/orders/order:skip", {"key": "a", "instead_of": 1, **REASON}
    ),
    ("POST", "/topics/{topic}/slots:pin"): Route(
        Action.PIN, "/topics/orders/slots:pin", {"worker": "w", "slots": "0", **REASON}
    ),
    ("POST", "/topics/{topic}/slots:unpin"): Route(Action.UNPIN, "/topics/orders/slots:unpin", {"slots": "0"}),
    ("POST", "/topics/{topic}:pause"): Route(Action.PAUSE, "/topics/orders:pause", {}),
    ("POST", "/topics/{topic}:resume"): Route(Action.RESUME, "/topics/orders:resume", {}),
    ("POST", "/topics/{topic}/dead:acknowledge"): Route(Action.ACKNOWLEDGE, "/topics/orders/dead:acknowledge", {}),
    ("POST", "/problems/data-lost:accept"): Route(
        Action.ACCEPT_DATA, "/problems/data-lost:accept", {"found_ms": 1, **REASON}
    ),
    ("POST", "/topics/{topic}:unfence"): Route(Action.UNFENCE, "/topics/orders:unfence", REASON),
    ("POST", "/topics/{topic}/dead:resend"): Route(
        Action.SEND, "/topics/orders/dead:resend", {"slot": 0, "id": "a", "content": "b", **REASON}, also=READ
    ),
    ("GET", "/topics/{topic}/dead:export"): Route(READ, "/topics/orders/dead:export"),
    ("POST", "/topics/{topic}/messages"): Route(
        Action.SEND, "/topics/orders/messages", {"content": "a", "delay_ms": 60_000}
    ),
    ("POST", "/sets/{name}"): Route(
        Action.SEND,
        "/sets/s",
        {
            "messages": [{"topic": "orders", "content": "a", "in_ms": 60_000}],
            "if_done": {"topic": "orders", "content": "b", "in_ms": 60_000},
        },
    ),
    ("POST", "/topics/{topic}:take"): Route(OPERATE, "/topics/orders:take", {}, also=READ),
    ("POST", "/topics/{topic}:settle"): Route(
        OPERATE, "/topics/orders:settle", {"settle": [{"receipt": "x"}]}, also=READ
    ),
    ("POST", "/topics/{topic}:tell"): Route(
        OPERATE, "/topics/orders:tell", {"tell": [{"receipt": "x", "log": "a"}]}, also=READ
    ),
    ("GET", "/topics/{topic}/messages"): Route(VIEW, "/topics/orders/messages?state=delayed"),
    ("GET", "/topics/{topic}/messages:search"): Route(READ, "/topics/orders/messages:search?text=x"),
    ("GET", "/topics/{topic}/messages:find"): Route(VIEW, "/topics/orders/messages:find?id=a"),
    ("GET", "/topics/{topic}/report/{id}"): Route(VIEW, "/topics/orders/report/a"),
    ("GET", "/topics/{topic}/biography/{id}"): Route(VIEW, "/topics/orders/biography/a"),
    ("GET", "/topics/{topic}/history"): Route(VIEW, "/topics/orders/history?from=1&to=3600000"),
    ("GET", "/topics/{topic}/history:export"): Route(VIEW, "/topics/orders/history:export"),
    ("GET", "/topics/{topic}/history/moment"): Route(VIEW, "/topics/orders/history/moment?at=2026-01-01T00:00:00Z"),
    ("GET", "/topics/{topic}/history/owners"): Route(VIEW, "/topics/orders/history/owners?from=1&to=3600000"),
    ("GET", "/topics/{topic}/history/markers"): Route(VIEW, "/topics/orders/history/markers?from=1&to=3600000"),
    ("GET", "/topics/{topic}/windows"): Route(VIEW, "/topics/orders/windows?from=1&to=3600000"),
    ("GET", "/history"): Route(VIEW, "/history"),
    ("GET", "/topics/{topic}/ownership"): Route(VIEW, "/topics/orders/ownership"),
    ("GET", "/topics/{topic}/messages/{id}"): Route(VIEW, "/topics/orders/messages/a"),
    ("DELETE", "/topics/{topic}/messages/{id}"): Route(Action.CANCEL, "/topics/orders/messages/a"),
    ("POST", "/topics/{topic}/messages/{id}:run"): Route(Action.RUN_NOW, "/topics/orders/messages/a:run", {}),
    ("POST", "/topics/{topic}/messages/{id}:reschedule"): Route(
        Action.RESCHEDULE, "/topics/orders/messages/a:reschedule", {"delay_ms": 60_000}
    ),
    ("POST", "/topics/{topic}/messages/{id}:restore"): Route(Action.RESTORE, "/topics/orders/messages/a:restore", {}),
    ("GET", "/topics/{topic}/content/{id}"): Route(READ, "/topics/orders/content/a"),
    ("GET", "/topics/{topic}/archived/{id}"): Route(VIEW, "/topics/orders/archived/a"),
    ("GET", "/topics/{topic}/timeline/{id}"): Route(VIEW, "/topics/orders/timeline/a"),
    ("GET", "/topics/{topic}/records"): Route(VIEW, "/topics/orders/records"),
    ("GET", "/topics/{topic}/dead"): Route(VIEW, "/topics/orders/dead"),
    ("GET", "/topics/{topic}/clusters"): Route(VIEW, "/topics/orders/clusters"),
    ("POST", "/topics/{topic}/dead:requeue"): Route(
        Action.REQUEUE, "/topics/orders/dead:requeue", {"ids": ["a"], **REASON}
    ),
    ("POST", "/topics/{topic}/dead:drop"): Route(Action.DROP, "/topics/orders/dead:drop", {"ids": ["a"], **REASON}),
    ("POST", "/topics/{topic}/messages:cancel"): Route(
        Action.CANCEL, "/topics/orders/messages:cancel", {"ids": ["a"], **REASON}
    ),
    ("POST", "/topics/{topic}/messages:run"): Route(
        Action.RUN_NOW, "/topics/orders/messages:run", {"ids": ["a"], **REASON}
    ),
    ("POST", "/topics/{topic}/messages:reschedule"): Route(
        Action.RESCHEDULE, "/topics/orders/messages:reschedule", {"ids": ["a"], "delay_ms": 60_000, **REASON}
    ),
    ("POST", "/topics/{topic}/messages:restore"): Route(
        Action.RESTORE, "/topics/orders/messages:restore", {"ids": ["a"], **REASON}
    ),
    ("GET", "/topics/{topic}/groups"): Route(VIEW, "/topics/events/groups"),
    ("GET", "/topics/{topic}/groups/{group}"): Route(VIEW, "/topics/events/groups/mail"),
    ("PUT", "/topics/{topic}/groups/{group}"): Route(Action.EDIT_GROUP, "/topics/events/groups/mail", {"weight": 2}),
    ("DELETE", "/topics/{topic}/groups/{group}"): Route(
        Action.DELETE_GROUP, "/topics/events/groups/mail?reason=x&force=true"
    ),
    ("POST", "/topics/{topic}/groups/{group}:move"): Route(
        Action.MOVE_GROUP, "/topics/events/groups/mail:move", {"to": "end", **REASON}
    ),
    ("GET", "/topics/{topic}/groups/{group}/members"): Route(VIEW, "/topics/events/groups/mail/members"),
    ("POST", "/topics/{topic}/groups/{group}:claim"): Route(
        Action.CLAIM, "/topics/events/groups/mail:claim", {"member": "anna", **REASON}
    ),
    ("GET", "/topics/{topic}/entries"): Route(VIEW, "/topics/events/entries"),
    ("GET", "/topics/{topic}/entries/{entry_id}"): Route(VIEW, "/topics/events/entries/1-1"),
    ("GET", "/topics/{topic}/entries/{entry_id}/content"): Route(READ, "/topics/events/entries/1-1/content"),
    ("DELETE", "/topics/{topic}/entries/{entry_id}"): Route(
        Action.DELETE_ENTRIES, "/topics/events/entries/1-1?reason=x"
    ),
    ("POST", "/topics/{topic}:trim"): Route(Action.TRIM, "/topics/events:trim", REASON),
    ("GET", "/operations"): Route(VIEW, "/operations"),
    ("GET", "/operations/{operation}"): Route(VIEW, f"/operations/{NONE}"),
    ("GET", "/operations/{operation}/report"): Route(VIEW, f"/operations/{NONE}/report"),
    ("POST", "/operations/{operation}:stop"): Route(VIEW, f"/operations/{NONE}:stop"),
    ("POST", "/operations/{operation}:resume"): Route(VIEW, f"/operations/{NONE}:resume"),
    ("POST", "/operations/{operation}:undo"): Route(VIEW, f"/operations/{NONE}:undo", REASON),
    ("GET", "/recurring"): Route(VIEW, "/recurring"),
    ("POST", "/recurring"): Route(
        Action.RECURRING,
        "/recurring",
        {"name": "n", "topic": "orders", "content": "x", "when": "in_ms", "value": 0, "every_ms": 60_000},
    ),
    ("GET", "/recurring/{name}"): Route(VIEW, "/recurring/none"),
    ("PATCH", "/recurring/{name}"): Route(Action.RECURRING, "/recurring/none", {"enabled": False}),
    ("DELETE", "/recurring/{name}"): Route(Action.RECURRING, "/recurring/none?reason=x"),
    ("POST", "/recurring/{name}:run"): Route(Action.RUN_RECURRING, "/recurring/none:run", {}),
    ("GET", "/recurring/{name}/ticks"): Route(VIEW, "/recurring/none/ticks"),
    ("GET", "/alerts"): Route(VIEW, "/alerts"),
    ("GET", "/alerts/rules"): Route(VIEW, "/alerts/rules"),
    ("POST", "/alerts/rules"): Route(Action.ALERT_RULE, "/alerts/rules", {"name": "n", "problem": "dead"}),
    ("POST", "/alerts/rules:preview"): Route(VIEW, "/alerts/rules:preview", {"problem": "dead"}),
    ("GET", "/alerts/rules/{name}"): Route(VIEW, "/alerts/rules/none"),
    ("PATCH", "/alerts/rules/{name}"): Route(Action.ALERT_RULE, "/alerts/rules/none", {"enabled": False}),
    ("DELETE", "/alerts/rules/{name}"): Route(Action.ALERT_RULE, "/alerts/rules/none?reason=x"),
    ("GET", "/alerts/silences"): Route(VIEW, "/alerts/silences"),
    ("POST", "/alerts/silences"): Route(Action.SILENCE, "/alerts/silences", {"for_ms": 60_000, **REASON}),
    ("GET", "/alerts/silences/{number}"): Route(VIEW, "/alerts/silences/1"),
    ("POST", "/alerts/silences/{number}:end"): Route(Action.SILENCE, "/alerts/silences/1:end", {}),
    ("GET", "/alerts/receivers"): Route(VIEW, "/alerts/receivers"),
    ("POST", "/alerts/receivers"): Route(
        Action.ALERT_RECEIVER, "/alerts/receivers", {"name": "n", "address": "https://n.test/"}
    ),
    ("GET", "/alerts/receivers/{number}"): Route(VIEW, "/alerts/receivers/1"),
    ("PATCH", "/alerts/receivers/{number}"): Route(Action.ALERT_RECEIVER, "/alerts/receivers/1", {"enabled": False}),
    ("DELETE", "/alerts/receivers/{number}"): Route(Action.ALERT_RECEIVER, "/alerts/receivers/1?reason=x"),
    ("POST", "/alerts/receivers/{number}:test"): Route(Action.ALERT_RECEIVER, "/alerts/receivers/1:test", {}),
    ("GET", "/problems"): Route(VIEW, "/problems"),
    ("GET", "/views"): Route(VIEW, "/views"),
    ("POST", "/views"): Route(Action.SHARE_VIEW, "/views", {"name": "n", "address": "", "shared": True}),
    ("GET", "/views/{number}"): Route(VIEW, "/views/1"),
    ("DELETE", "/views/{number}"): Route(VIEW, "/views/1"),
    ("GET", "/favourites"): Route(VIEW, "/favourites"),
    ("PUT", "/favourites/{topic}"): Route(VIEW, "/favourites/orders"),
    ("DELETE", "/favourites/{topic}"): Route(VIEW, "/favourites/orders"),
    ("GET", "/screens"): Route(VIEW, "/screens"),
    ("POST", "/screens"): Route(Action.SCREEN, "/screens", {"name": "n", "panels": "alerts"}),
    ("GET", "/screens/{name}"): Route(VIEW, "/screens/none"),
    ("PATCH", "/screens/{name}"): Route(Action.SCREEN, "/screens/none", {"title": "n"}),
    ("DELETE", "/screens/{name}"): Route(Action.SCREEN, "/screens/none?reason=x"),
    ("GET", "/screens/{name}/data"): Route(VIEW, "/screens/none/data"),
    ("POST", "/screens/{name}/panels"): Route(Action.SCREEN, "/screens/none/panels", {"panel": "alerts"}),
    ("POST", "/screens/{name}:link"): Route(Action.SCREEN_LINK, "/screens/none:link", {}),
    ("POST", "/screens/{name}:revoke"): Route(Action.SCREEN_LINK, "/screens/none:revoke", {}),
    ("GET", "/outbox"): Route(VIEW, "/outbox"),
    ("GET", "/outbox/{database}/messages"): Route(VIEW, "/outbox/default/messages"),
    ("GET", "/outbox/{database}/messages/{number}"): Route(VIEW, "/outbox/default/messages/1"),
    ("POST", "/outbox/{database}/messages:retry"): Route(
        Action.RETRY_OUTBOX, "/outbox/default/messages:retry", {"ids": [1]}
    ),
    ("POST", "/outbox/{database}/messages:discard"): Route(
        Action.DISCARD_OUTBOX, "/outbox/default/messages:discard", {"ids": [1], **REASON}
    ),
    ("GET", "/workers"): Route(VIEW, "/workers"),
    ("POST", "/workers/{worker}:drain"): Route(Action.DRAIN, "/workers/w:drain", REASON),
    ("POST", "/workers/{worker}:undrain"): Route(Action.UNDRAIN, "/workers/w:undrain", {}),
    ("GET", "/reconciliations"): Route(VIEW, "/reconciliations"),
    ("POST", "/reconciliations"): Route(Action.RECONCILE, "/reconciliations", {}),
    ("GET", "/reconciliations/{ident}"): Route(VIEW, f"/reconciliations/{NO_RUN}"),
    ("POST", "/reconciliations/{ident}:stop"): Route(OPERATE, f"/reconciliations/{NO_RUN}:stop"),
    ("GET", "/reconciliations/{ident}/findings"): Route(VIEW, f"/reconciliations/{NO_RUN}/findings"),
    ("GET", "/dead"): Route(VIEW, "/dead"),
    ("POST", "/reconciliations/{ident}:repair"): Route(
        OPERATE, f"/reconciliations/{NO_RUN}:repair", {"repair": "move", **REASON}
    ),
    ("GET", "/reconciliations/{ident}/log"): Route(READ, f"/reconciliations/{NO_RUN}/log"),
    ("GET", "/reconciliations/{ident}/report"): Route(READ, f"/reconciliations/{NO_RUN}/report"),
    ("GET", "/reconciliations/trend"): Route(VIEW, "/reconciliations/trend"),
    ("GET", "/reconciliations/forgotten"): Route(VIEW, "/reconciliations/forgotten"),
    ("GET", "/reconciliations/calendar"): Route(VIEW, "/reconciliations/calendar?topic=orders&size=hour"),
    ("GET", "/reconciliations/clean"): Route(VIEW, "/reconciliations/clean"),
    ("GET", "/reconciliations/ledgers"): Route(VIEW, "/reconciliations/ledgers"),
    ("GET", "/reconciliations/schedules"): Route(VIEW, "/reconciliations/schedules"),
    ("POST", "/reconciliations/schedules"): Route(
        Action.SCHEDULE, "/reconciliations/schedules", {"every_ms": 3_600_000, **REASON}
    ),
    ("GET", "/reconciliations/schedules/{number}"): Route(VIEW, "/reconciliations/schedules/1"),
    ("PATCH", "/reconciliations/schedules/{number}"): Route(
        Action.SCHEDULE, "/reconciliations/schedules/1", {"enabled": False}
    ),
    ("DELETE", "/reconciliations/schedules/{number}"): Route(Action.SCHEDULE, "/reconciliations/schedules/1?reason=x"),
    ("GET", "/routes"): Route(VIEW, "/routes"),
    ("GET", "/routes/{name}"): Route(VIEW, "/routes/r"),
    ("PUT", "/routes/{name}"): Route(
        Action.PUT_ROUTE, "/routes/r", {"source": "orders", "targets": [{"topic": "events"}]}
    ),
    ("POST", "/routes/{name}:pause"): Route(VIEW, "/routes/r:pause", {}),
    ("POST", "/routes/{name}:resume"): Route(VIEW, "/routes/r:resume", {}),
    ("DELETE", "/routes/{name}"): Route(VIEW, "/routes/r?reason=x"),
    ("POST", "/topics/{topic}/dead:redrive"): Route(
        Action.REDRIVE,
        "/topics/orders/dead:redrive",
        {"messages": [{"slot": 0, "id": "a"}], "target": {"topic": "events"}, **REASON},
    ),
    ("GET", "/audit"): Route(Permission.AUDIT, "/audit"),
    ("GET", "/audit/{number}"): Route(Permission.AUDIT, "/audit/1"),
    ("GET", "/audit/export"): Route(Permission.AUDIT, "/audit/export", also=READ),
    ("GET", "/metrics"): Route(VIEW, "/metrics"),
}
OPEN = {("GET", "/health/live"), ("GET", "/health/ready")}
BY_LINK = {("GET", "/links/screens/{secret}")}
"""Open to whoever has the secret: test_screens.py."""


def described() -> set[tuple[str, str]]:
    paths = openapi()["paths"]
    return {(method.upper(), path.removeprefix("/api/v1")) for path, ways in paths.items() for method in ways}


def test_every_route_is_walked_here() -> None:
    assert described() == set(ROUTES) | OPEN | BY_LINK


@pytest.fixture
def stage(queue: Queue) -> Queue:
    queue.topic()
    queue.delayed("a")
    queue.topic("events", TopicKind.STREAM, slots=1)
    queue.client.define_group("events", "mail")
    return queue


@pytest.mark.parametrize("key", sorted(ROUTES))
def test_each_role_may_what_it_may(stage: Queue, db: None, key: tuple[str, str]) -> None:
    route = ROUTES[key]
    for role, held in ROLES.items():
        answer = Caller(*make_token(role))(key[0], route.path, route.body)
        missing = route.permissions - set(held)
        if not missing:
            assert answer.status_code not in (401, 403, 405, 500), (role, answer.content)
            continue
        found = problem(answer, 403, "forbidden")
        assert any(each.value in found["message"] for each in missing), (role, found)


@pytest.mark.parametrize("key", sorted(ROUTES))
def test_nobody_else_gets_in(stage: Queue, db: None, key: tuple[str, str], as_role: Callable[..., Client]) -> None:
    route = ROUTES[key]
    problem(Caller()(key[0], route.path, route.body), 401, "unauthorized")
    roleless = as_role(None)
    answer = roleless.generic(key[0], f"/api/v1{route.path}", b"{}", content_type="application/json")
    if route.permissions:  # a wrong body may be noticed first
        assert answer.status_code == 403 or (answer.status_code == 422 and route.body), answer.content
    scoped = Caller(*make_token("Admin", "other.*"))(key[0], route.path, route.body)
    if "{topic}" in key[1]:
        problem(scoped, 403, "out_of_scope")


def test_what_is_open_is_only_health_and_links(queue: Queue, db: None) -> None:
    for _, path in sorted(OPEN):
        assert Caller().get(path).status_code in (200, 503)
    problem(Caller().get("/links/screens/guessed"), 404, "unknown_screen")


def test_descriptions_need_somebody_known(queue: Queue, db: None, as_role: Callable[..., Client]) -> None:
    assert Caller().get("/openapi.json").status_code == 401
    assert Caller(*make_token("Viewer")).get("/openapi.json").status_code == 200
    assert as_role("Viewer").get("/api/v1/docs").status_code == 200
