"""What the page on scale reckons follows from what was measured."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/scale.md").read_text()
A_DAY = 10_000_000_000
A_MINUTE, A_SECOND = A_DAY / 24 / 60, A_DAY / 24 / 60 / 60
PEAK = 3
PER_MESSAGE = 3
CORES = 2
JOURNALED = 70
"""Bytes of a transition in a journal, at most."""
STORED = 1, 17.8
"""Bytes of a transition in the archive: of ids that count up, and of random ones."""


def measured(result: str, name: str, subject: str = "") -> float:
    """The median of a figure."""
    figures = json.loads((ROOT / f"benchmarks/results/{result}.json").read_text())["figures"]
    (found,) = [each["median"] for each in figures if (each["subject"], each["name"]) == (subject, name)]
    return float(found)


ARCHIVED = measured("pipeline", "archive of 16,000,000 transitions")
RECONCILED = measured("pipeline", "reconciliation of 16,000,000 transitions")
LIFE_US = measured("cpu", "whole life", "priority")
WAITING = measured("memory", "waiting, inline (priority)")


def row(*cells: str) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |\n"


def test_the_load() -> None:
    for name, value, form in (
        ("transitions a minute", A_MINUTE / 1e6, "{:.1f} million"),
        ("transitions a second", A_SECOND, "{:,.0f}"),
        ("messages a second", A_SECOND / PER_MESSAGE, "{:,.0f}"),
    ):
        assert row(name, form.format(value), form.format(PEAK * value)) in PAGE


def test_what_was_measured() -> None:
    assert row("archive, of two cores", f"{ARCHIVED / 1e6:.1f} million a minute") in PAGE
    assert row("reconciliation, of two cores", f"{RECONCILED / 1e6:.1f} million a minute") in PAGE
    assert row("server CPU for a message's whole life, priority", f"{LIFE_US:.1f} µs") in PAGE
    assert row("memory of a waiting message, inline", f"{WAITING:.0f} bytes") in PAGE


def test_what_that_needs() -> None:
    for name, value, form in (
        ("server CPU, in cores", A_SECOND / PER_MESSAGE * LIFE_US / 1e6, "{:.2f}"),
        ("archive, in cores", A_MINUTE / ARCHIVED * CORES, "{:.1f}"),
        ("reconciliation, in cores", A_MINUTE / RECONCILED * CORES, "{:.1f}"),
        ("journals while nothing is archived, an hour", A_SECOND * 3600 * JOURNALED / 1e9, "{:.0f} GB"),
    ):
        assert row(name, form.format(value), form.format(PEAK * value)) in PAGE
    both = PEAK * A_MINUTE * CORES * (1 / ARCHIVED + 1 / RECONCILED)
    assert f"together want {both:.1f} cores at the peak" in PAGE
    assert f"are {20e6 * WAITING / 1e9:.1f} GB" in PAGE
    least, most = (A_DAY * each for each in STORED)
    assert f"{least / 1e9:.0f} to {most / 1e9:.0f} GB a day" in PAGE
    assert f"{least * 365 / 1e12:.1f} to {most * 365 / 1e12:.0f} TB a year" in PAGE
