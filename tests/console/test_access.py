"""Every address with every role: what is open, what is refused, and that a refusal names the permission."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, set_script_prefix

from console.access import NEEDED, ROLES, Action, Forbidden, Permission, allowed, grants, require
from console.models import AuditEntry, Operation, Reconciliation, Screen
from console.pages import language
from console.usecases.actions import PERFORMED
from tests.console import acting
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
    "overview", "workers", "topic", "topic-tab", "message",
    "define", "send",
    "reconciliation", "run",
    "dead", "operations", "operation", "outbox", "routes", "recurring",
    "alerts", "screens", "screen", "preferences", "demo:bookings",
]  # fmt: skip
AUDIT = [
    "audit",
]
BY_LINK = {"screen-by-link"}
"""For whoever has the secret in the address: tests/console/api/test_screens.py."""
OPERATION = "6f1d7d3e-0000-4000-8000-000000000001"


@pytest.fixture(autouse=True)
def an_operation(db: None) -> None:
    Reconciliation.objects.create(pk=OPERATION, state="done")
    Screen.objects.create(name="wall", panels="figures")
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
        "workers": "/workers/",
        "define": "/define/",
        "send": "/topics/orders/send/",
        "audit": "/audit/",
        "dead": "/dead/",
        "routes": "/routes/",
        "operations": "/operations/",
        "outbox": "/outbox/",
        "recurring": "/recurring/",
        "alerts": "/alerts/",
        "screens": "/screens/",
        "preferences": "/preferences/",
        "screen": "/screens/of/wall/",
        "demo:bookings": "/demo/bookings/",
        "operation": f"/operations/{OPERATION}/",
        "reconciliation": "/reconciliation/",
        "run": f"/reconciliation/{OPERATION}/",
    }


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
    assert ours == {*VIEWERS, *AUDIT, *BY_LINK, "texts", "set_language"}


@pytest.mark.parametrize("name", [*VIEWERS, *AUDIT])
def test_nobody_sees_anything_without_signing_in(queue: Queue, client: Client, db: None, name: str) -> None:
    queue.topic()
    answer = client.get(addresses()[name])
    assert answer.status_code in (302, 401)
    if answer.status_code == 302:
        assert "/admin/login/" in answer["Location"]
    else:
        assert answer.json()["code"] == "signed_out"


@pytest.mark.parametrize("name", [*VIEWERS, *AUDIT])
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
    for name in AUDIT:
        assert browser.get(urls[name]).status_code == (200 if Permission.AUDIT in ROLES[role] else 403), name


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
    body: dict[str, Any] = {"messages": [ref]}
    if action is Action.RESCHEDULE:
        body["due_ms"] = queue.inspector.now_ms() + 60_000
    body = {
        Action.DRAIN: {"worker": "w1"},
        Action.UNDRAIN: {"worker": "w1"},
        Action.PIN: {"worker": "w1", "slots": "0"},
        Action.UNPIN: {"slots": "0"},
        Action.PAUSE: {},
        Action.RESUME: {},
        Action.ACKNOWLEDGE: {},
        Action.UNFENCE: {},
    }.get(action, body)
    answer = acting.act(as_role(role), action.value, reason="a test", **body)
    entry = AuditEntry.objects.filter(action=action.value).first()
    if role and NEEDED[action] in ROLES[role]:
        assert answer.status_code == 200, answer.content
        assert entry is not None and entry.result == "done"
        return
    assert answer.status_code == 403
    expected = {NEEDED[action].value} if role else {NEEDED[action].value, "view_live"}
    assert any(each in answer.json()["message"] for each in expected)
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
        assert browser.get(acting.address(action.value, worker="w")).status_code == 405
    assert queue.find(ident) is not None
    assert not AuditEntry.objects.exists()


def test_an_action_without_the_csrf_token_is_refused(queue: Queue, person: Callable[..., Any]) -> None:
    queue.topic()
    ident = queue.delayed()
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person("Admin"))
    answer = acting.act(browser, "cancel", messages=[queue.ref(ident)], reason="x")
    assert answer.status_code == 403
    assert queue.find(ident) is not None


def test_who_chooses_a_language_from_nowhere_is_led_into_the_console(rf: RequestFactory) -> None:
    set_script_prefix("/team/rmq/")
    try:
        answer = language.choose(rf.get("/language/setlang/"))
    finally:
        set_script_prefix("/")
    assert (answer.status_code, answer["Location"]) == (302, "/team/rmq/")
