"""One program that does run after run: started once, ended with its job worker, replaced where it has ended."""

from __future__ import annotations

import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from console.jobs import kept_program
from console.jobs.run_process import SILENT_MS, Runner
from console.usecases.runs import run_places, run_reports, runs
from tests.console.reconciliation import program
from tests.console.reconciliation.conftest import Office
from tests.support.console_options import set_options
from tests.support.waiting import wait_until


@pytest.fixture
def started(settings: Any, office: Office, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The programs that were started."""
    found: list[Any] = []

    class Noted(kept_program.Child):
        def __init__(self, *given: Any, **options: Any) -> None:
            found.append(self)
            super().__init__(*given, **options)

    set_options(settings, PIPELINE_COMMAND=[])
    monkeypatch.setattr(run_places, "_PROGRAM", (sys.executable, str(Path(program.__file__))))
    monkeypatch.setattr(kept_program, "Child", Noted)
    return found


def test_runs_share_a_program_and_each_has_its_own_log(
    office: Office, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept_program.keeping():
        first, second = office.do(), office.do(kind="archive")
        assert (first.state, first.findings, second.state) == ("done", 4, "done")
        assert len(started) == 1 and started[0].is_running
        monkeypatch.setattr(kept_program, "RUNS_MOST", 2)
        third = office.do()
        assert third.state == "done" and len(started) == 2 and not started[0].is_running
        started[1].kill()
        started[1].wait()
        assert office.do().state == "done" and len(started) == 3, "one that was killed is replaced"
    assert not started[2].is_running
    assert office.do().state == "done", "elsewhere each has its own"


def test_what_fails_and_what_is_stopped_say_so(
    office: Office, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN_AS", "fails")
    with kept_program.keeping():
        failed = office.do(kind="archive")
        assert (failed.state, failed.error) == ("failed", "The archive is locked by another job.")
        assert "noise" in run_reports.log_text(failed) and started[0].is_running


def test_after_one_that_died_in_a_run_the_next_begins_at_once(
    office: Office, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits says nothing meanwhile, and was taken for dead."""
    with kept_program.keeping():
        monkeypatch.setenv("RUN_AS", "dies")
        assert office.do(kind="archive").state == "failed"
        monkeypatch.setenv("RUN_AS", "well")
        run = office.do(kind="archive")
        assert run.state == "done" and run.finished and run.started
        assert run.finished - run.started < timedelta(milliseconds=SILENT_MS) and len(started) == 2


@pytest.mark.parametrize("stopped", ["hangs", "lingers"])
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.usefixtures("roles_come_back")
def test_a_run_is_stopped_with_its_program(
    office: Office, started: list[Any], monkeypatch: pytest.MonkeyPatch, stopped: str
) -> None:
    monkeypatch.setenv("RUN_AS", stopped)
    with kept_program.keeping():
        run, waiting = office.start(), office.start(kind="archive")
        runner = Runner.take(str(run.pk))
        assert runner is not None
        ended, over = threading.Event(), threading.Event()

        def work() -> None:
            """As a job worker's thread, which stays: a program ends with the thread that has started it."""
            runner.work()
            ended.set()
            over.wait(60)

        working = threading.Thread(target=work)
        working.start()

        def reported() -> bool:
            run.refresh_from_db()
            return len(run.stages) == 3

        wait_until(reported, what="three stages")
        before = runs.under_way()
        assert before and before.pk == run.pk
        runs.stop(office.who, run)
        assert ended.wait(30)
        run.refresh_from_db()
        assert run.state == "stopped" and (stopped == "lingers" or not started[0].is_running)
        monkeypatch.setenv("RUN_AS", "well")
        assert office.work(waiting).state == "done" and len(started) == 2, "one that is ending takes no other"
        assert not started[0].is_running
        over.set()
        working.join(30)
