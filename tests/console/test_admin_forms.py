"""Schedules and routes in the admin: the checks, the audit and the conflicts of their pages."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from console.models import AuditEntry, PipelineSchedule
from tests.console.acting import delete
from tests.console.conftest import Queue
from tests.console.test_walk_admin import a_route

pytestmark = pytest.mark.django_db
SCHEDULES, ROUTES = "/admin/console/pipelineschedule/", "/admin/console/routedefinition/"
SCHEDULE = {"kind": "archive", "names": "orders", "ledger": "", "every_ms": "3600000", "enabled": "on", "reason": "new"}


def sent(browser: Client, address: str, values: dict[str, Any]) -> tuple[int, str]:
    answer = browser.post(address, values)
    return answer.status_code, html.unescape(answer.content.decode())


def begun(browser: Client, made: PipelineSchedule) -> str:
    """What the form says of when it was opened."""
    (found,) = re.findall('name="begun" value="([^"]+)"', browser.get(f"{SCHEDULES}{made.pk}/change/").content.decode())
    return html.unescape(found)


def test_a_schedule_is_made_changed_and_deleted(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    browser = as_role("Editor")
    assert sent(browser, f"{SCHEDULES}add/", SCHEDULE)[0] == 302
    made = PipelineSchedule.objects.get()
    assert (made.kind, made.topics, made.every_ms, made.enabled) == ("archive", ["orders"], 3_600_000, True)
    assert made.next_ms > 0 and made.username == "editor"
    at = f"{SCHEDULES}{made.pk}/"
    changed = SCHEDULE | {"names": "", "every_ms": "60000", "begun": begun(browser, made)}
    assert sent(browser, f"{at}change/", changed)[0] == 302
    made.refresh_from_db()
    assert (made.topics, made.every_ms) == ([], 60_000)
    assert delete(browser, f"{at}delete/").status_code == 302
    assert not PipelineSchedule.objects.exists()
    kept = AuditEntry.objects.filter(action="schedule", result="done", via="admin").order_by("id")
    assert [each.reason for each in kept] == ["new", "new", "deleted in the admin"]


@pytest.mark.parametrize(("changes", "words"), [
    ({"names": "nothing"}, "nothing"), ({"names": " , ,"}, "names no topic"),
    ({"every_ms": "59999"}, "at least a minute"), ({"kind": "erase"}, "erase"),
])  # fmt: skip
def test_what_cannot_be_scheduled_is_said(
    queue: Queue, as_role: Callable[..., Client], changes: dict[str, str], words: str
) -> None:
    queue.topic()
    status, shown = sent(as_role("Editor"), f"{SCHEDULES}add/", SCHEDULE | changes)
    assert status == 200 and words in shown and not PipelineSchedule.objects.exists()


def test_a_schedule_of_a_topic_that_is_gone_is_disabled(queue: Queue, as_role: Callable[..., Client]) -> None:
    made = PipelineSchedule.objects.create(kind="archive", topics=["gone"], every_ms=3_600_000)
    browser = as_role("Editor")
    off = {**SCHEDULE, "names": "gone", "reason": "it is gone", "begun": begun(browser, made)}
    del off["enabled"]
    assert sent(browser, f"{SCHEDULES}{made.pk}/change/", off)[0] == 302
    made.refresh_from_db()
    assert not made.enabled and made.topics == ["gone"]


def test_an_old_form_of_a_schedule_undoes_nothing(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    made = PipelineSchedule.objects.create(kind="archive", topics=["orders"], every_ms=3_600_000)
    browser = as_role("Editor")
    at, old = f"{SCHEDULES}{made.pk}/change/", begun(browser, made)
    assert sent(browser, at, SCHEDULE | {"every_ms": "60000", "begun": old})[0] == 302
    for begun_with in (old, "", "nonsense"):
        status, shown = sent(browser, at, SCHEDULE | {"begun": begun_with})
        assert status == 200 and "Somebody else has changed this meanwhile" in shown
    made.refresh_from_db()
    assert made.every_ms == 60_000
    assert begun(browser, made) != old, "opened again, it can be saved"
    assert sent(browser, at, SCHEDULE | {"begun": begun(browser, made)})[0] == 302


def test_a_schedule_of_all_topics_is_one_of_all_topics_as_its_form_is_saved(
    queue: Queue, as_role: Callable[..., Client]
) -> None:
    queue.topic()
    made = PipelineSchedule.objects.create(kind="archive", topics=[], every_ms=3_600_000)
    browser, at = as_role("Editor"), f"{SCHEDULES}{made.pk}/change/"
    (field,) = re.findall(r'<input[^>]* name="names"[^>]*>', browser.get(at).content.decode())
    (value,) = re.findall(r'value="([^"]*)"', field) or [""]
    assert value == ""
    assert sent(browser, at, SCHEDULE | {"names": value, "begun": begun(browser, made)})[0] == 302
    made.refresh_from_db()
    assert made.topics == []


@contextmanager
def as_it_is_written(act: Callable[[], object]) -> Iterator[None]:
    """Somebody else does that in the moment before a schedule is written, or deleted."""
    left = [act]

    def before(run: Any, sql: str, *given: Any) -> Any:
        if left and sql.startswith(("UPDATE", "DELETE")) and "pipelineschedule" in sql:
            left.pop()()
        return run(sql, *given)

    with connection.execute_wrapper(before):
        yield
    assert not left


def test_a_schedule_that_others_change_while_it_is_saved(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    made = PipelineSchedule.objects.create(kind="archive", topics=["orders"], every_ms=3_600_000)
    browser = as_role("Editor")
    at, rows = f"{SCHEDULES}{made.pk}/", PipelineSchedule.objects.filter(pk=made.pk)
    wanted = SCHEDULE | {"every_ms": "60000", "begun": begun(browser, made)}
    with as_it_is_written(lambda: rows.update(every_ms=120_000, changed=timezone.now())):
        status, shown = sent(browser, f"{at}change/", wanted)
    assert status == 200 and "Somebody else has changed this schedule meanwhile" in shown and 'value="60000"' in shown
    (entry,) = AuditEntry.objects.filter(action="schedule")
    assert (entry.result, entry.reason) == ("refused", "new"), "though what was written was rolled back"
    wanted["begun"] = begun(browser, made)
    with as_it_is_written(rows.delete):
        status, shown = sent(browser, f"{at}change/", wanted)
    assert status in (200, 302) and (status == 302 or "There is no such schedule." in shown)
    made.save()
    with as_it_is_written(rows.delete):
        assert delete(browser, f"{at}delete/").status_code == 302


def test_who_may_not_schedule_looks(queue: Queue, as_role: Callable[..., Client]) -> None:
    made = PipelineSchedule.objects.create(kind="archive", topics=["orders"], every_ms=3_600_000)
    viewer = as_role("Viewer")
    shown = viewer.get(f"{SCHEDULES}{made.pk}/change/").content.decode()
    assert "1 h" in shown and "orders" in shown and 'name="every_ms"' not in shown
    assert viewer.post(f"{SCHEDULES}{made.pk}/change/", SCHEDULE).status_code == 403


def a_form(*targets: dict[str, Any], **values: str) -> dict[str, str]:
    return {"name": "r", "source": "orders", "targets": json.dumps(targets), "start": "end", "reason": "why", **values}


def test_a_route_is_made_changed_and_deleted(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    queue.topic("mail")
    browser = as_role("Editor")
    assert sent(browser, f"{ROUTES}add/", a_form({"topic": "mail", "in_ms": 5_000}))[0] == 302
    (made,) = queue.inspector.routes("r")
    assert made.route.targets[0].in_ms == 5_000
    assert "r/change" in browser.get(ROUTES).content.decode()
    seen = {"version": str(made.route.version), "created_ms": str(made.route.created_ms)}
    assert sent(browser, f"{ROUTES}r/change/", a_form({"topic": "mail"}, paused="on", **seen))[0] == 302
    (now,) = queue.inspector.routes("r")
    assert now.route.paused and now.route.targets[0].in_ms is None and now.route.version > made.route.version
    status, shown = sent(browser, f"{ROUTES}r/change/", a_form({"topic": "mail", "in_ms": 1}, **seen))
    assert status == 200 and "Somebody else has changed this route" in shown
    for begun_with in (seen, {}):
        status, shown = sent(browser, f"{ROUTES}r/delete/", {"reason": "over", **begun_with})
        assert status == 200 and "Somebody else has changed this route" in shown
    opened = browser.get(f"{ROUTES}r/delete/").content.decode()
    seen = {name: re.findall(f'name="{name}" value="([0-9]+)"', opened)[0] for name in ("version", "created_ms")}
    assert "Say why" in sent(browser, f"{ROUTES}r/delete/", {"reason": "", **seen})[1]
    assert sent(browser, f"{ROUTES}r/delete/", {"reason": "over", **seen})[0] == 302
    assert not queue.inspector.routes()
    kept = AuditEntry.objects.filter(result="done", via="admin").order_by("id").values_list("action", "reason")
    assert list(kept) == [("put_route", "why"), ("put_route", "why"), ("delete_route", "over")]


@pytest.mark.parametrize(("targets", "words"), [
    ("[", "JSON"), ("[]", "required"), ('[{"topic": "orders"}]', "back to its source"), ("7", "targets"),
    ("[NaN]", "must not hold NaN"), ("[" * 40, "JSON"), ("[" * 50_000, "nested deeper"),
    ("[" * 40 + "]" * 40, "nested deeper"), ("9" * 5_000, "too large"),
    ('[{"topic": "mail", "in_ms": 1e999}]', "too large"), ('["\\ud800"]', "not Unicode text"),
    ('[{"topic": "mail", "topic": "mail"}]', "twice"),
    ('[{"topic": "mail", "priority": ' + "9" * 30 + "}]", "too large"),
    ('["\\u0000"]', "targets"), ('[{"topic": "a\\u0000"}]', "topic"), ('[[]]', "targets"), ("null", "required"),
    ('[{"topic": "mail", "when": 7}]', "when"), ("\0", "JSON"),
    ('[{"topic": "nothing"}]', "nothing"), ('[{"topic": "mail", "x": 1}]', "unknown field"), ("{}", "targets"),
])  # fmt: skip
def test_what_is_no_route_is_said(queue: Queue, as_role: Callable[..., Client], targets: str, words: str) -> None:
    queue.topic()
    queue.topic("mail")
    status, shown = sent(as_role("Editor"), f"{ROUTES}add/", a_form(targets=targets))
    assert status == 200 and words in shown and not queue.inspector.routes()


def test_who_may_not_change_routes_looks(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    a_route(queue)
    viewer = as_role("Viewer")
    assert "mail" in viewer.get(f"{ROUTES}r/change/").content.decode()
    assert viewer.post(f"{ROUTES}r/change/", a_form({"topic": "mail"})).status_code == 403
    assert viewer.post(f"{ROUTES}r/delete/", {"reason": "x"}).status_code == 403
    assert queue.inspector.routes("r")
