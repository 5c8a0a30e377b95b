"""What is old is forgotten by a clock that has been steady for an hour, and by no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console.jobs import operations, runs
from console.keeper import jobs, steady_clock
from console.keeper.steady_clock import STEADY_FOR_S, SteadyClock

MINUTE_S = 60.0
YEAR_MS = 365 * 86_400_000


class Times:
    """Uninterrupted seconds, and what a clock says meanwhile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.s = 1_000.0
        self.ms = 1_700_000_000_000
        monkeypatch.setattr(steady_clock.time, "monotonic", lambda: self.s)
        monkeypatch.setattr(jobs, "now_ms", lambda: self.ms)

    def go_on(self, s: float, step_ms: int = 0) -> None:
        self.s += s
        self.ms += int(s * 1000) + step_ms


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    return Times(monkeypatch)


@pytest.mark.parametrize("step_ms", [YEAR_MS, -YEAR_MS])
def test_a_step_costs_an_hour(times: Times, step_ms: int) -> None:
    clock = SteadyClock()
    assert not clock.is_steady(times.ms)
    times.go_on(STEADY_FOR_S)
    assert clock.is_steady(times.ms)
    times.go_on(MINUTE_S, step_ms)
    assert not clock.is_steady(times.ms)
    times.go_on(STEADY_FOR_S - 1)
    assert not clock.is_steady(times.ms)
    times.go_on(1)
    assert clock.is_steady(times.ms)


def test_operations_and_runs(times: Times, monkeypatch: pytest.MonkeyPatch) -> None:
    pruned: list[str] = []

    async def call(function: Any) -> None:
        pruned.append(function.__module__)

    monkeypatch.setattr(jobs, "with_database", call)
    task = jobs.OldJobs(None, None)  # type: ignore[arg-type]
    asyncio.run(task.round())
    times.go_on(STEADY_FOR_S, YEAR_MS)
    asyncio.run(task.round())
    assert pruned == []
    times.go_on(STEADY_FOR_S)
    asyncio.run(task.round())
    assert pruned == [operations.__name__, runs.__name__]
