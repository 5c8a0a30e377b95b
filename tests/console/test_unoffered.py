"""What somebody posts to the admin that no page offers them is refused, and in the audit: all forms and actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError
from django.test import Client
from django.urls import reverse

from console.models import ApiToken, AuditEntry, RecurringMessage
from console.usecases.audit import note
from tests.console.api.conftest import make_token
from tests.console.conftest import Queue
from tests.console.test_admin_lists import OUTBOX, an_outbox_row, states
from tests.console.test_hostile_admin import admin_of
from tests.console.test_walk_admin import rows

pytestmark = pytest.mark.django_db
__all__ = ["rows"]  # a fixture
CHANGED = {
    "console_topicdefinition": ("create_topic", "edit_topic", "delete_topic"),
    "console_routedefinition": ("put_route", "put_route", "delete_route"),
    "console_alertrule": ("alert_rule",) * 3,
    "console_alertreceiver": ("alert_receiver",) * 3,
    "console_screen": ("screen",) * 3,
    "console_recurringmessage": ("recurring",) * 3,
    "console_topicscope": ("topic_scope",) * 3,
    "console_pipelineschedule": ("schedule",) * 3,
    "auth_user": ("create_user", "edit_user", "delete_user"),
    "auth_group": ("create_role", "edit_role", "delete_role"),
}
NEEDS = "Needs the permission “administer” (drop messages, delete topics, manage users)."


def kept() -> list[tuple[Any, ...]]:
    found = AuditEntry.objects.filter(via="admin").order_by("pk")
    return [(each.action, each.result, each.reason, each.query, each.detail) for each in found]


@pytest.mark.parametrize("model", CHANGED)
def test_a_form_that_is_not_for_somebody(
    queue: Queue, as_role: Callable[..., Client], rows: dict[str, int | str], model: str
) -> None:
    viewer, key = as_role("Viewer"), rows[model]
    for form, action in zip(("add", "change", "delete"), CHANGED[model], strict=True):
        AuditEntry.objects.filter(via="admin").delete()
        at = reverse(f"console_admin:{model}_{form}", args=[] if form == "add" else [key])
        assert viewer.get(at).status_code in (200, 403) and not kept()  # whoever looks does nothing
        assert viewer.post(at, {"post": "yes", "reason": "why"}).status_code == 403
        ((said, result, reason, query, detail),) = kept()
        assert (said, result, reason) == (action, "refused", "why")
        assert query == {"rows": [] if form == "add" else [str(key)]}
        assert detail["error"].startswith("Needs the permission “")
    model_class = admin_of(model).model
    assert model_class._meta.managed is False or model_class.objects.filter(pk=key).exists()


def test_an_action_that_is_not_for_somebody(queue: Queue, as_role: Callable[..., Client]) -> None:
    row = an_outbox_row(state="parked", tries=3, at_ms=1)
    at = reverse(f"console_admin:{OUTBOX}_changelist") + "?state=parked"
    asked = {"action": "discard", "_selected_action": [row.pk], "reason": "forged"}
    answer = as_role("Operator").post(at, asked)
    assert answer.status_code == 403 and NEEDS in answer.content.decode()
    assert states() == {row.pk: "parked"}
    assert kept() == [("discard_outbox", "refused", "forged", {"rows": [str(row.pk)]}, {"error": NEEDS})]
    # Nor does what is offered, but said without a reason, go by unseen.
    as_role("Admin").post(at, {**asked, "reason": ""})
    assert [each[:3] for each in kept()[1:]] == [("discard_outbox", "refused", "")]


def test_tokens_and_passwords_of_others(queue: Queue, as_role: Callable[..., Client], rows: dict[str, Any]) -> None:
    browser, token = as_role("Operator"), make_token()[1]
    at = reverse("console_admin:console_apitoken_changelist")
    assert browser.post(at, {"action": "revoke", "_selected_action": [token.pk]}).status_code == 403
    assert browser.post(reverse("console_admin:console_apitoken_add"), {"name": "mine"}).status_code == 403
    at = reverse("console_admin:auth_user_password_change", args=[rows["auth_user"]])
    assert browser.post(at, {"password1": "secret", "password2": "secret"}).status_code == 403
    assert [each[:2] for each in kept()] == [
        (name, "refused") for name in ("revoke_token", "create_token", "set_password")
    ]
    assert "secret" not in str(kept()) and ApiToken.objects.filter(revoked_at=None).count() == ApiToken.objects.count()


def test_nothing_is_done_that_cannot_be_written_down(
    queue: Queue, as_role: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, token = make_token()
    row = RecurringMessage.objects.create(
        name="nightly", topic="orders", content="x", when="in_ms", value=0, every_ms=60_000
    )
    browser = as_role("Admin")

    def broken(*_: Any, **__: Any) -> None:
        raise DatabaseError("no room")

    for where in ("console.admin.tokens", "console.management.commands.token", "console.management.commands.recurring"):
        assert __import__(where, fromlist=["note"]).note is note
        monkeypatch.setattr(f"{where}.note", broken)
    at = reverse("console_admin:console_apitoken_changelist")
    for ask in (
        lambda: browser.post(at, {"action": "revoke", "_selected_action": [token.pk]}),
        lambda: call_command("token", "revoke", token.prefix),
        lambda: call_command("token", "create", "another"),
        lambda: call_command("recurring", "disable", row.name),
        lambda: call_command("recurring", "run", row.name),
    ):
        with pytest.raises(Exception, match="no room"):
            ask()
    assert [each.revoked_at for each in ApiToken.objects.all()] == [None]
    row.refresh_from_db()
    assert row.enabled and not row.ticks.exists()
