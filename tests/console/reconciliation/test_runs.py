"""Runs from the request to the report: stages, log, stopping, failing, schedules, silence; what they found."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from console.access import Forbidden
from console.clock import ms_of
from console.errors import BadRequest
from console.jobs import runs as jobs
from console.jobs.run_process import Runner
from console.models import AuditEntry, Finding, PipelineSchedule, Reconciliation
from console.models.pipeline import STAGE_COSTS
from console.options import options
from console.serializers import runs as shapes
from console.usecases import job_queue
from console.usecases.actor import Actor
from console.usecases.runs import run_places, run_reports, runs
from console.usecases.runs.causes import cause_of
from console.usecases.runs.runs import RunRequest
from tests.console.api.conftest import Caller, make_token, problem
from tests.console.reconciliation.conftest import Office
from tests.support.waiting import wait_until


def test_a_run_tells_its_stages_and_takes_its_report_in(office: Office) -> None:
    run = office.do(reason="monday", topics=("orders",))
    assert (run.state, run.percent, run.error) == ("done", 100, "")
    assert [stage[0] for stage in run.stages] == ["snapshot", "replay", "report", "console"]
    costs = [{name: each[name] for name in STAGE_COSTS} for each in shapes.run_json(run)["stages"]]
    assert costs[0] == {"rows": 7, "read_bytes": 2_048, "shuffled_bytes": 0}
    assert costs[1:] == [dict.fromkeys(STAGE_COSTS)] * 3
    assert (run.complete, run.findings, run.listed) == (True, 4, 4)
    assert run.tables[0]["lateness_p99_ms"] == 12
    found = {each.kind: each for each in Finding.objects.filter(run=run)}
    assert (found["orphan_body"].ident, found["orphan_body"].slot) == ("ghost", 1)
    assert found["lost"].evidence["score"] == 7 and found["slot_ledger"].ident == ""
    causes = {each["kind"]: each["causes"] for each in runs.groups_of(run)}
    assert causes.pop("lost") == [{"cause": "missing:waiting", "n": 1}] and not any(causes.values())
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.result, entry.reason, entry.topic) == ("reconcile", "done", "monday", "orders")
    assert entry.detail["run"] == str(run.pk)


@pytest.mark.parametrize(
    ("evidence", "cause"),
    [
        ({"what": ["priority", "due_ms"], "last_event": "sent"}, "what:due_ms,priority"),
        ({"missing": ["waiting"], "with_server": True}, "with_server"),
        ({"missing": [], "extra": ["dead"]}, "extra:dead"),
        ({"reason": "trimmed"}, "reason:trimmed"),
        ({"event": "taken", "message": "secret"}, "event:taken"),
        ({"gap": 0, "counters": {"acked": 1}}, "counters"),
        ({"gap": 1, "counters": None, "why": "…", "error": "secret"}, ""),
        ({"what": {"odd": 1}, "missing": 7, "reason": "r" * 500}, "reason:" + "r" * 93),
    ],
)
def test_the_cause_of_a_finding_is_what_its_evidence_names(evidence: dict[str, Any], cause: str) -> None:
    assert cause_of(evidence) == cause


def test_a_run_that_has_not_begun_says_for_what_it_waits(office: Office) -> None:
    first = office.start(topics=("orders",))
    assert shapes.waits_json(first) == {"ahead": 0, "running_kind": None, "running_since_ms": None}
    second = Reconciliation.objects.create(state="queued", username="x", kind="archive")
    Reconciliation.objects.filter(pk=first.pk).update(state="running", started=first.created)
    third = Reconciliation.objects.create(state="queued", username="x")
    found = shapes.waits_json(third)
    assert found == {"ahead": 1, "running_kind": "reconcile", "running_since_ms": ms_of(first.created)}
    Reconciliation.objects.filter(pk=second.pk).delete()
    first.refresh_from_db()
    assert shapes.waits_json(first) is None


def test_a_run_over_all_topics_names_those_it_says_nothing_of(office: Office) -> None:
    office.queue.topic("written", journal="events")
    run = office.do(reason="all")
    assert run.state == "done"
    for shown in (shapes.run_json(run), shapes.detail_json(run, True)):
        assert shown["without_journal"] == ["orders"]
    assert shapes.run_json(office.start(topics=("orders",)))["without_journal"] == []
    jobs.pick_up(runs.schedule(office.who, RunRequest(), 3_600_000).next_ms)
    assert Reconciliation.objects.get(via="schedule").summary == {"without_journal": ["orders"]}


def test_rows_of_other_topics_in_a_ledger_are_told(office: Office) -> None:
    run = office.do(topics=("orders",))
    assert shapes.detail_json(run, True)["ledger_left_out"] is None
    # Where a reconciliation's summary has it.
    run.summary["inputs"] = {"of_ledger": {"left_out_rows": 12, "left_out": {"gate-close": 10, "boarding": 2}}}
    shown = shapes.detail_json(run, True)["ledger_left_out"]
    assert shown == {"rows": 12, "topics": {"gate-close": 10, "boarding": 2}}


def test_a_run_says_what_it_read_and_what_it_knew(office: Office) -> None:
    run = office.do(topics=("orders",))
    run.summary["read"] = {"events": 7, "events_known": 900, "from_scratch": {"orders": "asked for"}, "closed": "1"}
    shown = shapes.detail_json(run, True)["read"]
    assert shown == {"events": 7, "known": 900, "from_scratch": {"orders": "asked for"}, "slots": None}
    run.summary["read"]["slots"] = {"compared": 3, "of": 640}
    assert (shapes.detail_json(run, True)["read"] or {})["slots"] == {"compared": 3, "of": 640}
    run.summary["read"]["slots"] = "many"
    assert (shapes.detail_json(run, True)["read"] or {})["slots"] is None
    for nonsense in (None, [], {"events": "many"}):
        run.summary["read"] = nonsense
        assert shapes.detail_json(run, True)["read"] is None


def test_a_restore_says_what_it_did_and_what_it_left_out(office: Office) -> None:
    run = office.do(kind="restore", reason="the server is new", confirm="restore")
    assert run.state == "done"
    reported = shapes.detail_json(run, True)["restored"]
    assert (reported["back"], reported["present"]) == (12, 1)
    assert reported["said"] == ["left out: topic orders, slot 3: its history is not whole (file). Bring it back."]
    assert reported["left_out"] == [{"topic": "orders", "reason": "file", "slots": [3]}]
    assert (reported["deleted"], reported["streams"]) == ([], [])
    assert shapes.detail_json(office.do(), True)["restored"] is None


def test_a_rehearsal_needs_no_word_for_it_touches_nothing_that_is_in_use(office: Office) -> None:
    run = office.do(kind="restore", into="trial", at_ms=1_700_000_000_500, dry_run=True)
    shown = shapes.detail_json(run, True)
    assert (shown["into"], shown["at_ms"], shown["dry_run"]) == ("trial", 1_700_000_000_500, True)
    assert shown["restored"]["said"] == ["into trial at 2023-11-14T22:13:20.500000+00:00, counted only"]
    assert shown["restored"]["counts"] == [
        {"topic": "orders", "state": "waiting", "n": 10},
        {"topic": "orders", "state": "dead", "n": 2},
    ]
    assert AuditEntry.objects.get().query["into"] == "trial"
    assert office.do(kind="restore", into="trial").state == "done"
    for wanted, why in (
        ({"kind": "restore"}, "Type “restore” to confirm"),
        ({"kind": "restore", "into": options().namespace}, "the namespace itself"),
        ({"kind": "restore", "at_ms": 5}, "say which"),
        ({"kind": "archive", "into": "trial"}, "Only a restore is rehearsed"),
        ({"kind": "reconcile", "dry_run": True}, "Only a restore is rehearsed"),
    ):
        with pytest.raises(BadRequest, match=why):
            office.start(**wanted)


def test_whoever_asks_has_the_queues_compared_and_a_schedule_what_moved(office: Office) -> None:
    mine = office.start(topics=("orders",))
    assert "--anew" in run_places.arguments(mine) and "--from-scratch" not in run_places.arguments(mine)
    jobs.pick_up(runs.schedule(office.who, RunRequest(topics=("orders",)), 3_600_000).next_ms)
    assert "--anew" not in run_places.arguments(Reconciliation.objects.get(via="schedule"))
    assert "--anew" not in run_places.arguments(office.start(kind="archive"))


def test_a_run_from_scratch(office: Office) -> None:
    caller = Caller(*make_token("Operator"))
    body = {"topics": ["orders"], "from_scratch": True, "reason": "an older release wrote it"}
    made = caller.ok("POST", "/reconciliations", body, status=202)
    run = Reconciliation.objects.get(pk=made["id"])
    assert made["from_scratch"] and "--from-scratch" in run_places.arguments(run)
    assert AuditEntry.objects.get().query == {"kind": "reconcile", "topics": ["orders"], "from_scratch": True}
    office.work(run)
    assert run.state == "done" and caller.ok("GET", f"/reconciliations/{run.pk}")["from_scratch"]
    assert not shapes.run_json(office.start(topics=("orders",)))["from_scratch"]
    for kind, more in (("archive", {}), ("restore", {"into": "trial"}), ("erase", {"ids": ["a"], "dry_run": True})):
        body = {"kind": kind, "from_scratch": True, **more}
        answer = Caller(*make_token("Admin")).post("/reconciliations", body)
        assert "begins from scratch" in problem(answer, 422, "bad_request")["detail"], kind


def test_what_failed_names_no_folder_of_the_server(office: Office, settings: Any) -> None:
    words = f"the ledger {options().pipeline_ledgers}/flights.csv lacks a column (file:{options().pipeline_reports}/x)"
    assert run_places.plain(words) == "the ledger flights.csv lacks a column (x)"


def test_one_schedule_that_cannot_run_keeps_no_other(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    now = office.queue.inspector.now_ms()
    bad = PipelineSchedule.objects.create(kind="archive", topics=["orders"], every_ms=60_000, username="a")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE console_pipelineschedule SET topics = %s WHERE id = %s", ['"orders"', bad.pk])
    PipelineSchedule.objects.create(kind="archive", topics=["orders"], every_ms=60_000, username="b")
    jobs.pick_up(now)
    assert [run.username for run in Reconciliation.objects.all()] == ["b"]  # and not the other one over all topics
    assert f"schedule {bad.pk} " in caplog.text


def test_a_token_for_some_topics_sees_and_stops_what_it_may_start(office: Office) -> None:
    office.queue.topic("bills")
    ask = Caller(*make_token("Operator", "orders"))
    own = ask.ok("POST", "/reconciliations", {"topics": ["orders"]}, status=202)
    assert ask.ok("GET", f"/reconciliations/{own['id']}")["topics"] == ["orders"]
    assert ask.ok("GET", f"/reconciliations/{own['id']}/findings") == {"findings": [], "next": None, "count": 0}
    for topics in (["bills"], ["orders", "bills"], []):
        problem(ask.post("/reconciliations", {"topics": topics}), 403, "out_of_scope")
        other = office.start(topics=tuple(topics))
        for method, path in (("GET", ""), ("GET", "/findings"), ("POST", ":stop")):
            problem(ask(method, f"/reconciliations/{other.pk}{path}"), 404, "unknown_run")
    assert [each["id"] for each in ask.ok("GET", "/reconciliations?limit=1")["runs"]] == [own["id"]]
    # Of the same topic, but somebody else's.
    other = office.start(topics=("orders",), kind="archive")
    assert len(ask.ok("GET", "/reconciliations")["runs"]) == 2
    problem(ask.post(f"/reconciliations/{other.pk}:stop"), 403, "forbidden")
    assert ask.ok("POST", f"/reconciliations/{own['id']}:stop")["state"] == "stopped"


def test_only_administrators_stop_what_is_somebody_elses(office: Office, person: Callable[..., User]) -> None:
    one, two = Actor(person("Operator", "one")), Actor(person("Operator", "two"))
    run = runs.start(one, RunRequest(kind="archive"))
    with pytest.raises(Forbidden, match="administer"):
        runs.stop(two, run)
    run.refresh_from_db()
    assert run.state == "queued"
    assert AuditEntry.objects.get(username="two").result == "refused"
    assert runs.stop(one, run).state == "stopped"
    assert runs.stop(office.who, runs.start(one, RunRequest(kind="archive"))).state == "stopped"
    schedule = runs.schedule(Actor(person("Editor", "planner")), RunRequest(kind="archive"), 3_600_000)
    by_schedule = runs.scheduled(schedule)
    with pytest.raises(Forbidden):
        runs.stop(two, by_schedule)
    # Whoever was called so is meant, and nobody who is called so by now.
    User.objects.filter(username="planner").update(username="married")
    with pytest.raises(Forbidden, match="administer"):
        runs.stop(Actor(person("Editor", "planner")), by_schedule)
    assert runs.stop(Actor(User.objects.get(username="married")), by_schedule).state == "stopped"


def test_a_failure_is_told_in_its_own_sentence(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUN_AS", "fails")
    run = office.do(kind="archive")
    assert (run.state, run.error) == ("failed", "The archive is locked by another job.")
    assert "noise" in run_reports.log_text(run)
    assert AuditEntry.objects.get().result == "failed"
    monkeypatch.setenv("RUN_AS", "no-report")
    run = office.do()
    assert run.state == "failed" and "no report" in run.error
    monkeypatch.setenv("RUN_AS", "lines")
    run = office.do()
    assert run.state == "done" and "{not json" in run_reports.log_text(run)


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.usefixtures("roles_come_back")
def test_a_run_is_stopped_and_its_program_with_it(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUN_AS", "hangs")
    run = office.start()
    runner = Runner.take(str(run.pk))
    assert runner is not None
    working = threading.Thread(target=runner.work)
    working.start()

    def reported() -> bool:
        run.refresh_from_db()
        return len(run.stages) == 3

    wait_until(reported, what="three stages")
    assert runs.stop(office.who, run).state == "stopping"
    working.join(30)
    run.refresh_from_db()
    assert (run.state, run.finished is not None) == ("stopped", True)
    with pytest.raises(BadRequest):
        runs.stop(office.who, run)


def test_one_that_waits_is_stopped_at_once_and_never_runs(office: Office) -> None:
    run = office.start()
    assert runs.stop(office.who, run).state == "stopped"
    office.work(run)
    assert run.state == "stopped" and not run.stages


def test_a_run_whose_worker_died_is_given_up(office: Office) -> None:
    run = office.start()
    runner = Runner.take(str(run.pk))
    assert runner is not None and Runner.take(str(run.pk)) is None
    now = round(time.time() * 1000)
    jobs.pick_up(now)
    run.refresh_from_db()
    assert run.state == "running"
    jobs.pick_up(now + 60_000)
    run.refresh_from_db()
    assert run.state == "failed" and "worker ended" in run.error
    # The one that was believed dead changes nothing any more.
    runner.work()
    run.refresh_from_db()
    assert run.state == "failed" and "worker ended" in run.error


def test_the_end_of_a_run_is_one_with_what_the_audit_says_of_it(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(_: Reconciliation) -> None:
        raise Killed

    waiting, silent = office.start(), office.start()
    assert Runner.take(str(silent.pk)) is not None
    for module in (runs, jobs):
        monkeypatch.setattr(module, "complete_run", killed)
    with pytest.raises(Killed):
        runs.stop(office.who, waiting)
    with pytest.raises(Killed):
        jobs.pick_up(round(time.time() * 1000) + 60_000)
    for run, state in ((waiting, "queued"), (silent, "running")):
        run.refresh_from_db()
        assert (run.state, run.finished) == (state, None)


def test_what_waits_is_handed_on_when_its_job_was_lost(office: Office) -> None:
    run = office.start()
    job_queue.queue_of(job_queue.RUNS).empty()
    jobs.pick_up()
    office.work(run)
    assert run.state == "done"


def test_a_schedule_starts_runs_and_never_two_at_once(office: Office) -> None:
    schedule = runs.schedule(office.who, RunRequest(topics=("orders",)), 3_600_000)
    jobs.pick_up(schedule.next_ms)
    run = Reconciliation.objects.get()
    assert (run.via, run.username, run.schedule_id) == ("schedule", "chief", schedule.pk)
    jobs.pick_up(schedule.next_ms + 1)
    assert Reconciliation.objects.count() == 1, "it is not due again"
    jobs.pick_up(schedule.next_ms + 3_700_000)
    assert Reconciliation.objects.count() == 1, "the one before is still under way"
    office.work(run)
    jobs.pick_up(schedule.next_ms + 9_000_000)
    assert Reconciliation.objects.count() == 2
    runs.switch(office.who, schedule, False)
    jobs.pick_up(schedule.next_ms + 90_000_000)
    assert Reconciliation.objects.count() == 2
    with pytest.raises(BadRequest, match="Say why"):
        runs.remove(office.who, schedule, " ")
    assert PipelineSchedule.objects.exists()
    runs.remove(office.who, schedule, "moved to the night")
    assert not PipelineSchedule.objects.exists()
    # What it was is in the audit, so that it can be made again.
    entry = AuditEntry.objects.filter(action="schedule", result="done").first()
    assert entry is not None and entry.reason == "moved to the night"
    assert (entry.query["kind"], entry.query["topics"], entry.query["every_ms"]) == ("reconcile", ["orders"], 3_600_000)
    with pytest.raises(BadRequest, match="schedule"):
        runs.schedule(office.who, RunRequest(kind="restore"), 3_600_000)
    with pytest.raises(BadRequest, match="minute"):
        runs.schedule(office.who, RunRequest(), 1)


def test_the_program_ends_with_whoever_started_it(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed job worker leaves no program behind."""
    monkeypatch.setenv("RUN_AS", "hangs")
    run = office.start()
    reader, writer = os.pipe()
    parent = os.fork()
    if parent == 0:  # a job worker
        from console.supervise.child import Child

        with Path(os.devnull).open("wb") as nothing:
            child = Child(run_places.command(run), Path.cwd(), run_places.environment(), nothing)
            child.next_line(20)
            os.write(writer, str(child._process.pid).encode())
            signal.pause()
    os.close(writer)
    started = int(os.read(reader, 20))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)

    def gone() -> bool:
        try:
            os.kill(started, 0)
        except ProcessLookupError:
            return True
        return Path(f"/proc/{started}/stat").read_text().split()[2] == "Z"

    wait_until(gone, what="the end of the program")
