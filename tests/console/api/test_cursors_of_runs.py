"""Cursors of runs and of what they found belong to their query, as those of every other list."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from console.models import Finding, Reconciliation
from tests.console.api.conftest import Caller, problem
from tests.console.conftest import Queue

MADE_UP = ("x", "7", "00000000-0000-0000-0000-000000000001", "a.b", "%F0%9F%98%80", "x" * 3000)


@pytest.fixture
def made(queue: Queue, db: None) -> list[Reconciliation]:
    """Four runs, newest first, of two kinds in turn; the first two with findings."""
    now = timezone.now()
    made = []
    for number in range(4):
        run = Reconciliation.objects.create(kind=("reconcile", "archive")[number % 2], state="done", topics=[])
        Reconciliation.objects.filter(pk=run.pk).update(created=now - timedelta(minutes=number))
        made.append(run)
    for run in made[:2]:
        for number in range(4):
            Finding.objects.create(run=run, kind="lost", topic=f"t{number % 2}", ident="k")
    return made


def test_a_cursor_of_runs_belongs_to_its_kind(made: list[Reconciliation], operator: Caller) -> None:
    first = operator.ok("GET", "/reconciliations?limit=1")
    second = operator.ok("GET", f"/reconciliations?limit=1&cursor={first['next']}")
    assert [page["runs"][0]["id"] for page in (first, second)] == [str(run.pk) for run in made[:2]]
    for other in ("kind=archive", "kind=reconcile"):
        refused = problem(operator.get(f"/reconciliations?{other}&cursor={first['next']}"), 422, "invalid")
        assert refused["fields"][0]["field"] == "cursor"
    of_kind = operator.ok("GET", "/reconciliations?kind=archive&limit=1")
    problem(operator.get(f"/reconciliations?cursor={of_kind['next']}"), 422, "invalid")
    last = operator.ok("GET", f"/reconciliations?kind=archive&cursor={of_kind['next']}")
    assert [run["id"] for run in last["runs"]] == [str(made[3].pk)] and last["next"] is None


def test_a_cursor_of_findings_belongs_to_its_run_and_filter(made: list[Reconciliation], operator: Caller) -> None:
    here, there = (f"/reconciliations/{run.pk}/findings" for run in made[:2])
    first = operator.ok("GET", f"{here}?limit=3")
    rest = operator.ok("GET", f"{here}?limit=3&cursor={first['next']}")
    pages = [len(page["findings"]) for page in (first, rest)]
    assert (pages, rest["next"]) == ([3, 1], None)
    for other in (there, f"{here}?topic=t1", f"{here}?kind=lost", f"{here}?repair=requeue"):
        sign = "&" if "?" in other else "?"
        problem(operator.get(f"{other}{sign}cursor={first['next']}"), 422, "invalid")


@pytest.mark.parametrize("cursor", MADE_UP)
def test_what_is_no_cursor_is_refused(made: list[Reconciliation], operator: Caller, cursor: str) -> None:
    for path in ("/reconciliations", f"/reconciliations/{made[0].pk}/findings"):
        problem(operator.get(f"{path}?cursor={cursor}"), 422, "invalid")
