"""Rows of the database that are not what they should be: lists, exports and pages show the others, and name them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from console.models import ApiToken, AuditEntry, Operation, OperationPart, Reconciliation, TopicRevision
from console.models.audit import ACTIONS
from console.models.fields import UNREADABLE
from console.usecases import audit_list
from console.usecases.audit_list import AuditFilter
from tests.console.api.conftest import Caller, make_token
from tests.console.conftest import Queue

JSON_FIELDS = [
    (AuditEntry, "query"), (AuditEntry, "detail"), (Operation, "filter"), (Operation, "refs"), (Operation, "values"),
    (Operation, "place"), (Reconciliation, "topics"), (Reconciliation, "stages"), (Reconciliation, "summary"),
    (Reconciliation, "tables"), (TopicRevision, "definition"), (TopicRevision, "difference"),
]  # fmt: skip
# Valid JSON of another kind among them. A database that checks JSON lets only those in.
BAD = ["{", "7", "null", '{"a": "\\ud800"}', '[["\\ud800"]]']


def put(model: Any, field: str, value: Any) -> None:
    column = model._meta.get_field(field).column
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = 1")
        cursor.execute(f'UPDATE {model._meta.db_table} SET "{column}" = %s', [value])
        cursor.execute("PRAGMA ignore_check_constraints = 0")


@pytest.fixture
def rows(queue: Queue, db: None) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("this database lets no such row in")
    queue.topic()
    entry = AuditEntry.objects.create(username="a", action="cancel", topic="orders")
    operation = Operation.objects.create(action="cancel", topic="orders", username="a", audit=entry, due_ms=1)
    OperationPart.objects.create(operation=operation, number=1, undone="[[0]]")
    Reconciliation.objects.create(username="a")
    TopicRevision.objects.create(topic="orders", version=1, stored_ms=1, change="created")


def shown(browser: Client, ask: Caller) -> None:
    """Everything that shows one of these rows."""
    run, operation = Reconciliation.objects.only("pk").first(), Operation.objects.only("pk").first()
    entry = AuditEntry.objects.only("pk").order_by("pk").first()
    assert run is not None and operation is not None and entry is not None
    pages = (
        *(
            "/audit/",
            "/api/v1/audit",
            f"/api/v1/audit/{entry.pk}",
            "/api/v1/audit/export?form=csv",
            "/api/v1/audit/export",
        ),
        *("/operations/", "/api/v1/operations", f"/operations/{operation.pk}/", f"/api/v1/operations/{operation.pk}"),
        *(f"/api/v1/operations/{operation.pk}/report?form=csv", "/reconciliation/", "/api/v1/reconciliations"),
        *(f"/reconciliation/{run.pk}/", f"/api/v1/reconciliations/{run.pk}", "/api/v1/topics/orders/revisions"),
        *("/api/v1/topics/orders/biography/a", "/admin/console/auditentry/", "/admin/console/topicrevision/"),
        f"/admin/console/auditentry/{entry.pk}/change/",
    )
    for page in pages:
        answer = browser.get(page)
        assert answer.status_code == 200, (page, answer.content[:300])
        (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode()
    rest = (
        *("/audit", "/operations", f"/operations/{operation.pk}", f"/operations/{operation.pk}/report"),
        *("/reconciliations", f"/reconciliations/{run.pk}", "/topics/orders/revisions"),
    )
    for path in rest:
        answer = ask.get(path)
        assert answer.status_code == 200, (
            path,
            b"".join(answer.streaming_content) if answer.streaming else answer.content,
        )


@pytest.mark.parametrize(("model", "field"), JSON_FIELDS, ids=lambda each: getattr(each, "__name__", each))
def test_a_row_that_is_no_json(
    rows: None, as_role: Callable[..., Client], model: Any, field: str, caplog: pytest.LogCaptureFixture
) -> None:
    browser, ask = as_role("Admin"), Caller(*make_token("Admin", rate_per_minute=100_000))
    for value in BAD:
        put(model, field, value)
        shown(browser, ask)
    assert f"a row of {model._meta.label} has a {field}" in caplog.text
    put(model, field, "{")
    found = getattr(model.objects.first(), field)
    assert found in ([UNREADABLE], {"unreadable": "{"})


def test_parts_and_texts_with_odd_bytes(rows: None, as_role: Callable[..., Client]) -> None:
    browser, ask = as_role("Admin"), Caller(*make_token("Admin", rate_per_minute=100_000))
    for value in ("{", "[1]", '[["a"]]', '[[0, "\\ud800", "failed"]]', "nonsense"):
        put(OperationPart, "undone", value)
        shown(browser, ask)
    texts = (
        *(("auditentry", "reason"), ("auditentry", "username"), ("operation", "reason"), ("reconciliation", "error")),
        *(("topicrevision", "reason"), ("apitoken", "name")),
    )
    with connection.cursor() as cursor:
        for table, column in texts:
            cursor.execute(f"UPDATE console_{table} SET {column} = CAST(x'61FF00C3' AS TEXT)")
    shown(browser, ask)
    assert browser.get("/admin/console/apitoken/").status_code == 200
    assert ApiToken.objects.get().name.startswith("a\\xff")


def test_exports_are_whole(rows: None) -> None:
    for number, reason in enumerate(("fine", "=1+1", "two\nlines")):
        AuditEntry.objects.create(username=f"u{number}", action="cancel", reason=reason, query={"a": "\ud800\x00"})
    lines = "".join(audit_list.export(AuditFilter(), "jsonl")).splitlines()
    assert [json.loads(line)["who"] for line in lines] == ["u2", "u1", "u0", "a"]
    assert json.loads(lines[0])["query"] == {"a": "\\ud800\\x00"}
    table = list(csv.reader(io.StringIO("".join(audit_list.export(AuditFilter(), "csv")))))
    assert len(table) == 5 and table[1][8] == "two\nlines"


def test_the_audit_keeps_what_can_be_kept(db: None) -> None:
    AuditEntry(username="u\ud800" * 100, action="cancel", topic="t" * 200, reason="r\x00\u202e" * 300).save()
    entry = AuditEntry.objects.get()
    assert (len(entry.username), len(entry.topic), len(entry.reason)) == (150, 100, 500)
    assert entry.username.startswith("u\\ud800u") and entry.reason.startswith("r\\x00\\u202e")
    with pytest.raises(ValueError, match="add it to ACTIONS"):
        AuditEntry(username="u", action="purge").save()
    assert "cancel" in ACTIONS
