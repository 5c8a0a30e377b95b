"""Of two who have a form of the admin open, the later one does not undo what the earlier one has written."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import models
from django.test import Client
from django.urls import reverse

from console.alerts import channels
from console.errors import ChangedMeanwhile, NameTaken, UnknownRecurring
from console.models import AlertReceiver, AlertRule, AuditEntry, RecurringMessage, Screen, TopicScope
from console.usecases import alerts, recurring, scopes, screens
from console.usecases.actor import Actor
from tests.console.acting import BEGUN, delete
from tests.console.api.conftest import Caller, make_token
from tests.console.conftest import Queue
from tests.console.recurring.defined import define

pytestmark = pytest.mark.django_db
RULE = {
    "name": "late", "problem": "lagging", "comparison": "above", "topics": "*", "for_ms": "0", "severity": "warning",
    "fire_after": "1", "resolve_after": "1",
}  # fmt: skip
TICK = {
    "name": "tick", "topic": "orders", "content": "{}", "when": "in_ms", "value": "1", "every_ms": "60000",
    "time_zone": "UTC", "jitter_ms": "0", "misfire": "once",
}  # fmt: skip
WALL = {"name": "wall", "panels": "figures", "rotate_s": "20", "theme": "auto"}
HOOK = {"kind": "webhook", "new_address": "https://x.test/", "least": "info"}
FORMS: dict[type[models.Model], tuple[dict[str, str], str]] = {
    AlertRule: (RULE, "description"),
    AlertReceiver: (HOOK, "name"),
    RecurringMessage: (TICK, "description"),
    Screen: (WALL, "title"),
    TopicScope: ({}, "patterns"),
}
"""What is sent, and the field that both change."""
PUT: dict[type[models.Model], Callable[..., Any]] = {
    AlertRule: alerts.put_rule, AlertReceiver: alerts.put_receiver, RecurringMessage: recurring.put,
    Screen: screens.put, TopicScope: scopes.put,
}  # fmt: skip


@pytest.fixture
def admin(queue: Queue, as_role: Callable[..., Client]) -> Client:
    queue.topic()
    AlertRule.objects.all().delete()
    return as_role("Admin")


def made(model: type[models.Model], admin: Client) -> tuple[Any, dict[str, str]]:
    """A row, and what its form sends."""
    values, field = FORMS[model]
    if model is TopicScope:
        values = {"group": str(Group.objects.get(name="Editor").pk)}
    values = {**values, field: "a"}
    answer = admin.post(reverse(f"console_admin:console_{model.__name__.lower()}_add"), values)
    assert answer.status_code == 302, answer.content.decode()
    return model._default_manager.get(), values


@pytest.mark.parametrize("model", FORMS)
def test_the_later_one_is_told(admin: Client, model: type[models.Model]) -> None:
    row, values = made(model, admin)
    _, field = FORMS[model]
    at = reverse(f"console_admin:console_{model.__name__.lower()}_change", args=[row.pk])

    def opened() -> dict[str, str]:
        (begun,) = re.findall('name="begun" value="([^"]+)"', admin.get(at).content.decode())
        return {"begun": html.unescape(begun)}

    old = opened()
    assert admin.post(at, values | old | {field: "first"}).status_code == 302
    for begun in (old, {}, {"begun": "x"}):
        answer = admin.post(at, values | begun | {field: "second"})
        assert answer.status_code == 200 and "Somebody else has changed this meanwhile" in answer.content.decode()
    row.refresh_from_db()
    assert getattr(row, field) == "first"
    assert admin.post(at, values | opened() | {field: "second"}).status_code == 302
    row.refresh_from_db()
    assert getattr(row, field) == "second"


@pytest.mark.parametrize("model", FORMS)
def test_of_two_at_once_the_later_one_is_refused(admin: Client, model: type[models.Model]) -> None:
    """Both have read it before either has written: that is in the audit as refused."""
    row, _ = made(model, admin)
    _, field = FORMS[model]
    other = model._default_manager.get(pk=row.pk)
    actor = Actor(admin_user())
    setattr(other, field, "first")
    PUT[model](actor, other)
    setattr(row, field, "second")
    with pytest.raises(ChangedMeanwhile):
        PUT[model](actor, row)
    row.refresh_from_db()
    assert getattr(row, field) == "first"
    last = AuditEntry.objects.order_by("-id").first()
    assert last is not None and last.result == "refused"


def admin_user() -> Any:
    return User.objects.get(username="admin")


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (AlertRule, "/alerts/rules/late"), (AlertReceiver, "/alerts/receivers/{pk}"), (Screen, "/screens/wall"),
        (RecurringMessage, "/recurring/tick"),
    ],
    ids=["rule", "receiver", "screen", "tick"],
)  # fmt: skip
def test_over_rest_who_says_what_was_seen_undoes_nothing(admin: Client, model: type[models.Model], path: str) -> None:
    row, _ = made(model, admin)
    path, field = path.format(pk=row.pk), FORMS[model][1]
    someone = Caller(make_token("Admin")[0])
    seen = someone.get(path)["ETag"]
    someone.ok("PATCH", path, {field: "first"}, If_Match=seen)
    refused = someone("PATCH", path, {field: "second"}, If_Match=seen)
    assert (refused.status_code, refused.json()["code"]) == (412, "changed_meanwhile")
    assert someone("PATCH", path, {field: "second"}, If_Match="x").status_code == 422
    row.refresh_from_db()
    assert getattr(row, field) == "first"
    someone.ok("PATCH", path, {field: "second"}, If_Match=someone.get(path)["ETag"])
    someone.ok("PATCH", path, {field: "third"})


@pytest.mark.parametrize("model", [each for each in FORMS if each is not TopicScope])
def test_of_two_who_make_one_of_the_same_name_the_later_one_is_told(admin: Client, model: type[models.Model]) -> None:
    """Also where both had looked before either was made."""
    row, _ = made(model, admin)
    row.pk, row._state.adding = None, True
    with pytest.raises(NameTaken):
        PUT[model](Actor(admin_user()), row)
    assert row.pk is None and model._default_manager.count() == 1


def test_schedules_and_routes_over_rest(admin: Client, queue: Queue) -> None:
    queue.topic("mail")
    editor = Caller(make_token("Editor")[0])
    one = editor.ok("POST", "/reconciliations/schedules", {"every_ms": 3_600_000}, status=201)
    path = f"/reconciliations/schedules/{one['id']}"
    assert editor.get(path)["ETag"] == one["etag"]
    assert editor.get(path, If_None_Match=one["etag"]).status_code == 200, "it may be due at another time"
    editor.ok("PATCH", path, {"every_ms": 60_000}, If_Match=one["etag"])
    refused = editor("PATCH", path, {"every_ms": 120_000}, If_Match=one["etag"])
    assert refused.status_code == 412 and editor.ok("GET", path)["every_ms"] == 60_000
    route = {"source": "orders", "targets": [{"topic": "mail"}]}
    editor.ok("PUT", "/routes/r", route, status=201)
    old = editor.get("/routes/r")["ETag"]
    editor.ok("POST", "/routes/r:pause", {})
    assert editor("DELETE", "/routes/r?reason=x", If_Match=old).status_code == 412
    assert editor("DELETE", "/routes/r?reason=x", If_Match=editor.get("/routes/r")["ETag"]).status_code == 204


def test_a_switch_writes_that_alone(queue: Queue) -> None:
    row = define()
    RecurringMessage.objects.update(content="by another person")
    recurring.set_enabled(row, False)
    now = RecurringMessage.objects.get()
    assert (now.enabled, now.content) == (False, "by another person")
    RecurringMessage.objects.all().delete()
    with pytest.raises(UnknownRecurring):
        recurring.set_enabled(now, True)
    assert not RecurringMessage.objects.exists()


def test_a_receiver_of_a_kind_that_is_gone_can_be_disabled(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    row = AlertReceiver.objects.create(name="ops", kind="apprise", address="slack://t0ken", resolved=False)
    monkeypatch.setattr(channels, "_apprise", lambda: None)
    at = reverse("console_admin:console_alertreceiver_change", args=[row.pk])
    values = {"name": "ops", "kind": "apprise", "least": "warning"}  # enabled is not ticked
    assert admin.post(at, values | {"begun": row.changed.isoformat()}).status_code == 302
    row.refresh_from_db()
    assert (row.enabled, row.address) == (False, "slack://t0ken")
    refused = admin.post(at, values | {"enabled": "on", "begun": row.changed.isoformat()}).content.decode()
    assert "Apprise is not installed here" in html.unescape(refused)


def test_nobody_gets_back_a_role_by_an_older_form(admin: Client) -> None:
    """Two have somebody's form open: one takes a role away, the other writes a name."""
    boss, reader = Group.objects.get(name="Admin"), Group.objects.get(name="Viewer")
    bob = User.objects.create(username="bob", is_staff=True)
    bob.groups.set([boss, reader])
    at = reverse("console_admin:auth_user_change", args=[bob.pk])

    def send(begun: str, *groups: Group, name: str = "") -> str:
        sent = {"username": "bob", "first_name": name, "is_active": "on", "is_staff": "on", "begun": begun}
        dates = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
        answer = admin.post(at, {**sent, **dates, "groups": [each.pk for each in groups]})
        return "" if answer.status_code == 302 else answer.content.decode()

    old = begun_of(admin, at)
    assert send(old, reader) == ""
    for begun in (old, "", "x"):
        assert "Somebody else has changed this meanwhile" in send(begun, boss, reader, name="Robert")
    bob.refresh_from_db()
    assert ([each.name for each in bob.groups.all()], bob.first_name) == (["Viewer"], "")
    assert send(begun_of(admin, at), reader, name="Robert") == ""
    bob.refresh_from_db()
    assert bob.first_name == "Robert"


