"""Every address of the Django admin with every role, and with none. One that is added has to be added here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import get_resolver, reverse

from console.access import ROLES
from console.models import (
    AlertReceiver,
    AlertRule,
    AuditEntry,
    MessageRecord,
    Operation,
    PipelineSchedule,
    Reconciliation,
    RecordPosition,
    RecurringMessage,
    Screen,
    TopicRevision,
    TopicScope,
)
from console.outbox.models import OutboxMessage
from console.record.life import key_of
from console.usecases.definitions import revisions as topic_history
from rmq_core import Route
from rmq_core.model.route import Target
from tests.console.api.conftest import make_token
from tests.console.conftest import Queue
from tests.console.test_access import names

NOBODY: frozenset[str] = frozenset()
ADMIN = frozenset({"Admin"})
EVERYBODY = frozenset(ROLES)
READERS = EVERYBODY - {"Viewer"}
EDITORS = frozenset({"Editor", "Admin"})
FORMS = ("changelist", "add", "change", "delete", "history")
# Who gets a page: list, add, change (or only look), delete, history.
MODELS: dict[str, tuple[frozenset[str], ...]] = {
    "auth_user": (ADMIN, ADMIN, ADMIN, ADMIN, ADMIN),
    "auth_group": (ADMIN, ADMIN, ADMIN, ADMIN, ADMIN),
    "console_auditentry": (ADMIN, NOBODY, ADMIN, NOBODY, ADMIN),
    "console_apitoken": (ADMIN, ADMIN, ADMIN, NOBODY, ADMIN),
    "console_topicrevision": (EVERYBODY, NOBODY, EVERYBODY, NOBODY, EVERYBODY),
    "console_alertrule": (EVERYBODY, EDITORS, EVERYBODY, EDITORS, EVERYBODY),
    "console_alertreceiver": (ADMIN, ADMIN, ADMIN, ADMIN, ADMIN),
    "console_screen": (EVERYBODY, EDITORS, EVERYBODY, EDITORS, EVERYBODY),
    "console_topicscope": (ADMIN, ADMIN, ADMIN, ADMIN, ADMIN),
    "console_recurringmessage": (READERS, EDITORS, READERS, EDITORS, READERS),
    # Its history is among the revisions, and leads there.
    "console_topicdefinition": (EVERYBODY, EDITORS, EVERYBODY, ADMIN, NOBODY),
    # Its history is in the audit, and leads there.
    "console_routedefinition": (EVERYBODY, EDITORS, EVERYBODY, EDITORS, NOBODY),
    "console_pipelineschedule": (EVERYBODY, EDITORS, EVERYBODY, EDITORS, EVERYBODY),
    **dict.fromkeys(
        ("console_operation", "console_reconciliation", "console_messagerecord", "rmq_outbox_outboxmessage"),
        (EVERYBODY, NOBODY, EVERYBODY, NOBODY, EVERYBODY),
    ),
}
OWN = {"auth_user_password_change": ADMIN, "console_apitoken_secret": ADMIN}
# Django's and Unfold's own: they ask for a signed-in member of staff, and show what that one may see.
FRAME = {
    "index", "login", "logout", "password_change", "password_change_done", "autocomplete", "jsi18n", "view_on_site",
    "app_list", "search", "records",
}  # fmt: skip


def test_every_address_is_walked_here() -> None:
    mine = "console_admin:"
    found = {name.removeprefix(mine) for name in names(get_resolver().url_patterns) if name.startswith(mine)}
    assert found == FRAME | set(OWN) | {f"{model}_{form}" for model in MODELS for form in FORMS}


@pytest.fixture
def rows(queue: Queue, person: Callable[..., User]) -> dict[str, int | str]:
    """A row of every table, and its key."""
    queue.topic()
    topic_history.look(queue.inspector.topics(), queue.inspector.now_ms())
    return {
        "auth_user": person("Viewer", "somebody").pk,
        "auth_group": Group.objects.get(name="Viewer").pk,
        "console_auditentry": AuditEntry.objects.create(username="somebody", action="pause").pk,
        "console_apitoken": make_token()[1].pk,
        "console_topicrevision": TopicRevision.objects.get().pk,
        "console_recurringmessage": RecurringMessage.objects.create(
            name="n", topic="orders", content="x", when="in_ms", value=0, every_ms=60_000
        ).pk,
        "console_screen": Screen.objects.create(name="wall", panels="figures").pk,
        "console_alertrule": AlertRule.objects.create(name="n", problem="dead").pk,
        "console_alertreceiver": AlertReceiver.objects.create(name="n", address="https://n/secret").pk,
        "console_topicscope": TopicScope.objects.create(group=Group.objects.create(name="Team"), patterns="mail").pk,
        "console_topicdefinition": "orders",
        "console_routedefinition": a_route(queue),
        "console_pipelineschedule": PipelineSchedule.objects.create(kind="archive", every_ms=60_000).pk,
        "console_operation": Operation.objects.create(action="cancel", topic="orders").pk.hex,
        "console_reconciliation": Reconciliation.objects.create(topics=["orders"]).pk.hex,
        "console_messagerecord": a_record().pk.hex,
        "rmq_outbox_outboxmessage": an_outbox_row().pk,
    }


def a_route(queue: Queue, name: str = "r") -> str:
    queue.topic("mail")
    queue.client.define_route(Route(name, "orders", (Target("mail"),)))
    return name


def a_record(topic: str = "orders", ident: bytes = b"a", state: str = "done", **values: Any) -> MessageRecord:
    """As the keeper writes it, with its place in the journal."""
    RecordPosition.objects.get_or_create(topic=topic, slot=0, defaults={"entry_id": "1-0"})
    times = {"first_ms": 1_000, "updated_ms": 2_000}
    key = key_of(topic, 0, ident)
    return MessageRecord.objects.create(key=key, topic=topic, slot=0, ident=ident, state=state, **{**times, **values})


def an_outbox_row(topic: str = "orders", **values: Any) -> OutboxMessage:
    given = {"kind": "delayed", "value": 0, "content": b"secret content", "lane": 1, "written_ms": 1_000, **values}
    return OutboxMessage.objects.create(topic=topic, **given)


def address(name: str, key: int | str) -> str:
    needs_key = name.endswith(("_change", "_delete", "_history", "_secret"))
    return reverse(f"console_admin:{name}", args=[key] if needs_key else [])


@pytest.mark.parametrize("role", [None, *ROLES])
def test_each_role_opens_what_it_may(rows: dict[str, int | str], as_role: Callable[..., Client], role: str) -> None:
    browser = as_role(role)
    wrong = []
    for model, allowed in MODELS.items():
        for form, roles in zip(FORMS, allowed, strict=True):
            answer = browser.get(address(f"{model}_{form}", rows[model]))
            if (answer.status_code == 200) != (role in roles):
                wrong.append((model, form, answer.status_code))
            assert answer.status_code in (200, 302, 403), (model, form)
    assert not wrong
    for name, model in (("auth_user_password_change", "auth_user"), ("console_apitoken_secret", "console_apitoken")):
        answer = browser.get(address(name, rows[model]))
        assert answer.status_code == (200 if role in OWN[name] else 403)
        if answer.status_code == 403:  # in the console's own frame, with words and a way on
            assert "rc-empty" in answer.content.decode()
            assert role is None or "Overview" in answer.content.decode()


def test_outsiders_are_asked_to_sign_in(rows: dict[str, int | str], client: Client) -> None:
    walked = [f"{model}_{form}" for model in MODELS for form in FORMS]
    for name in [*walked, *OWN]:
        model = next(model for model in MODELS if name.startswith(model))
        answer = client.get(address(name, rows[model]))
        assert answer.status_code == 302 and "/admin/login/" in answer["Location"], name
    for name in FRAME - {"login", "jsi18n", "app_list", "view_on_site"}:
        answer = client.get(reverse(f"console_admin:{name}"))
        assert answer.status_code == 302, name
