"""How long a fault in a slot that stands still stays unseen, by a clock of the test's own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rmq_core.pipeline.jobs.reconcile import Inputs
from rmq_core.pipeline.jobs.report import SUMMARY
from rmq_core.pipeline.program import continuous, rounds
from rmq_core.pipeline.program.rounds import Rounds
from rmq_core.pipeline.sources.options import SourceOptions


class Enough(Exception):
    """The night is over."""


@dataclass
class Night:
    """A look and an archive take as long as they do, a comparison of everything ``whole_s``, one of what moved a
    second. ``moves``: something does; else nothing."""

    whole_s: float
    moves: bool = False
    now_s: float = 1_000.0
    compared: list[tuple[float, float]] = field(default_factory=list)
    rounds: int = 0
    few: int = 0

    def monotonic(self) -> float:
        return self.now_s

    def strftime(self, *_: Any) -> str:
        return f"{self.now_s:.1f}"

    gmtime = time = monotonic

    def rest(self, seconds: float) -> None:
        self.now_s += max(0.0, seconds)
        self.rounds += 1
        if self.now_s > 20_000:
            raise Enough

    def archive(self, *_: Any, **__: Any) -> None:
        self.now_s += 4

    def look(self, *_: Any) -> Any:
        self.now_s += 2
        return self

    def is_as(self, _: Any) -> bool:
        return not self.moves

    def standing(self, *_: Any) -> Any:
        return self

    def reconcile(self, _: Any, inputs: Inputs, __: Any, standing: Any) -> dict[str, Any]:
        if standing is not None:
            self.now_s += 1
            self.few += 1
            return {"run": "few", "findings": 0, "read": {"slots": {"compared": 1, "of": 2}}}
        began = self.now_s
        self.now_s += self.whole_s
        self.compared.append((began, self.now_s))
        summary = Path(inputs.reports, str(len(self.compared)), SUMMARY)
        summary.parent.mkdir(parents=True)
        summary.touch()
        return {"run": summary.parent.name, "findings": 0, "read": {}}

    @property
    def worst_s(self) -> float:
        """From a fault just after a slot was read to the report of the next comparison."""
        return max(end - began for (began, _), (_, end) in pairwise(self.compared))


def night(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole_s: float, every_s: float, moves: bool = False, **more: Any
) -> Night:
    now = Night(whole_s, moves)
    for module, names in ((rounds, ("look", "reconcile", "standing")), (continuous, ("archive", "rest"))):
        monkeypatch.setattr(module, "time", now)
        for name in names:
            monkeypatch.setattr(module, name, getattr(now, name))
    monkeypatch.setattr(rounds, "seen_here", lambda _: True)
    monkeypatch.setattr(Rounds, "_inputs_now", lambda *_: rounds._Read({}, set(), []))
    options = SourceOptions("redis://nowhere", "night", (), 8, 1_000)
    inputs = replace(Inputs(options, "archive", str(tmp_path)), **more)
    session: Any = object()
    with pytest.raises(Enough):
        continuous.again_and_again(session, inputs, int(every_s * 1_000), lambda _: None)
    return now


@pytest.mark.parametrize("every_s", [1, 10, 45, 60, 79, 84])
@pytest.mark.parametrize(("whole_s", "moves"), [(3, False), (21, True), (25, False), (30, False), (30, True)])
def test_a_fault_is_reported_within_two_minutes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole_s: float, every_s: float, moves: bool
) -> None:
    seen = night(monkeypatch, tmp_path, whole_s, every_s, moves)
    assert seen.worst_s <= 120
    assert len(seen.compared) > 100
    assert bool(seen.few) == (moves and every_s <= 60)
    assert every_s > 60 or seen.rounds > len(seen.compared), "nor is each round whole"


@pytest.mark.parametrize("whole_s", [40, 90, 600])
def test_where_comparing_takes_longer_it_takes_its_share_of_the_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole_s: float
) -> None:
    seen = night(monkeypatch, tmp_path, whole_s, 60)
    assert 3 * whole_s < seen.worst_s <= 3.5 * whole_s + 10


def test_rounds_that_are_to_be_seldom_come_no_sooner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = night(monkeypatch, tmp_path, 3, 600)
    assert all(after - before >= 600 for (before, _), (after, _) in pairwise(seen.compared))
    assert seen.rounds == len(seen.compared), "and each compares everything"


def test_who_asks_for_it_has_everything_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = night(monkeypatch, tmp_path, 3, 10, anew=True)
    assert seen.rounds == len(seen.compared) > 1_000