def test_nor_does_a_role_get_back_what_it_might(admin: Client) -> None:
    role = Group.objects.create(name="night")
    at = reverse("console_admin:auth_group_change", args=[role.pk])
    old = begun_of(admin, at)
    assert admin.post(at, {"name": "nights", "begun": old}).status_code == 302
    answer = admin.post(at, {"name": "night shift", "begun": old})
    assert answer.status_code == 200 and "Somebody else has changed this meanwhile" in answer.content.decode()
    role.refresh_from_db()
    assert role.name == "nights"


@pytest.mark.parametrize("given", ["9" * 20, "-1", "x", "\0", "1.5"])
def test_what_can_be_no_role_is_none(admin: Client, given: str) -> None:
    at = reverse("console_admin:auth_user_add")
    sent = {"username": "bob", "usable_password": "false", "groups": [given]}
    answer = admin.post(at, sent)
    assert answer.status_code == 200 and not User.objects.filter(username="bob").exists()
    answer = admin.post(reverse("console_admin:auth_group_add"), {"name": "night", "permissions": [given]})
    assert answer.status_code == 200 and not Group.objects.filter(name="night").exists()


@pytest.mark.parametrize("name", ["night\u202eshift", "night\u200b", "a\tb"])
def test_names_of_people_and_roles_can_be_shown(admin: Client, name: str) -> None:
    answer = admin.post(reverse("console_admin:auth_group_add"), {"name": name})
    assert answer.status_code == 200 and "Use printable characters only." in answer.content.decode()
    bob = User.objects.create(username="bob", is_staff=True)
    at = reverse("console_admin:auth_user_change", args=[bob.pk])
    dates = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    sent = {"username": "bob", "first_name": name, "last_name": name, "begun": begun_of(admin, at)}
    refused = admin.post(at, sent | dates).content.decode()
    assert refused.count("Use printable characters only.") == 2
    assert list(User.objects.filter(username="bob").values_list("first_name", "last_name")) == [("", "")]


