"""What runs read and leave: ledgers, reports, lists of them; and what is refused before one begins."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from console.access import Forbidden
from console.errors import BadRequest
from console.jobs import runs as jobs
from console.models import AuditEntry, Finding, Reconciliation
from console.options import options
from console.usecases.actor import Actor
from console.usecases.runs import run_places, run_reports, runs
from console.usecases.runs.runs import RunRequest
from rmq_core.errors import UnknownTopic
from tests.console.reconciliation.conftest import Office


def test_ledgers_are_those_in_the_folder(office: Office, settings: Any) -> None:
    folder = Path(options().pipeline_ledgers)
    folder.mkdir()
    for name in ("flights.csv", ".hidden.csv", "notes.txt"):
        (folder / name).write_text("topic,id\n")
    assert run_places.ledgers() == ["flights.csv"]
    run = office.start(ledger="flights.csv")
    assert str(folder / "flights.csv") in run_places.command(run)
    assert office.queue.client.keyspace.namespace in run_places.command(run)
    assert not any("redis://" in each for each in run_places.command(run)), "an address may hold a password"


def test_a_ledger_is_held_while_it_is_read(office: Office, settings: Any) -> None:
    folder = Path(options().pipeline_ledgers)
    (folder / "folder.parquet").mkdir(parents=True)
    (folder / "flights.csv").write_text("topic,id\n")
    run = office.start(ledger="flights.csv")
    run_places.report_of(run).mkdir(parents=True)
    with run_places.pinned_ledger(run) as pinned:
        assert pinned is not None and str(pinned) in run_places.command(run, pinned)
        (folder / "new").write_text("topic,id\norders,x\n")
        (folder / "new").replace(folder / "flights.csv")
        assert pinned.read_text() == "topic,id\n"
    assert not pinned.exists() and (folder / "flights.csv").exists()
    run.ledger = "folder.parquet"
    with run_places.pinned_ledger(run) as pinned:
        assert pinned == folder / "folder.parquet"
    assert pinned.exists()


def test_runs_are_listed_by_job(office: Office, as_role: Callable[..., Client]) -> None:
    archive, run = office.start(kind="archive"), office.start()
    browser = as_role("Viewer")

    def listed(query: str) -> list[str]:
        return [each["id"] for each in browser.get(f"/api/v1/reconciliations{query}").json()["runs"]]

    assert listed("") == [str(run.pk), str(archive.pk)]
    assert browser.get("/api/v1/reconciliations?kind=nonsense").status_code == 422
    assert listed("?kind=archive") == [str(archive.pk)]
    assert browser.get("/reconciliation/?kind=reconcile").status_code == 200
    shown = browser.get("/api/v1/reconciliations?kind=reconcile").json()["runs"]
    assert [each["id"] for each in shown] == [str(run.pk)]
    assert browser.get("/api/v1/reconciliations?kind=nonsense").status_code == 422


def test_damaged_reports_are_told_of(office: Office) -> None:
    run = office.do()
    folder = run_places.report_of(run)
    (folder / "findings" / "part-0.parquet").write_bytes(b"PAR1 this is none PAR1")
    with pytest.raises(run_reports.BadReport, match="findings cannot be read"):
        run_reports.take_in(run)
    (folder / "summary.json").write_text("{")
    with pytest.raises(run_reports.BadReport, match="not JSON"):
        run_reports.take_in(run)


def test_more_findings_than_are_listed_stay_in_the_report(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_reports, "FINDINGS_MOST", 2)
    run = office.do()
    assert (run.findings, run.listed, Finding.objects.count()) == (4, 2, 2)
    assert len("".join(run_reports.download(run, "jsonl")).splitlines()) == 4
    assert "".join(run_reports.download(run, "csv")).startswith("kind,topic,slot,id,repair,evidence")


def test_old_runs_are_forgotten_with_their_reports(office: Office) -> None:
    run = office.do()
    jobs.prune()
    assert Reconciliation.objects.exists()
    Reconciliation.objects.update(finished=timezone.now() - timedelta(days=8))
    archive = office.do(kind="archive")
    jobs.prune()
    assert Reconciliation.objects.count() == 2
    Reconciliation.objects.filter(pk=archive.pk).update(finished=timezone.now() - timedelta(days=8))
    jobs.prune()
    assert Reconciliation.objects.get() == run, "archives are forgotten sooner"
    Reconciliation.objects.update(finished=timezone.now() - timedelta(days=91))
    jobs.prune()
    assert not Reconciliation.objects.exists() and not run_places.report_of(run).exists()


def test_what_cannot_be_is_refused_and_written_down(office: Office, person: Callable[..., User]) -> None:
    with pytest.raises(UnknownTopic):
        office.start(topics=("nothing",))
    with pytest.raises(BadRequest, match="ledger"):
        office.start(ledger="../../etc/passwd")
    with pytest.raises(BadRequest, match="restore"):
        office.start(kind="restore")
    with pytest.raises(BadRequest, match="no job"):
        office.start(kind="rm")
    with pytest.raises(Forbidden, match="operate"):
        runs.start(Actor(person("Viewer")), RunRequest())
    with pytest.raises(Forbidden, match="administer"):
        runs.start(Actor(person("Operator")), RunRequest(kind="restore", confirm="restore"))
    with pytest.raises(Forbidden, match="edit_topics"):
        runs.schedule(Actor(User.objects.get(username="operator")), RunRequest(), 3_600_000)
    assert not Reconciliation.objects.exists()
    assert set(AuditEntry.objects.values_list("result", flat=True)) == {"refused", "failed"}
