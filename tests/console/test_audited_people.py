"""Who is given what in the admin, and by whom, is in the audit; no password is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.auth.models import Permission as DjangoPermission
from django.test import Client
from django.urls import reverse

from console.models import AuditEntry, TopicScope
from console.supervise.account import ensure_admin
from console.supervise.folder import DataFolder
from console.usecases.people import By, edits, mark_of
from tests.console.acting import delete
from tests.console.conftest import Queue
from tests.console.test_pages import page_data

PASSWORD = "aB3-not-in-the-audit"


@pytest.fixture
def admin(queue: Queue, as_role: Callable[..., Client]) -> Client:
    return as_role("Admin")


def address(name: str, *keys: Any) -> str:
    return reverse(f"console_admin:auth_{name}", args=keys)


def told() -> list[tuple[str, str, Any]]:
    """What is in the audit: the action, by whom, of what. And nothing that opens a door."""
    entries = AuditEntry.objects.order_by("id")
    kept = json.dumps([*entries.values("query", "detail", "reason")])
    assert not [each for each in (PASSWORD, "md5$", "pbkdf2") if each in kept]
    assert {(each.result, each.done, each.asked) for each in entries} <= {("done", 1, 1)}
    return [(each.action, each.username, each.query) for each in entries]


def test_a_user_from_added_to_deleted(admin: Client) -> None:
    roles = {group.name: group.pk for group in Group.objects.all()}
    password = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    admin.post(address("user_add"), {"username": "anna", "groups": [roles["Viewer"]], **password})
    anna = User.objects.get(username="anna")
    added = {"user": "anna", "is_active": True, "is_staff": True, "is_superuser": False}
    assert told() == [("create_user", "admin", {**added, "roles": ["Viewer"], "permissions": []})]
    entry = AuditEntry.objects.get()
    assert (entry.via, entry.address, entry.user and entry.user.username) == ("admin", "127.0.0.1", "admin")

    def change(**values: Any) -> list[tuple[str, str, Any]]:
        AuditEntry.objects.all().delete()
        anna.refresh_from_db()
        given = {
            "username": anna.username, "is_staff": "on", "is_active": "on", "email": anna.email,
            "groups": [roles["Viewer"]], "date_joined_0": "2026-01-01", "date_joined_1": "00:00",
            "begun": mark_of(anna), **values,
        }  # fmt: skip
        answer = admin.post(address("user_change", anna.pk), {name: each for name, each in given.items() if each})
        assert answer.status_code == 302, answer.context["adminform"].form.errors
        return told()

    assert change() == []
    found = change(groups=[roles["Operator"], roles["Editor"]], is_superuser="on")
    given = {"roles": {"given": ["Editor", "Operator"], "taken": ["Viewer"]}, "is_superuser": True}
    assert found == [("edit_user", "admin", {"user": "anna", **given})]
    (pk,) = DjangoPermission.objects.filter(codename="operate").values_list("pk", flat=True)
    found = change(is_active="", is_staff="", user_permissions=[pk], email="anna@example.com", username="ann")
    assert found == [
        (
            "edit_user", "admin",
            {
                "user": "ann", "former_name": "anna", "is_active": False, "is_staff": False, "is_superuser": False,
                "changed": ["email"], "roles": {"given": ["Viewer"], "taken": ["Editor", "Operator"]},
                "permissions": {"given": ["console.operate"], "taken": []},
            },
        )
    ]  # fmt: skip
    AuditEntry.objects.all().delete()
    admin.post(address("user_password_change", anna.pk), {**password, "set-password": ""})
    admin.post(address("user_password_change", anna.pk), {"usable_password": "false", "unset-password": ""})
    admin.post(address("user_password_change", anna.pk), {**password, "password2": "another"})
    admin.get(address("user_password_change", anna.pk))
    words = [("set_password", "admin", {"user": "ann", "usable": usable}) for usable in (True, False)]
    assert told() == words
    AuditEntry.objects.all().delete()
    delete(admin, address("user_delete", anna.pk))
    assert [(action, query["user"], query["roles"]) for action, _, query in told()] == [
        ("delete_user", "ann", ["Viewer"])
    ]


def test_several_are_deleted_at_once_and_oneself_too(admin: Client, person: Callable[..., User]) -> None:
    people = [person("Viewer", "one"), person("Viewer", "two"), User.objects.get(username="admin")]
    delete(admin, address("user_changelist"), [each.pk for each in people])
    assert not User.objects.exists()
    assert sorted((action, who, query["user"]) for action, who, query in told()) == [
        ("delete_user", "admin", name) for name in ("admin", "one", "two")
    ]
    assert {each.user for each in AuditEntry.objects.all()} == {None}


def test_ones_own_password(admin: Client) -> None:
    own = reverse("console_admin:password_change")
    new = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    assert admin.get(own).status_code == 200
    admin.post(own, {"old_password": "wrong", **new})
    assert told() == []
    assert admin.post(own, {"old_password": "pw", **new}).status_code == 302
    assert told() == [("set_password", "admin", {"user": "admin", "usable": True})]
    assert Client().post(own, new).status_code == 302, "nobody is asked to sign in"
    assert len(told()) == 1


def test_a_role_from_added_to_deleted(admin: Client, person: Callable[..., User]) -> None:
    codes = {each.codename: each.pk for each in DjangoPermission.objects.filter(content_type__app_label="console")}
    admin.post(address("group_add"), {"name": "Team", "permissions": [codes["operate"]]})
    team = Group.objects.get(name="Team")
    changed = {"name": "Team", "permissions": [codes["read_payload"]]}
    for _ in range(2):  # the second changes nothing
        admin.post(address("group_change", team.pk), {**changed, "begun": mark_of(team)})
    person("Viewer", "anna").groups.add(team)
    TopicScope.objects.create(group=team, patterns="orders")
    delete(admin, address("group_delete", team.pk))
    given = {"given": ["console.read_payload"], "taken": ["console.operate"]}
    about = {"permissions": ["console.read_payload"], "people": ["anna"], "people_count": 1, "topics": "orders"}
    assert told() == [
        ("create_role", "admin", {"role": "Team", "permissions": ["console.operate"]}),
        ("edit_role", "admin", {"role": "Team", "permissions": given}),
        ("delete_role", "admin", {"role": "Team", **about}),
    ]
    AuditEntry.objects.all().delete()
    rest = [Group.objects.create(name=name).pk for name in ("a", "b")]
    delete(admin, address("group_changelist"), rest)
    assert [(action, query["role"]) for action, _, query in told()] == [("delete_role", "a"), ("delete_role", "b")]


def test_what_is_refused_changes_nothing_and_is_noted_as_that(
    queue: Queue, as_role: Callable[..., Client], person: Callable[..., User]
) -> None:
    anna, browser = person("Viewer", "anna"), as_role("Editor")
    for name in ("user_change", "user_password_change", "user_delete"):
        assert browser.post(address(name, anna.pk), {"post": "yes"}).status_code == 403
    kept = AuditEntry.objects.order_by("id").values_list("action", "result", "done", "query")
    names = ("edit_user", "set_password", "delete_user")
    assert list(kept) == [(name, "refused", 0, {"rows": [str(anna.pk)]}) for name in names]


def test_the_first_user_and_roles_by_single_sign_on(tmp_path: Path, person: Callable[..., User]) -> None:
    ensure_admin(DataFolder(tmp_path))
    ensure_admin(DataFolder(tmp_path))
    ((action, who, query),) = told()
    assert (action, who, query["user"], query["is_superuser"]) == ("create_user", "manage.py prepare", "admin", True)
    anna = person("Viewer", "anna")
    for _ in range(2):  # the second changes nothing
        with edits(By("Example Inc.", via="sso"), anna):
            anna.groups.set(Group.objects.filter(name="Operator"))
    given = {"user": "anna", "roles": {"given": ["Operator"], "taken": ["Viewer"]}}
    assert told()[1:] == [("edit_user", "Example Inc.", given)]


def test_people_read_it_in_words(admin: Client) -> None:
    admin.post(address("group_add"), {"name": "Team"})
    for language, words in (("en", "add a role"), ("zh-hans", "添加角色")):
        admin.cookies["rmq_language"] = language
        assert ["create_role", words] in page_data(admin.get("/audit/"))["actions"]
    entry = AuditEntry.objects.get()
    assert admin.get(f"/api/v1/audit/{entry.pk}").json()["query"] == {"role": "Team", "permissions": []}
