"""How long a fault in a slot that stands still stays unseen, by a clock of the test's own."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rmq_core.pipeline.jobs.reconcile import Inputs
from rmq_core.pipeline.jobs.report import SUMMARY, TABLES
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
        for table in TABLES:
            summary.with_name(table).mkdir(parents=True)
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


def test_a_report_of_which_something_was_taken_away_is_made_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    look = Night.look

    def after_a_theft(self: Night, *given: Any) -> Any:
        for each in tmp_path.glob(f"*/{TABLES[0]}"):
            each.rmdir()
        return look(self, *given)

    monkeypatch.setattr(Night, "look", after_a_theft)
    seen = night(monkeypatch, tmp_path, 3, 10)
    assert seen.few > 1_000 and seen.rounds == len(seen.compared) + seen.few


def test_a_round_that_fails_for_whatever_reason_is_said_and_the_next_one_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where what Spark keeps in between has no room, while it looks at what it has found."""
    failing, found = iter([None, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))]), Rounds._found

    def full(*args: Any) -> Any:
        if (error := next(failing, None)) is not None:
            raise error
        return found(*args)

    monkeypatch.setattr(Rounds, "_found", full)
    seen = night(monkeypatch, tmp_path, 3, 10, anew=True)
    assert len(seen.compared) > 1_000
    said = capsys.readouterr().err
    assert "the disk is full" in said and said.count("it goes on") == 1


class Here:
    """A session that is in this process."""

    _jsparkSession = None


def test_the_newest_reports_stay_whatever_failed_and_whatever_the_clock_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(continuous, "KEPT", 3)
    session: Any = Here()

    def left(*runs: str, fails: bool = False) -> list[str]:
        """Of rounds that end one after the other."""
        for run in runs:
            folder = tmp_path / f"{run}-x-round"
            folder.mkdir()
            if not fails:
                (folder / SUMMARY).touch()
                continuous._prune(session, f"file://{tmp_path}")
        return sorted(each.name.partition("-")[0] for each in tmp_path.iterdir())

    assert left("20260101T000001", "20260101T000002", "20260101T000003", "20260101T000004")[0] == "20260101T000002"
    left("20260101T000005", "20260101T000006", "20260101T000007", "20260101T000008", fails=True)
    reports = ["20260101T000004", *(f"20260101T00000{n}" for n in (5, 6, 7, 8)), "20260101T000009", "20260101T000010"]
    assert left("20260101T000009", "20260101T000010") == reports
    assert left("20260101T000011") == ["20260101T000009", "20260101T000010", "20260101T000011"], "and what failed goes"
    ahead = ["29990101T000001", "29990101T000002", "29990101T000003"]
    assert left(*ahead, fails=True)[-3:] == ahead
    for each in ahead:
        (tmp_path / f"{each}-x-round" / SUMMARY).touch()
    assert left("20260101T000012") == ["20260101T000010", "20260101T000011", "20260101T000012"], (
        "the clock was set back"
    )
