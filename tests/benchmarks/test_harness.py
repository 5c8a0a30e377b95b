"""What the harness computes, what it refuses, what it writes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.harness import (
    NotMeasured,
    Report,
    Series,
    alternate,
    alternate_many,
    at_least,
    at_most,
    percentile,
    ratio,
)


def test_a_series_knows_its_median_and_spread() -> None:
    series = Series((30.0, 10.0, 20.0))
    assert (series.median, series.low, series.high) == (20.0, 10.0, 30.0)


def test_a_ratio_compares_within_each_round() -> None:
    # Round 2 was slow for both: the ratio of the medians would be 2.0 / 1.5, and wrong.
    assert ratio(Series((4.0, 1.0, 2.0)), Series((2.0, 0.5, 1.5))).values == (2.0, 2.0, pytest.approx(4 / 3))


@pytest.mark.parametrize(("q", "expected"), [(50, 2.0), (75, 3.0), (99, 4.0), (100, 4.0), (1, 1.0)])
def test_percentiles_are_values_that_were_seen(q: float, expected: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], q) == expected


@pytest.mark.parametrize("values", [(), (1.0, math.nan), (math.inf,)])
def test_what_is_not_a_number_is_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(NotMeasured):
        Series(values)


def test_a_ratio_needs_the_same_rounds_and_a_peer_that_did_something() -> None:
    with pytest.raises(NotMeasured):
        ratio(Series((1.0, 2.0)), Series((1.0,)))
    with pytest.raises(NotMeasured):
        ratio(Series((1.0,)), Series((0.0,)))


def test_subjects_take_turns_and_none_is_always_first() -> None:
    turns: list[str] = []

    def subject(name: str) -> Callable[[], float]:
        def once() -> float:
            turns.append(name)
            return float(len(turns))

        return once

    series = alternate({"a": subject("a"), "b": subject("b")}, repeats=3)
    assert "".join(turns) == "abbaab"
    assert series == {"a": Series((1.0, 4.0, 5.0)), "b": Series((2.0, 3.0, 6.0))}


def test_a_subject_that_fails_is_reported_and_left_out() -> None:
    calls = {"good": 0, "bad": 0}
    failures: list[tuple[str, str]] = []

    def good() -> dict[str, float]:
        calls["good"] += 1
        return {"rate": 1.0}

    def bad() -> dict[str, float]:
        calls["bad"] += 1
        raise RuntimeError("no such command")

    measured = alternate_many({"bad": bad, "good": good}, 3, lambda name, error: failures.append((name, str(error))))
    assert measured == {"good": {"rate": Series((1.0, 1.0, 1.0))}}
    assert calls == {"good": 3, "bad": 1}
    assert failures == [("bad", "no such command")]
    with pytest.raises(RuntimeError):
        alternate_many({"bad": bad, "good": good}, 3)


def test_a_figure_that_is_missing_in_one_round_is_refused() -> None:
    rounds = iter([{"rate": 1.0, "p99": 2.0}, {"rate": 1.0}])
    with pytest.raises(NotMeasured):
        alternate_many({"a": lambda: next(rounds)}, 2)


def make_report(results: Path, *expects: str, quick: bool = False) -> Report:
    return Report("send", quick=quick, expects=expects, settings={"payload": 32}, results=results)


def test_a_report_writes_its_figures_and_says_which_bars_are_met(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = make_report(tmp_path, "send", "dramatiq: send", "of dramatiq")
    ours, theirs = Series((300.0, 200.0, 220.0)), Series((100.0, 100.0, 110.0))
    report.add("send", ours, "/s", bar=at_least(250), note="one by one")
    report.add("send", theirs, "/s", subject="dramatiq")
    report.compare("of dramatiq", ours, theirs, bar=at_most(2.5))

    path = report.finish()

    written = json.loads(path.read_text())
    assert path == tmp_path / "send.json"
    assert [file.name for file in tmp_path.iterdir()] == ["send.json"]
    assert (written["rounds"], written["quick"], written["settings"]) == (3, False, {"payload": 32})
    assert written["machine"]["cores"] >= 1
    assert written["versions"]["redis"]
    assert written["measured_at"]
    send, peer, compared = written["figures"]
    assert (send["median"], send["low"], send["high"], send["values"]) == (220.0, 200.0, 300.0, [300.0, 200.0, 220.0])
    assert send["bar"] == {"text": "≥ 250", "met": False}
    assert peer["subject"] == "dramatiq"
    assert compared["median"] == 2.0
    assert compared["bar"]["met"] is True
    assert [figure.name for figure in report.missed] == ["send"]
    printed = capsys.readouterr().out
    assert "≥ 250 MISSED" in printed
    assert "dramatiq: send" in printed


def test_nothing_is_written_when_a_figure_was_not_measured(tmp_path: Path) -> None:
    report = make_report(tmp_path, "send", "consume")
    report.add("send", Series((1.0, 1.0, 1.0)), "/s")
    with pytest.raises(NotMeasured, match="consume"):
        report.finish()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotMeasured):
        make_report(tmp_path).finish()


def test_a_full_run_takes_three_rounds_and_a_quick_one_does_not_overwrite_it(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured):
        make_report(tmp_path).add("send", Series((1.0, 1.0)), "/s")
    quick = make_report(tmp_path, quick=True)
    quick.add("send", Series((1.0,)), "/s")
    assert quick.finish(quiet=True).name == "quick-send.json"


def test_a_figure_has_one_name_of_its_own(tmp_path: Path) -> None:
    report = make_report(tmp_path)
    report.add("send", Series((1.0, 1.0, 1.0)), "/s")
    with pytest.raises(ValueError, match="already"):
        report.add("send", Series((2.0, 2.0, 2.0)), "/s")
