"""Tokens in the admin: made once, shown once, revoked, recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from console.access import ROLES, Action, TokenUser, allowed, in_scope, split_patterns
from console.models import ApiToken, AuditEntry
from console.models.tokens import check_patterns
from tests.console.api.conftest import Caller, make_token
from tests.console.conftest import Queue

ADD = "/admin/console/apitoken/add/"
LIST = "/admin/console/apitoken/"


def form(**values: Any) -> dict[str, Any]:
    until = timezone.now() + timedelta(days=30)
    return {
        "name": "nightly export",
        "role": "Operator",
        "topics": "orders.*",
        "rate_per_minute": 100,
        "expires_at_0": until.date().isoformat(),
        "expires_at_1": "12:00:00",
        **values,
    }


def test_an_administrator_makes_one_and_sees_it_once(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic("orders.new")
    browser = as_role("Admin")
    assert browser.get(ADD).status_code == 200
    made = browser.post(ADD, form())
    assert made.status_code == 302, made.context["errors"] if made.context else made.content
    assert "no-store" in made["Cache-Control"] and "rmq_" not in made.content.decode()
    cookie = made.cookies["rmq_new_token"]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (made["Location"], True, "Strict")
    answer = browser.get(made["Location"])
    (secret,) = set(re.findall(r"rmq_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", answer.content.decode()))
    assert "no-store" in answer["Cache-Control"]
    again = browser.get(made["Location"])  # the page is reloaded
    assert again.status_code == 200 and secret not in again.content.decode()
    token = ApiToken.objects.get()
    assert token.role == "Operator" and token.created_by and token.created_by.username == "admin"
    assert Caller(secret).ok("GET", "/me")["topics"] == ["orders.*"]
    for address in (LIST, f"{LIST}{token.pk}/change/"):
        page = browser.get(address)
        assert page.status_code == 200
        assert token.prefix in page.content.decode() and secret not in page.content.decode()
    browser.cookies["rmq_new_token"] = "rmq_of_somebody_else"  # what is shown there is that token's secret, or nothing
    assert "somebody_else" not in browser.get(made["Location"]).content.decode()
    entry = AuditEntry.objects.get(action="create_token")
    assert entry.username == "admin" and secret not in str(entry.query)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "two\nlines"},
        {"role": "Emperor"},
        {"topics": ""},
        {"topics": "orders/*"},
        {"topics": "[a-z]"},
        {"topics": ",".join(f"t{n}" for n in range(51))},
        {"rate_per_minute": 0},
        {"rate_per_minute": 10**9},
        {"expires_at_0": "2020-01-01"},
        {"expires_at_0": "2090-01-01"},
        {"expires_at_0": ""},
    ],
)
def test_wrong_tokens_are_not_made(queue: Queue, as_role: Callable[..., Client], wrong: dict[str, Any]) -> None:
    answer = as_role("Admin").post(ADD, form(**wrong))
    assert answer.status_code == 200 and "rmq_" not in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_revoking_ends_a_token_at_once(queue: Queue, as_role: Callable[..., Client], caller: Any) -> None:
    holder = caller("Viewer")
    assert holder.get("/me").status_code == 200
    browser = as_role("Admin")
    browser.post(LIST, {"action": "revoke", "_selected_action": [holder.token.pk]})
    assert holder.get("/me").json()["code"] == "token_revoked"
    assert AuditEntry.objects.filter(action="revoke_token").count() == 1
    browser.post(LIST, {"action": "revoke", "_selected_action": [holder.token.pk]})
    assert AuditEntry.objects.filter(action="revoke_token").count() == 1


@pytest.mark.parametrize("role", ["Viewer", "Payload reader", "Operator", "Editor"])
def test_nobody_else_sees_tokens(queue: Queue, as_role: Callable[..., Client], role: str) -> None:
    _, token = make_token()
    browser = as_role(role)
    assert browser.get(LIST).status_code == 403
    assert browser.get(ADD).status_code == 403
    assert browser.post(ADD, form()).status_code == 403
    browser.post(LIST, {"action": "revoke", "_selected_action": [token.pk]})
    token.refresh_from_db()
    assert token.revoked_at is None and ApiToken.objects.count() == 1


def test_tokens_are_neither_changed_nor_deleted(queue: Queue, as_role: Callable[..., Client]) -> None:
    _, token = make_token("Viewer")
    browser = as_role("Admin")
    assert browser.post(f"{LIST}{token.pk}/change/", form(role="Admin")).status_code == 403
    assert browser.post(f"{LIST}{token.pk}/delete/", {"post": "yes"}).status_code == 403
    browser.post(LIST, {"action": "delete_selected", "_selected_action": [token.pk], "post": "yes"})
    token.refresh_from_db()
    assert token.role == "Viewer"


@pytest.mark.parametrize("role", list(ROLES))
def test_a_token_may_what_its_role_may(role: str) -> None:
    user = TokenUser("t", "rmq_1", role)
    assert {each for each in ROLES[role] if allowed(user, each)} == set(ROLES[role])
    assert allowed(user, Action.TOKENS) == (role == "Admin")
    assert not TokenUser("t", "rmq_1", "Emperor").has_perm("console.view_live")
    assert not user.has_perm("auth.add_user")


def test_patterns_mean_whole_names() -> None:
    user = TokenUser("t", "rmq_1", "Admin", ("orders.*", "a?c"))
    assert [name for name in ("orders.new", "orders", "xorders.new", "abc", "abbc", "") if in_scope(user, name)] == [
        "orders.new",
        "abc",
    ]
    assert in_scope(TokenUser("t", "rmq_1", "Admin"), "")
    assert split_patterns(" a, b\n c a") == ("a", "b", "c")
    with pytest.raises(ValidationError):
        check_patterns("a b;c")
