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

from console.access import TokenUser
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


def put(model: Any, field: str, value: Any, pk: int | None = None) -> None:
    """Behind Django's back, into one row or all."""
    column = model._meta.get_field(field).column
    key = model._meta.pk.get_db_prep_value(pk, connection)
    row, named = (" WHERE id = %s", [key]) if pk else ("", [])
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = 1")
        cursor.execute(f'UPDATE {model._meta.db_table} SET "{column}" = %s{row}', [value, *named])
        cursor.execute("PRAGMA ignore_check_constraints = 0")


@pytest.fixture
def rows(queue: Queue, db: None) -> dict[tuple[Any, str], int]:
    """A row for each of the fields, by its key."""
    if connection.vendor != "sqlite":
        pytest.skip("this database lets no such row in")
    queue.topic()
    found = {}
    for number, (model, field) in enumerate(JSON_FIELDS, start=1):
        about: dict[str, Any] = {"username": "a"}
        if model is Operation:
            entry = AuditEntry.objects.create(username="a", action="cancel", topic="orders")
            about |= {"action": "cancel", "topic": "orders", "audit": entry, "due_ms": 1}
        elif model is AuditEntry:
            about |= {"action": "cancel", "topic": "orders"}
        elif model is TopicRevision:
            about = {"topic": "orders", "version": number, "stored_ms": 1, "change": "created"}
        row = model.objects.create(**about)
        if model is Operation:
            OperationPart.objects.create(operation=row, number=1, undone="[[0]]")
        found[model, field] = row.pk
    return found


def shown(browser: Client, ask: Caller, rows: dict[tuple[Any, str], int]) -> None:
    """Everything that shows one of these rows."""
    entries, operations, runs = (
        [pk for (model, _), pk in rows.items() if model is each] for each in (AuditEntry, Operation, Reconciliation)
    )
    pages = (
        *("/audit/", "/api/v1/audit", "/api/v1/audit/export?form=csv", "/api/v1/audit/export"),
        *("/operations/", "/api/v1/operations", "/reconciliation/", "/api/v1/reconciliations"),
        *("/api/v1/topics/orders/revisions", "/api/v1/topics/orders/biography/a"),
        *("/admin/console/auditentry/", "/admin/console/topicrevision/"),
        *(f"/api/v1/audit/{pk}" for pk in entries),
        *(f"/admin/console/auditentry/{pk}/change/" for pk in entries),
        *(f"/operations/{pk}/" for pk in operations),
        *(f"/api/v1/operations/{pk}" for pk in operations),
        *(f"/api/v1/operations/{pk}/report?form=csv" for pk in operations),
        *(f"/reconciliation/{pk}/" for pk in runs),
        *(f"/api/v1/reconciliations/{pk}" for pk in runs),
    )
    rest = (
        *("/audit", "/operations", "/reconciliations", "/topics/orders/revisions"),
        *(f"/operations/{pk}{part}" for pk in operations for part in ("", "/report")),
        *(f"/reconciliations/{pk}" for pk in runs),
    )
    for get, paths in ((browser.get, pages), (ask.get, rest)):
        for path in paths:
            answer = get(path)
            content = b"".join(answer.streaming_content) if answer.streaming else answer.content
            assert answer.status_code == 200, (path, content[:300])
            content.decode()


@pytest.mark.parametrize("value", BAD)
def test_rows_that_are_no_json(
    rows: dict[tuple[Any, str], int], as_role: Callable[..., Client], value: str, caplog: pytest.LogCaptureFixture
) -> None:
    browser, ask = as_role("Admin"), Caller(*make_token("Admin", rate_per_minute=100_000))
    for (model, field), pk in rows.items():
        put(model, field, value, pk)
    shown(browser, ask, rows)
    if value == "{":
        for (model, field), pk in rows.items():
            assert f"a row of {model._meta.label} has a {field}" in caplog.text
            assert getattr(model.objects.get(pk=pk), field) in ([UNREADABLE], {"unreadable": "{"})


def test_parts_and_texts_with_odd_bytes(rows: dict[tuple[Any, str], int], as_role: Callable[..., Client]) -> None:
    browser, ask = as_role("Admin"), Caller(*make_token("Admin", rate_per_minute=100_000))
    one_of_each = dict({model: ((model, field), pk) for (model, field), pk in rows.items()}.values())
    for value in ("{", "[1]", '[["a"]]', '[[0, "\\ud800", "failed"]]', "nonsense"):
        put(OperationPart, "undone", value)
        shown(browser, ask, one_of_each)
    texts = (
        *(("auditentry", "reason"), ("auditentry", "username"), ("operation", "reason"), ("reconciliation", "error")),
        *(("topicrevision", "reason"), ("apitoken", "name")),
    )
    with connection.cursor() as cursor:
        for table, column in texts:
            cursor.execute(f"UPDATE console_{table} SET {column} = CAST(x'61FF00C3' AS TEXT)")
    shown(browser, ask, one_of_each)
    assert browser.get("/admin/console/apitoken/").status_code == 200
    assert ApiToken.objects.get().name.startswith("a\\xff")


def test_exports_are_whole(queue: Queue, db: None) -> None:
    everybody = TokenUser("all", "x", "Admin")
    for number, reason in enumerate(("fine", "=1+1", "two\nlines")):
        AuditEntry.objects.create(username=f"u{number}", action="cancel", reason=reason, query={"a": "\ud800\x00"})
    lines = "".join(audit_list.export(AuditFilter(), "jsonl", everybody)).splitlines()
    assert [json.loads(line)["who"] for line in lines] == ["u2", "u1", "u0"]
    assert json.loads(lines[0])["query"] == {"a": "\\ud800\\x00"}
    table = list(csv.reader(io.StringIO("".join(audit_list.export(AuditFilter(), "csv", everybody)))))
    assert len(table) == 4 and table[1][8] == "two\nlines"


def test_the_audit_keeps_what_can_be_kept(db: None) -> None:
    AuditEntry(username="u\ud800" * 100, action="cancel", topic="t" * 200, reason="r\x00\u202e" * 300).save()
    entry = AuditEntry.objects.get()
    assert (len(entry.username), len(entry.topic), len(entry.reason)) == (150, 100, 500)
    assert entry.username.startswith("u\\ud800u") and entry.reason.startswith("r\\x00\\u202e")
    with pytest.raises(ValueError, match="add it to ACTIONS"):
        AuditEntry(username="u", action="purge").save()
    assert "cancel" in ACTIONS
