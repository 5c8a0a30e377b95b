"""What the demo archives and reconciles by itself."""

from __future__ import annotations

import time

import pytest

from console.demo import watch
from console.models import PipelineSchedule
from console.usecases.runs.runs import EVERY_LEAST_MS

pytestmark = pytest.mark.django_db


def test_it_is_on_schedule_from_the_first_start_on() -> None:
    assert watch.ensure_schedules()
    found = {each.kind: each for each in PipelineSchedule.objects.all()}
    assert set(found) == {"archive", "reconcile"}
    assert found["reconcile"].ledger == "flights.csv" and not found["archive"].ledger
    now_ms = time.time() * 1000
    assert all(each.enabled and each.every_ms >= EVERY_LEAST_MS and each.next_ms > now_ms for each in found.values())
    assert found["archive"].next_ms < found["reconcile"].next_ms


def test_what_an_operator_changed_stays() -> None:
    watch.ensure_schedules()
    PipelineSchedule.objects.filter(kind="archive").update(enabled=False, every_ms=3_600_000, next_ms=5)
    PipelineSchedule.objects.create(kind="archive", every_ms=60_000, username="somebody", next_ms=7)
    watch.ensure_schedules()
    archive = PipelineSchedule.objects.get(kind="archive", username=watch.WHO)
    assert (archive.enabled, archive.every_ms) == (False, 3_600_000)
    assert archive.next_ms > time.time() * 1000, "nothing runs while everything else starts"
    assert PipelineSchedule.objects.get(username="somebody").next_ms == 7


def test_without_spark_nothing_is_scheduled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "find_spec", lambda name: None)
    assert not watch.ensure_schedules()
    assert not PipelineSchedule.objects.exists()
