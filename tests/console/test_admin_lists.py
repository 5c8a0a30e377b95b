"""Lists of the admin that are only looked at: what they say, what they hide, how they are searched, and their acts."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from console.admin.looking import NEWEST
from console.models import AuditEntry, MessageTransition, Operation, PipelineSchedule, Reconciliation, TopicScope
from console.outbox.models import OutboxMessage
from tests.console.conftest import Queue
from tests.console.test_admin_texts import CHINESE, left_over
from tests.console.test_walk_admin import a_record, an_outbox_row

pytestmark = pytest.mark.django_db
OUTBOX, RECORD = "rmq_outbox_outboxmessage", "console_messagerecord"
DATA = ("orders", "secret", "dry_run", "erase")
"""In what stands on a page in both languages: content, names, and the codes in the name of a row."""
SAME = {"page", "ID"}


def page(browser: Client, model: str, key: Any = None, **asked: Any) -> str:
    headers = asked.pop("headers", {})
    address = reverse(f"console_admin:{model}_{'changelist' if key is None else 'change'}", args=[key] if key else [])
    answer = browser.get(address, asked, headers=headers)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def recorded() -> Any:
    record = a_record(ident=b"secret id", state="dead", error="KeyError: secret")
    step = {"at_ms": 1_000, "entry": 1, "seq": 0, "event": "died", "error": "KeyError: secret", "worker": "w1"}
    MessageTransition.objects.create(message=record.key, **step)
    return record


def an_operation(**values: Any) -> Operation:
    return Operation.objects.create(**{"action": "cancel", "topic": "orders", "filter": {"text": "secret"}, **values})


def an_erasure() -> Reconciliation:
    return Reconciliation.objects.create(kind="erase", topics=["orders"], asked={"ids": ["secret id"], "dry_run": True})


ROWS: dict[str, Callable[[], Any]] = {
    RECORD: recorded,
    "console_operation": an_operation,
    "console_reconciliation": an_erasure,
    OUTBOX: lambda: an_outbox_row(state="parked", tries=3, error="KeyError: secret", key=b"secret id"),
}


SHOWN = {OUTBOX: {"state": "parked"}}


@pytest.mark.parametrize("model", ROWS)
def test_who_may_not_read_content_sees_none(queue: Queue, as_role: Callable[..., Client], model: str) -> None:
    row = ROWS[model]()
    viewer, reader = as_role("Viewer"), as_role("Payload reader")
    for asked in ({}, {"key": row.pk}):
        shown = page(viewer, model, **asked, **SHOWN.get(model, {}))
        assert "secret" not in shown and "orders" in shown
        assert str(NEWEST) not in shown and "', '" not in shown.partition("<main")[2]
    if model != "console_reconciliation":  # whom it is about is on its page
        assert "secret" in page(reader, model, row.pk)


@pytest.mark.parametrize("model", ROWS)
def test_nothing_english_is_left_over(queue: Queue, as_role: Callable[..., Client], model: str) -> None:
    row, browser = ROWS[model](), as_role("Admin")
    for asked in ({}, {"key": row.pk}):
        shown = page(browser, model, headers=CHINESE, **asked)
        assert {each for each in left_over(shown) - SAME if not any(data in each.lower() for data in DATA)} == set()


@pytest.mark.parametrize("model", ROWS)
def test_nothing_is_counted(queue: Queue, as_role: Callable[..., Client], model: str) -> None:
    ROWS[model]()
    browser = as_role("Admin")
    with CaptureQueriesContext(
        connection,
    ) as asked:
        page(browser, model)
    of_rows = [each["sql"] for each in asked if OutboxMessage._meta.db_table in each["sql"] or model in each["sql"]]
    assert of_rows and not [sql for sql in of_rows if "COUNT(" in sql.upper()]
    assert browser.get(reverse(f"console_admin:{model}_changelist"), {"p": NEWEST}).status_code == 302


def test_the_record_is_searched_by_what_has_an_index(queue: Queue, as_role: Callable[..., Client]) -> None:
    browser = as_role("Operator")
    for topic in ("orders", "mail"):
        for ident in (b"a-1", b"a-2"):
            a_record(topic, ident)
    found = page(browser, RECORD, q="orders a-1")
    assert "id=a-1&slot=0" in found and "id=a-2" not in found and "/topics/mail/" not in found
    assert "id=a-2" in page(browser, RECORD, q="orders") and "?id=" not in page(browser, RECORD, q="order")
    assert "?id=" not in page(browser, RECORD, q="orders %zz"), "no id"
    assert "state" not in {each.parameter_name for each in filters(browser, RECORD)}
    assert "state" in {each.parameter_name for each in filters(browser, RECORD, topic="orders")}
    assert "?id=" not in page(browser, RECORD, topic="orders", state="dead")


def filters(browser: Client, model: str, **asked: str) -> Any:
    context: Any = browser.get(reverse(f"console_admin:{model}_changelist"), asked).context
    return context["cl"].filter_specs


def test_any_number_may_stand_for_a_time(queue: Queue, as_role: Callable[..., Client]) -> None:
    row = a_record(due_ms=2**62, updated_ms=-(2**62))
    assert str(2**62) in page(as_role("Operator"), RECORD, row.pk)
    assert str(-(2**62)) in page(as_role("Viewer"), RECORD)


def test_a_message_is_told_step_by_step(queue: Queue, as_role: Callable[..., Client]) -> None:
    shown = page(as_role("Operator"), RECORD, recorded().pk)
    assert "failed for good" in shown and "KeyError: secret" in shown and "w1" in shown


@pytest.mark.parametrize(("topics", "seen"), [
    (["orders"], True), (["orders", "events", "events@mail"], True), ([], False), (["orders", "covert"], False),
    (["covert", "orders"], False), (["(unreadable)"], False), (["events-x"], True), (["orders-x"], False),
])  # fmt: skip
def test_runs_of_other_topics_are_not_listed(
    db: None, person: Callable[..., User], topics: list[str], seen: bool
) -> None:
    user = person("Operator")
    TopicScope.objects.create(group=Group.objects.create(name="Team"), patterns="orders, events*")
    user.groups.add(Group.objects.get(name="Team"))
    browser = Client()
    browser.force_login(user)
    run = Reconciliation.objects.create(topics=topics)
    assert (str(run.pk) in page(browser, "console_reconciliation")) is seen


def act(browser: Client, model: str, name: str, *keys: Any, **values: str) -> str:
    sent = {"action": name, "_selected_action": [str(key) for key in keys], **values}
    address = reverse(f"console_admin:{model}_changelist", query=SHOWN.get(model))
    return html.unescape(browser.post(address, sent, follow=True).content.decode())


def test_rows_of_the_outbox_are_tried_and_discarded(queue: Queue, as_role: Callable[..., Client]) -> None:
    tried, ended = (an_outbox_row(state="parked", tries=3, at_ms=1) for _ in range(2))
    operator, admin = as_role("Operator"), as_role("Admin")
    assert "1 of 1 rows were changed." in act(operator, OUTBOX, "retry", tried.pk, reason="mended")
    act(operator, OUTBOX, "discard", ended.pk, reason="no")
    assert states() == {tried.pk: "waiting", ended.pk: "parked"}
    assert "Say why" in act(admin, OUTBOX, "discard", ended.pk)
    assert "1 of 1 rows were changed." in act(admin, OUTBOX, "discard", ended.pk, reason="of a test")
    assert states() == {tried.pk: "waiting", ended.pk: "discarded"}
    kept = AuditEntry.objects.filter(result="done").order_by("id").values_list("action", "reason", "via")
    assert list(kept) == [("retry_outbox", "mended", "admin"), ("discard_outbox", "of a test", "admin")]


def states() -> dict[int, str]:
    return dict(OutboxMessage.objects.values_list("pk", "state"))


def test_operations_are_stopped(queue: Queue, as_role: Callable[..., Client]) -> None:
    live, over = an_operation(), an_operation(state="done", finished=timezone.now())
    answer = act(as_role("Admin"), "console_operation", "stop", live.pk, over.pk)
    live.refresh_from_db()
    assert live.state == "stopped" and "This operation has ended already." in answer
    another = an_operation()
    act(as_role("Viewer"), "console_operation", "stop", another.pk)
    another.refresh_from_db()
    assert another.state == "queued"


@pytest.mark.parametrize("topics", [["a/b"], [1, None], [["orders"], {"a": 1}], ["\ufffe"], [""]])
def test_one_odd_row_takes_no_list_away(queue: Queue, as_role: Callable[..., Client], topics: list[Any]) -> None:
    name = topics[0] if isinstance(topics[0], str) else "a/b"
    rows = {
        RECORD: a_record(topic=name), "console_operation": an_operation(topic=name),
        "console_reconciliation": Reconciliation.objects.create(topics=topics),
        "console_pipelineschedule": PipelineSchedule.objects.create(kind="archive", topics=topics, every_ms=60_000),
        OUTBOX: an_outbox_row(topic=name),
    }  # fmt: skip
    browser = as_role("Admin")
    for model, row in rows.items():
        assert "</table>" in page(browser, model) and page(browser, model, row.pk)


def test_a_selection_reaches_nobody_elses_topics(queue: Queue, person: Callable[..., User]) -> None:
    user = person("Operator")
    TopicScope.objects.create(group=Group.objects.create(name="Team"), patterns="mail")
    user.groups.add(Group.objects.get(name="Team"))
    browser, operation = Client(), an_operation()
    browser.force_login(user)
    act(browser, "console_operation", "stop", operation.pk)
    act(browser, "console_operation", "stop", operation.pk, select_across="1")
    operation.refresh_from_db()
    assert operation.state == "queued"


def test_all_rows_are_not_chosen_where_that_is_not_offered(queue: Queue, as_role: Callable[..., Client]) -> None:
    for _ in range(2):
        an_outbox_row(state="parked", tries=3)
    act(as_role("Admin"), OUTBOX, "discard", 0, reason="x", select_across="1")
    assert set(states().values()) == {"parked"}