def begun_of(admin: Client, address: str) -> str:
    (begun,) = re.findall('name="begun" value="([^"]+)"', admin.get(address).content.decode())
    return html.unescape(begun)


@pytest.mark.parametrize("model", FORMS)
def test_a_page_of_deletion_deletes_what_it_showed(admin: Client, model: type[models.Model]) -> None:
    row, _ = made(model, admin)
    _, field = FORMS[model]
    page = reverse(f"console_admin:console_{model.__name__.lower()}_delete", args=[row.pk])
    (old,) = BEGUN.findall(admin.get(page).content.decode())
    setattr(row, field, "first")
    PUT[model](Actor(admin_user()), row)
    for begun in ({"begun": old}, {}, {"begun": "x"}):
        answer = admin.post(page, {"post": "yes", **begun}, follow=True)
        assert "Somebody else has changed this meanwhile" in answer.content.decode()
    assert model._default_manager.filter(pk=row.pk).exists()
    assert delete(admin, page).status_code == 302
    assert not model._default_manager.filter(pk=row.pk).exists()


def test_people_are_deleted_as_they_were_shown(person: Callable[..., User], as_role: Callable[..., Client]) -> None:
    """One by one, and several at once."""
    admin, anna, bert = as_role("Admin"), person("Viewer", "anna"), person("Viewer", "bert")
    page, several = (
        reverse("console_admin:auth_user_delete", args=[anna.pk]),
        reverse("console_admin:auth_user_changelist"),
    )
    chosen = {"action": "delete_selected", "_selected_action": [anna.pk, bert.pk]}
    (one,) = BEGUN.findall(admin.get(page).content.decode())
    (both,) = BEGUN.findall(admin.post(several, chosen).content.decode())
    anna.groups.add(Group.objects.get(name="Operator"))
    for at, sent in ((page, {"begun": one}), (several, {**chosen, "begun": both}), (several, chosen)):
        answer = admin.post(at, {"post": "yes", **sent}, follow=True)
        assert "Somebody else has changed this meanwhile" in answer.content.decode()
    assert User.objects.filter(pk__in=[anna.pk, bert.pk]).count() == 2
    delete(admin, several, [anna.pk, bert.pk])
    assert not User.objects.filter(pk__in=[anna.pk, bert.pk]).exists()
    gone = AuditEntry.objects.filter(action="delete_user")
    assert sorted(each.query["user"] for each in gone) == ["anna", "bert"]
