"""Every address with every role: what is open, what is refused, and that a refusal names the permission."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from console.access import NEEDED, ROLES, Action, Forbidden, Permission, allowed, grants, require
from console.models import AuditEntry, Operation, Reconciliation
from console.pages.act import FLEET_ACTIONS
from console.usecases.actions import PERFORMED
from tests.console.conftest import ROLES as ROLE_NAMES
from tests.console.conftest import Queue

MIGRATED = {
    "Viewer": {"view_live"},
    "Payload reader": {"view_live", "read_payload"},
    "Operator": {"view_live", "read_payload", "operate"},
    "Editor": {"view_live", "read_payload", "operate", "edit_topics"},
    "Admin": {"view_live", "read_payload", "operate", "edit_topics", "administer", "view_auditentry"},
}
VIEWERS = [
    "overview", "workers", "topic", "topic-tab", "message", "topic-rows", "topic-find", "topic-slot", "topic-timeline",
    "define", "definition-data", "send", "message-actions", "message-record",
    "reconciliation", "reconciliation-data", "run", "run-data", "run-findings",
    "topic-clusters", "dead", "dead-data", "operations", "operations-data", "operation", "operation-data",
]  # fmt: skip
PAYLOAD = ["run-log", "run-download", "topic-search", "message-content", "topic-export", "operation-report"]
AUDIT = ["audit", "audit-data", "audit-entry", "audit-export"]
# Their rules: tests/console/definitions, tests/console/operations, test_send.py.
POSTED = [
    "definition-plan", "definition-save", "definition-rollback", "definition-delete", "define-plan", "define-save",
    "send-do", "topic-bulk-preview", "topic-bulk-start", "topic-resend", "operation-act",
    "reconciliation-start", "reconciliation-schedule", "run-stop", "run-preview", "run-repair",
]  # fmt: skip
OPERATION = "6f1d7d3e-0000-4000-8000-000000000001"


@pytest.fixture(autouse=True)
def an_operation(db: None) -> None:
    Reconciliation.objects.create(pk=OPERATION, state="done")
    Operation.objects.create(pk=OPERATION, action="cancel", topic="orders", state="done")


def test_the_migration_makes_the_roles_the_code_means(db: None) -> None:
    for role, permissions in MIGRATED.items():
        held = Group.objects.get(name=role).permissions.filter(content_type__app_label="console")
        own = set(held.values_list("codename", flat=True))
        assert own == permissions == {each.value for each in ROLES[role]}


def addresses(ident: str = "a") -> dict[str, str]:
    return {
        "overview": "/",
        "topic": "/topics/orders/",
        "topic-tab": "/topics/orders/dead/",
        "message": f"/topics/orders/message/?id={ident}",
        "message-content": f"/topics/orders/message/content/?id={ident}",
        "topic-rows": "/topics/orders/data/rows/?state=delayed",
        "topic-find": f"/topics/orders/data/find/?id={ident}",
        "topic-search": "/topics/orders/data/search/?text=x&state=delayed",
        "topic-slot": "/topics/orders/data/slots/0/",
        "topic-timeline": "/topics/orders/data/timeline/",
        "workers": "/workers/",
        "define": "/define/",
        "definition-data": "/topics/orders/data/definition/",
        "send": "/topics/orders/send/",
        "message-actions": f"/topics/orders/data/actions/?id={ident}",
        "message-record": f"/topics/orders/data/record/?id={ident}",
        "audit": "/audit/",
        "audit-data": "/audit/data/",
        "audit-entry": f"/audit/{AuditEntry.objects.create(username='x', action='cancel').pk}/",
        "audit-export": "/audit/export/?format=jsonl",
        "definition-plan": "/topics/orders/definition/plan/",
        "definition-save": "/topics/orders/definition/save/",
        "definition-rollback": "/topics/orders/definition/rollback/",
        "definition-delete": "/topics/orders/definition/delete/",
        "define-plan": "/define/plan/",
        "define-save": "/define/save/",
        "send-do": "/topics/orders/send/do/",
        "topic-clusters": "/topics/orders/data/clusters/",
        "topic-export": "/topics/orders/dead/export/",
        "dead": "/dead/",
        "dead-data": "/dead/data/",
        "operations": "/operations/",
        "operations-data": "/operations/data/",
        "operation": f"/operations/{OPERATION}/",
        "operation-data": f"/operations/{OPERATION}/data/",
        "operation-report": f"/operations/{OPERATION}/report/",
        "operation-act": f"/operations/{OPERATION}/act/stop/",
        "reconciliation": "/reconciliation/",
        "reconciliation-data": "/reconciliation/data/",
        "reconciliation-start": "/reconciliation/start/",
        "reconciliation-schedule": "/reconciliation/schedule/",
        "run": f"/reconciliation/{OPERATION}/",
        "run-data": f"/reconciliation/{OPERATION}/data/",
        "run-findings": f"/reconciliation/{OPERATION}/findings/",
        "run-log": f"/reconciliation/{OPERATION}/log/",
        "run-download": f"/reconciliation/{OPERATION}/report/",
        "run-stop": f"/reconciliation/{OPERATION}/stop/",
        "run-preview": f"/reconciliation/{OPERATION}/repair/preview/",
        "run-repair": f"/reconciliation/{OPERATION}/repair/start/",
        "topic-bulk-preview": "/topics/orders/bulk/preview/",
        "topic-bulk-start": "/topics/orders/bulk/start/",
        "topic-resend": "/topics/orders/dead/resend/",
    }


def act_address(action: Action) -> str:
    place = "workers" if action in FLEET_ACTIONS else "topics/orders"
    return f"/{place}/act/{action.value}/"


def names(patterns: list[Any], prefix: str = "") -> list[str]:
    found: list[str] = []
    for each in patterns:
        if isinstance(each, URLResolver):
            inner = f"{each.namespace}:" if each.namespace else ""
            found += names(each.url_patterns, prefix + inner)
        elif isinstance(each, URLPattern) and each.name:
            found.append(prefix + each.name)
    return found


def test_every_address_of_ours_is_walked_here() -> None:
    """A page that is added without being added to this test fails here."""
    ours = {
        name.removeprefix("console:")
        for name in names(get_resolver().url_patterns)
        if not name.startswith(("console_admin:", "console-api:"))
    }
    assert ours == {*VIEWERS, *PAYLOAD, *AUDIT, *POSTED, "topic-act", "fleet-act", "texts", "set_language"}


@pytest.mark.parametrize("name", [*VIEWERS, *PAYLOAD, *AUDIT])
def test_nobody_sees_anything_without_signing_in(queue: Queue, client: Client, db: None, name: str) -> None:
    queue.topic()
    answer = client.get(addresses()[name])
    assert answer.status_code in (302, 401)
    if answer.status_code == 302:
        assert "/admin/login/" in answer["Location"]
    else:
        assert answer.json()["code"] == "signed_out"


@pytest.mark.parametrize("name", [*VIEWERS, *PAYLOAD, *AUDIT])
def test_an_account_without_a_role_is_told_what_it_lacks(
    queue: Queue, as_role: Callable[..., Client], name: str
) -> None:
    queue.topic()
    answer = as_role(None).get(addresses()[name])
    assert answer.status_code == 403
    assert "view_live" in answer.content.decode()


@pytest.mark.parametrize("role", ROLE_NAMES)
def test_each_role_opens_what_it_may(queue: Queue, as_role: Callable[..., Client], role: str) -> None:
    queue.topic()
    urls = addresses(queue.delayed())
    browser = as_role(role)
    for name in VIEWERS:
        assert browser.get(urls[name]).status_code == 200, name
    for name in PAYLOAD:
        answer = browser.get(urls[name])
        if Permission.READ_PAYLOAD in ROLES[role]:
            assert answer.status_code == 200, name
        else:
            assert answer.status_code == 403, name
            assert "read_payload" in answer.json()["message"]
    for name in AUDIT:
        assert browser.get(urls[name]).status_code == (200 if Permission.AUDIT in ROLES[role] else 403), name


@pytest.mark.parametrize("name", POSTED)
@pytest.mark.parametrize("role", [None, "Viewer"])
def test_what_is_posted_is_refused_to_outsiders_and_viewers(
    queue: Queue, as_role: Callable[..., Client], client: Client, db: None, role: str | None, name: str
) -> None:
    queue.topic()
    address = addresses()[name]
    assert client.post(address, "{}", content_type="application/json").status_code == 401
    browser = as_role(role)
    assert browser.get(address).status_code == 405
    body = {"values": {}, "action": "requeue", "filter": {"state": "dead"}, "message": [0, "a"], "content": "x"}
    answer = browser.post(address, json.dumps(body), content_type="application/json")
    assert answer.status_code == 403, answer.content


@pytest.mark.parametrize("role", [None, *ROLE_NAMES])
@pytest.mark.parametrize("action", sorted(PERFORMED))
def test_each_role_does_what_it_may(
    queue: Queue, as_role: Callable[..., Client], role: str | None, action: Action
) -> None:
    queue.topic()
    ident = queue.dead() if action in (Action.REQUEUE, Action.DROP) else queue.delayed()
    ref = queue.ref(ident)
    if action is Action.RESTORE:
        queue.control.cancel("orders", [ident])
    queue.worker("w1")
    body: dict[str, Any] = {"worker": "w1", "topic": "orders", "slots": "0"}
    if action not in FLEET_ACTIONS:
        body = {"messages": [ref], "due_ms": queue.inspector.now_ms() + 60_000}
    body["reason"] = "a test"
    if action is Action.RESTORE:
        queue.control.cancel("orders", [ident])
    answer = as_role(role).post(act_address(action), json.dumps(body), content_type="application/json")
    entry = AuditEntry.objects.filter(action=action.value).first()
    if role and NEEDED[action] in ROLES[role]:
        assert answer.status_code == 200, answer.content
        assert entry is not None and entry.result == "done"
        return
    assert answer.status_code == 403
    expected = "view_live" if role is None else NEEDED[action].value
    assert expected in answer.json()["message"]
    assert (queue.find(ident) is None) == (action is Action.RESTORE)
    if role:  # who may look but not act leaves a trace
        assert entry is not None and entry.result == "refused"


def test_an_inactive_or_anonymous_user_holds_nothing(person: Callable[..., Any]) -> None:
    user = person("Admin")
    user.is_active = False
    for each in (user, AnonymousUser()):
        assert not any(allowed(each, permission) for permission in Permission)
        with pytest.raises(Forbidden, match="view_live"):
            require(each, Permission.VIEW)


def test_grants_name_what_is_missing(person: Callable[..., Any]) -> None:
    viewer, operator = grants(person("Viewer")), grants(person("Operator"))
    assert not viewer.payload and operator.payload
    assert viewer.actions["cancel"] and "operate" in viewer.actions["cancel"]
    assert operator.actions["cancel"] is None
    assert operator.actions["drop"] and "administer" in operator.actions["drop"]


def test_nothing_changes_by_looking(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    ident = queue.delayed()
    browser = as_role("Admin")
    for action in PERFORMED:
        assert browser.get(act_address(action)).status_code == 405
    assert queue.find(ident) is not None
    assert not AuditEntry.objects.exists()


def test_an_action_without_the_csrf_token_is_refused(queue: Queue, person: Callable[..., Any]) -> None:
    queue.topic()
    ident = queue.delayed()
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person("Admin"))
    body = json.dumps({"messages": [queue.ref(ident)], "reason": "x"})
    answer = browser.post("/topics/orders/act/cancel/", body, content_type="application/json")
    assert answer.status_code == 403
    assert queue.find(ident) is not None
