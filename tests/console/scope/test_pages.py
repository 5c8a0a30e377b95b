"""Every page, every form of the admin and the palette, opened by somebody for some topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import get_resolver, reverse

from console.access import topics_of
from console.models import (
    AlertRule,
    AuditEntry,
    MessageRecord,
    Operation,
    PipelineSchedule,
    Reconciliation,
    RecurringMessage,
    Screen,
    TopicRevision,
    TopicScope,
)
from console.outbox.models import OutboxMessage
from tests.console.acting import delete
from tests.console.conftest import Queue
from tests.console.scope.conftest import HIDDEN, text_of
from tests.console.test_access import names
from tests.console.test_pages import page_data
from tests.console.test_walk_admin import FORMS, MODELS

NO_TOPIC: dict[str, Any] = {}
# What of each page is asked for: (what leads to something of one's own, what leads to something hidden). None: there
# is no such thing. `ident` stands for the key of a hidden row.
PAGES: dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None]] = {
    **dict.fromkeys((
        "overview", "define", "audit", "workers", "routes", "dead", "operations", "reconciliation", "recurring",
        "alerts", "preferences", "texts",
    ), (NO_TOPIC, None)),
    **dict.fromkeys(("screens", "outbox"), (None, NO_TOPIC)),
    **dict.fromkeys(("topic", "send"), ({"topic": "orders"}, {"topic": f"{HIDDEN}-orders"})),
    "topic-tab": ({"topic": "orders", "tab": "definition"}, {"topic": f"{HIDDEN}-orders", "tab": "definition"}),
    "message": ({"topic": "orders"}, {"topic": f"{HIDDEN}-orders"}),
    "operation": (None, {"ident": Operation}),
    "run": (None, {"ident": Reconciliation}),
    "screen": (None, {"name": f"{HIDDEN}-wall"}),
    # By a secret link that an administrator of all topics has made.
    "screen-by-link": (None, {"secret": "none"}),
}  # fmt: skip
OPEN = {"set_language"}
MISSING = {"message"}
"""Answers 404 where no id is asked for."""


def test_every_page_is_walked_here() -> None:
    found = {name for name in names(get_resolver().url_patterns) if name.startswith("console:")}
    assert found == {f"console:{name}" for name in {*PAGES, *OPEN}}


def test_no_page_names_what_is_hidden(worlds: Queue, browser: Client) -> None:
    for name, (mine, others) in PAGES.items():
        if mine is not None:
            answer = browser.get(reverse(f"console:{name}", kwargs=mine))
            assert answer.status_code == (404 if name in MISSING else 200), name
            assert HIDDEN not in text_of(answer), name
        if others is not None:
            kwargs = {key: each.objects.first().pk if key == "ident" else each for key, each in others.items()}
            answer = browser.get(reverse(f"console:{name}", kwargs=kwargs))
            assert answer.status_code in (403, 404), name
            assert "page_data" not in text_of(answer), name


def test_old_addresses_tell_nothing(worlds: Queue, browser: Client) -> None:
    like = page_data(browser.get(reverse("console:define"), {"like": f"{HIDDEN}-orders"}))
    assert like["definition"]["name"] == "" and HIDDEN not in str(like)


def test_the_overview_counts_what_is_theirs(worlds: Queue, browser: Client) -> None:
    frame = page_data(browser.get("/"))["frame"]
    assert sorted(each["name"] for each in frame["topics"]) == ["events", "events@mail", "orders"]
    assert frame["totals"]["dead"] == 1 and frame["totals"]["workers"] is None
    assert {each["topic"] for each in frame["problems"]} == {"orders"}
    (worker,) = page_data(browser.get("/workers/"))["frame"]["workers"]
    assert worker["topics"] == {"orders": 0}


def test_the_palette_finds_what_is_theirs(worlds: Queue, browser: Client) -> None:
    address = reverse("console_admin:search")
    for term in ("cov", "orders", "dead", "e", "requeue", "lost", "here"):
        assert HIDDEN not in text_of(browser.get(address, {"s": term, "extended": "1"})), term
    assert "/topics/orders/" in text_of(browser.get(address, {"s": "orders", "extended": "1"}))


ROWS: dict[str, Any] = {
    "console_auditentry": AuditEntry,
    "console_topicrevision": TopicRevision,
    "console_recurringmessage": RecurringMessage,
    "console_screen": Screen,
    "console_alertrule": AlertRule,
    "console_topicscope": TopicScope,
    "auth_group": Group,
    "auth_user": User,
    "console_operation": Operation,
    "console_reconciliation": Reconciliation,
    "console_pipelineschedule": PipelineSchedule,
    "console_messagerecord": MessageRecord,
    "rmq_outbox_outboxmessage": OutboxMessage,
}
OF_NOBODY = {"console_apitoken", "console_alertreceiver", "console_topicdefinition", "console_routedefinition"}
"""Without a row here: the first two are closed to them, the others have a test of their own."""


def test_no_form_of_the_admin_names_what_is_hidden(worlds: Queue, browser: Client) -> None:
    assert set(ROWS) | OF_NOBODY == set(MODELS), "say what there is of a new model"
    for model in MODELS:
        answer = browser.get(reverse(f"console_admin:{model}_changelist"))
        assert answer.status_code in (200, 403), model
        assert HIDDEN not in text_of(answer), model
        for row in ROWS[model].objects.all() if model in ROWS else ():
            if HIDDEN not in " ".join(str(value) for value in vars(row).values()):
                continue
            for form in FORMS[2:]:
                answer = browser.get(reverse(f"console_admin:{model}_{form}", args=[row.pk]))
                assert answer.status_code in (302, 403, 404), (model, form)
                assert f"{HIDDEN}-orders" not in text_of(answer), (model, form)


def test_a_hidden_definition_leads_to_the_list(worlds: Queue, browser: Client) -> None:
    for model, name in (("topicdefinition", f"{HIDDEN}-orders"), ("routedefinition", f"{HIDDEN}-r")):
        for form in ("change", "delete"):
            answer = browser.get(reverse(f"console_admin:console_{model}_{form}", args=[name]))
            assert answer["Location"] == reverse(f"console_admin:console_{model}_changelist"), (model, form)
    answer = browser.get(reverse("console_admin:console_topicdefinition_history", args=[f"{HIDDEN}-orders"]))
    assert answer["Location"] == reverse("console_admin:console_topicdefinition_changelist")


def test_who_is_for_some_cannot_take_more(worlds: Queue, browser: Client, scoped: User) -> None:
    for model in ("console_apitoken", "console_topicscope", "auth_user", "auth_group", "console_alertreceiver"):
        for form in ("changelist", "add"):
            assert browser.get(reverse(f"console_admin:{model}_{form}")).status_code == 403, (model, form)
    address = reverse("console_admin:auth_user_change", args=[scoped.pk])
    assert browser.post(address, {"username": "me"}).status_code == 403


@pytest.mark.parametrize("groups", [["Team orders"], ["Team orders", "Team mail"], []])
def test_groups_with_topics_add_up(db: None, person: Callable[..., User], groups: list[str]) -> None:
    user = person("Operator")
    for name, patterns in (("Team orders", "orders"), ("Team mail", "mail, orders")):
        TopicScope.objects.create(group=Group.objects.create(name=name), patterns=patterns)
    user.groups.add(*Group.objects.filter(name__in=groups))
    expected = {"": ("*",), "Team orders": ("orders",), "Team orders Team mail": ("mail", "orders")}
    assert topics_of(user) == expected[" ".join(groups)]
    user = User.objects.create_superuser("root")
    user.groups.add(*Group.objects.filter(name__in=groups))
    assert topics_of(user) == ("*",)


def test_topics_are_given_in_the_admin(db: None, queue: Queue, as_role: Callable[..., Client]) -> None:
    admin, group = as_role("Admin"), Group.objects.create(name="Team")
    address = reverse("console_admin:console_topicscope_add")
    assert admin.post(address, {"group": group.pk, "patterns": "orders*  mail"}).status_code == 302
    row = TopicScope.objects.get()
    assert row.patterns == "orders*, mail"
    assert "Write topic names" in admin.post(address, {"group": group.pk, "patterns": "a/b"}).content.decode()
    delete(admin, reverse("console_admin:console_topicscope_delete", args=[row.pk]))
    assert not TopicScope.objects.exists()
    kept = AuditEntry.objects.filter(action="topic_scope").order_by("id")
    assert [(each.result, each.query.get("delete")) for each in kept] == [("done", None), ("done", True)]
