"""Since when each topic is clean."""

from __future__ import annotations

from datetime import datetime, timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.clock import ms_of
from console.jobs import runs as jobs
from console.models import Finding, Reconciliation, TopicVerdict
from console.usecases.runs import clean
from tests.console.api.conftest import Caller, make_token
from tests.console.reconciliation.conftest import Office

pytestmark = pytest.mark.django_db


def reconciled(at: datetime, topics: list[str], gap: str = "", **more: Any) -> Reconciliation:
    summary = {"inputs": {"topics": topics}, "gaps": [{"topic": gap, "slot": 0}] if gap else []} | more
    return Reconciliation(
        kind="reconcile", state="done", username="a", created=at, finished=at, summary=summary, complete=not gap
    )


def shown() -> dict[str, dict[str, Any]]:
    return {each["topic"]: each for each in Caller(*make_token("Viewer")).ok("GET", "/reconciliations/clean")["topics"]}


def test_since_when_each_topic_is_clean(office: Office) -> None:
    """The run from which on none found anything of it, or lacked anything; one that was not about it says nothing."""
    begun = timezone.now() - timedelta(hours=9)

    def ended(hour: int, topics: list[str], found: str = "", gap: str = "", **more: Any) -> Reconciliation:
        run = reconciled(begun + timedelta(hours=hour), topics, gap, **more)
        run.save()
        if found:
            Finding.objects.create(run=run, kind="lost", topic=found, slot=0, ident="a")
            run.findings = run.listed = 1
            run.save()
        clean.note(run)
        return run

    ended(0, ["mail", "orders", "torn"])
    ended(1, ["mail", "orders", "torn", "silent"], found="mail", without_journal=["silent"])
    third = ended(2, ["mail", "orders", "torn"])
    ended(3, ["mail", "torn"], gap="torn")
    last = ended(4, ["mail", "orders"], found="orders")
    rows = shown()
    assert set(rows) == {"mail", "orders", "torn"}
    assert rows["mail"]["clean_since_ms"] == ms_of(third.finished) and rows["mail"]["run"] == str(last.pk)
    assert (rows["orders"]["clean_since_ms"], rows["orders"]["findings"]) == (None, 1)
    assert (rows["torn"]["clean_since_ms"], rows["torn"]["complete"]) == (None, False)
    assert [
        each["topic"] for each in Caller(*make_token("Viewer", "ma*")).ok("GET", "/reconciliations/clean")["topics"]
    ] == ["mail"]
    # An upgrade finds the same in the runs that are kept.
    kept = list(TopicVerdict.objects.values("topic", "clean_since", "at", "run", "findings", "complete"))
    TopicVerdict.objects.all().delete()
    schema_editor: Any = SimpleNamespace(connection=connection)
    import_module("console.migrations.0032_clean_topics").look_back(apps, schema_editor)
    assert list(TopicVerdict.objects.values("topic", "clean_since", "at", "run", "findings", "complete")) == kept


def test_an_upgrade_passes_over_runs_that_cannot_be_read(office: Office) -> None:
    for text in ("[]", '{"inputs": {"topics": 5}, "gaps": 5, "without_journal": 5}', "5"):
        run = reconciled(timezone.now(), ["orders"])
        run.topics = ["mail"]
        run.save()
        with connection.cursor() as cursor:
            cursor.execute("UPDATE console_reconciliation SET summary = %s WHERE id = %s", [text, run.pk.hex])
    schema_editor: Any = SimpleNamespace(connection=connection)
    import_module("console.migrations.0032_clean_topics").look_back(apps, schema_editor)
    assert [each.topic for each in TopicVerdict.objects.all()] == ["mail"]


def test_it_goes_back_as_far_as_there_were_runs_and_reads_none_of_them(office: Office) -> None:
    begun = timezone.now() - timedelta(days=1)
    for minute in range(700):
        clean.note(reconciled(begun + timedelta(minutes=minute), ["mail", "orders"], "orders" if minute == 9 else ""))
    caller = Caller(*make_token("Viewer"))
    with CaptureQueriesContext(
        connection,
    ) as asked:
        found = {each["topic"]: each for each in caller.ok("GET", "/reconciliations/clean")["topics"]}
    assert found["mail"]["clean_since_ms"] == ms_of(begun)
    assert found["orders"]["clean_since_ms"] == ms_of(begun + timedelta(minutes=10))
    assert found["mail"]["at_ms"] == ms_of(begun + timedelta(minutes=699))
    assert not [each["sql"] for each in asked if "console_reconciliation" in each["sql"]]


def test_a_run_that_ends_well_says_so(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    run = office.do(topics=("orders",))
    assert (shown()["orders"]["findings"], shown()["orders"]["run"]) == (4, str(run.pk))
    office.do(kind="archive", topics=("orders",))
    monkeypatch.setenv("RUN_AS", "fails")
    assert office.do(topics=("orders",)).state == "failed"
    assert shown()["orders"]["run"] == str(run.pk)


def test_names_that_cannot_be_kept_keep_no_run_from_its_end(office: Office) -> None:
    clean.note(reconciled(timezone.now(), ["a\x00b", "\ud800", "x" * 300, "fine"]))
    assert [each.topic for each in TopicVerdict.objects.all()] == ["fine"]


def test_what_a_page_leads_to_stays_and_what_nobody_compares_goes(office: Office) -> None:
    at = timezone.now() - timedelta(days=2)
    for topics in (["mail"], ["mail"]):
        run = reconciled(at, topics, same_as="the first")
        run.save()
        clean.note(run)
    jobs.prune()
    assert [each.pk for each in Reconciliation.objects.all()] == [run.pk] and shown()["mail"]["run"] == str(run.pk)
    TopicVerdict.objects.update(at=timezone.now() - jobs.KEPT - timedelta(hours=1))
    jobs.prune()
    assert not TopicVerdict.objects.exists() and not Reconciliation.objects.exists()


@pytest.mark.parametrize("hour", [1, 3])
def test_of_runs_that_end_at_once_the_later_one_has_the_last_word(office: Office, hour: int) -> None:
    """While one is noted, another one that found something is: before, or after it."""
    begun = timezone.now() - timedelta(hours=9)
    first, run, other = (reconciled(begun + timedelta(hours=at), ["mail"]) for at in (0, 2, hour))
    other.findings = other.listed = 1
    for each in (first, run, other):
        each.save()
    Finding.objects.create(run=other, kind="lost", topic="mail", slot=0, ident="a")
    left = [other]

    def before(execute: Any, sql: str, *given: Any) -> Any:
        if left and sql.startswith(("INSERT", "UPDATE")) and "topicverdict" in sql:
            clean.note(left.pop())
        return execute(sql, *given)

    clean.note(first)
    with connection.execute_wrapper(before):
        clean.note(run)
    later = max(run, other, key=lambda each: each.finished)
    row = TopicVerdict.objects.get()
    assert (row.run, row.at, row.findings) == (later.pk, later.finished, later.findings)
    assert row.clean_since == (run.finished if later is run else None)
    assert not left


def test_who_is_noted_late_changes_nothing(office: Office) -> None:
    begun = timezone.now() - timedelta(hours=9)
    early, late = (reconciled(begun + timedelta(hours=at), ["mail"]) for at in (0, 1))
    for each in (early, late):
        each.save()
    clean.note(late)
    clean.note(early)
    row = TopicVerdict.objects.get()
    assert (row.run, row.clean_since) == (late.pk, late.finished)
