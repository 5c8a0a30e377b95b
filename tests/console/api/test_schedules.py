"""Runs that start by themselves, over REST."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from console.api.runs import schedules
from console.models import AuditEntry, PipelineSchedule
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

PATH = "/reconciliations/schedules"


@pytest.fixture
def editor(queue: Queue, caller: Callable[..., Caller]) -> Caller:
    queue.topic()
    return caller("Editor")


def test_one_is_made_changed_disabled_and_deleted(editor: Caller) -> None:
    answer = editor.post(PATH, {"kind": "archive", "topics": ["orders"], "every_ms": 3_600_000, "reason": "nightly"})
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert answer["Location"] == f"/api/v1{PATH}/{made['id']}"
    assert (made["kind"], made["topics"], made["every_ms"], made["enabled"]) == ("archive", ["orders"], 3_600_000, True)
    path = f"{PATH}/{made['id']}"
    assert editor.ok("GET", path) == made and editor.ok("GET", PATH) == {"schedules": [made]}
    changed = editor.ok("PATCH", path, {"every_ms": 60_000, "topics": []})
    assert (changed["kind"], changed["topics"], changed["every_ms"], changed["enabled"]) == (
        "archive",
        [],
        60_000,
        True,
    )
    assert editor.ok("PATCH", path, {"enabled": False, "reason": "holidays"})["enabled"] is False
    kept = editor.ok("PATCH", path, {"every_ms": 120_000})
    assert (kept["enabled"], kept["every_ms"]) == (False, 120_000), "what is disabled stays so"
    assert editor("DELETE", f"{path}?reason=done+with").status_code == 204
    problem(editor.get(path), 404, "unknown_schedule")
    entries = AuditEntry.objects.filter(action="schedule").order_by("id")
    assert [each.reason for each in entries] == ["nightly", "", "holidays", "", "done with"]
    assert {each.result for each in entries} == {"done"} and {each.via for each in entries} == {"rest"}


def test_what_cannot_run_is_refused(editor: Caller) -> None:
    problem(editor.post(PATH, {"every_ms": 59_000}), 422, "invalid")
    problem(editor.post(PATH, {"kind": "restore", "every_ms": 60_000}), 422, "invalid")
    for topics in (["nosuch"], [" , ,"], [""], [" "]):
        problem(editor.post(PATH, {"topics": topics, "every_ms": 60_000}), 422, "invalid")
    problem(editor.post(PATH, {"ledger": "none.csv", "every_ms": 60_000}), 422, "bad_request")
    assert not PipelineSchedule.objects.exists()


def test_one_whose_topic_is_gone_can_still_be_disabled(editor: Caller, queue: Queue) -> None:
    made = editor.ok("POST", PATH, {"topics": ["orders"], "every_ms": 60_000}, status=201)
    queue.control.delete_topic("orders")
    assert editor.ok("PATCH", f"{PATH}/{made['id']}", {"enabled": False})["enabled"] is False


def test_a_token_for_some_topics_sees_those_of_its_topics(editor: Caller, caller: Callable[..., Caller]) -> None:
    mine = editor.ok("POST", PATH, {"topics": ["orders"], "every_ms": 60_000}, status=201)
    everything = editor.ok("POST", PATH, {"every_ms": 60_000}, status=201)
    scoped = caller("Admin", "orders")
    assert scoped.ok("GET", PATH) == {"schedules": [mine]}
    problem(scoped.get(f"{PATH}/{everything['id']}"), 404, "unknown_schedule")
    problem(scoped("PATCH", f"{PATH}/{mine['id']}", {"enabled": False}), 403, "out_of_scope")
    problem(scoped("DELETE", f"{PATH}/{mine['id']}?reason=x"), 403, "out_of_scope")


def test_one_that_somebody_else_deletes_stays_deleted(editor: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    made = editor.ok("POST", PATH, {"topics": ["orders"], "every_ms": 60_000}, status=201)
    path = f"{PATH}/{made['id']}"
    found = PipelineSchedule.objects.get(pk=made["id"])
    assert editor("DELETE", f"{path}?reason=first").status_code == 204
    # Whoever read it before it went.
    monkeypatch.setattr(schedules, "_find", lambda caller, number: found)
    problem(editor("DELETE", f"{path}?reason=second"), 404, "unknown_schedule")
    problem(editor("PATCH", path, {"enabled": False}), 404, "unknown_schedule")
    problem(editor("PATCH", path, {"every_ms": 120_000}), 404, "unknown_schedule")
    assert not PipelineSchedule.objects.exists()
    assert [each.result for each in AuditEntry.objects.order_by("id")][2:] == ["refused"] * 3


def test_one_that_goes_while_it_is_changed_is_gone(editor: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    made = editor.ok("POST", PATH, {"topics": ["orders"], "every_ms": 60_000}, status=201)
    refresh = PipelineSchedule.refresh_from_db

    def deleted_first(row: PipelineSchedule) -> None:
        PipelineSchedule.objects.filter(pk=row.pk).delete()
        refresh(row)

    monkeypatch.setattr(PipelineSchedule, "refresh_from_db", deleted_first)
    problem(editor("PATCH", f"{PATH}/{made['id']}", {"enabled": False}), 404, "unknown_schedule")


def test_who_switches_it_leaves_the_rest_to_others(editor: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    made = editor.ok("POST", PATH, {"topics": ["orders"], "every_ms": 60_000}, status=201)
    path = f"{PATH}/{made['id']}"
    found = PipelineSchedule.objects.get(pk=made["id"])
    editor.ok("PATCH", path, {"every_ms": 120_000})
    monkeypatch.setattr(schedules, "_find", lambda caller, number: found)
    assert editor.ok("PATCH", path, {"enabled": False})["every_ms"] == 120_000


def test_what_somebody_else_has_changed_meanwhile_is_not_undone(
    editor: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = editor.ok("POST", PATH, {"topics": ["orders"], "every_ms": 60_000}, status=201)
    path = f"{PATH}/{made['id']}"
    found = PipelineSchedule.objects.get(pk=made["id"])
    editor.ok("PATCH", path, {"every_ms": 120_000})
    with monkeypatch.context() as patched:
        patched.setattr(schedules, "_find", lambda caller, number: found)
        problem(editor("PATCH", path, {"topics": []}), 409, "schedule_moved")
    assert editor.ok("GET", path)["topics"] == ["orders"]


def test_seconds_are_taken_and_told_under_their_former_name(editor: Caller) -> None:
    with pytest.warns(FutureWarning, match="every_s is every_ms"):
        made = editor.ok("POST", PATH, {"topics": ["orders"], "every_s": 3600}, status=201)
    assert (made["every_ms"], made["every_s"]) == (3_600_000, 3600)
    problem(editor.post(PATH, {"topics": ["orders"], "every_s": 60, "every_ms": 60_000}), 422, "invalid")


def test_who_says_what_was_seen_deletes_that_alone(editor: Caller) -> None:
    made = editor.ok("POST", PATH, {"topics": ["orders"], "every_ms": 60_000}, status=201)
    path = f"{PATH}/{made['id']}"
    editor.ok("PATCH", path, {"every_ms": 120_000})
    problem(editor("DELETE", f"{path}?reason=old", If_Match=made["etag"]), 412, "changed_meanwhile")
    assert editor.ok("GET", path)["every_ms"] == 120_000
    assert editor("DELETE", f"{path}?reason=old", If_Match=editor.get(path)["ETag"]).status_code == 204
