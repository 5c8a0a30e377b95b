"""How we measure: repeat, alternate, take medians, compare round by round, refuse what was not measured.

    def main(quick: bool) -> None:
        with PrivateRedis() as server:
            series = alternate({"send": send_once, "bare EVALSHA": bare_once}, repeats=repeats_for(quick))
            report = Report("send", quick=quick, server=server, expects=["send", "of a bare EVALSHA"])
            report.add("send", series["send"], "/s", bar=at_least(20_000))
            report.compare("of a bare EVALSHA", series["send"], series["bare EVALSHA"], bar=at_least(0.8))
            report.finish()

`finish` prints a table and writes `benchmarks/results/<name>.json`, on Valkey `<name>-valkey.json` (`quick-<name>.json`
for a quick run, which git ignores: a figure of a quick run is not worth quoting).
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.facts import machine, versions
from benchmarks.servers import PrivateRedis

__all__ = [
    "Bar",
    "Figure",
    "NotMeasured",
    "PrivateRedis",
    "Report",
    "Series",
    "alternate",
    "alternate_many",
    "at_least",
    "at_most",
    "percentile",
    "ratio",
    "repeats_for",
]

RESULTS = Path(__file__).parent / "results"
FULL_REPEATS = 3


class NotMeasured(RuntimeError):
    """A figure is missing, not a number, or was measured too seldom; nothing is written."""


@dataclass(frozen=True)
class Series:
    """The same figure, once per round."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise NotMeasured("a series needs at least one value")
        if not all(math.isfinite(value) for value in self.values):
            raise NotMeasured(f"not every value is a number: {self.values}")

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


def percentile(values: Sequence[float], q: float) -> float:
    """The smallest value that at least `q` percent of `values` do not exceed (0 < q <= 100)."""
    if not values:
        raise NotMeasured("no values to take a percentile of")
    if not 0 < q <= 100:
        raise ValueError(f"a percentile lies in (0, 100], not at {q}")
    ordered = sorted(values)
    return ordered[max(math.ceil(len(ordered) * q / 100), 1) - 1]


def ratio(subject: Series, peer: Series) -> Series:
    """Subject over peer, round by round: noise that hit both in a round cancels out."""
    if len(subject.values) != len(peer.values):
        raise NotMeasured(f"{len(subject.values)} rounds against {len(peer.values)}: not the same run")
    if not all(peer.values):
        raise NotMeasured("the peer's figure is zero: no ratio")
    return Series(tuple(a / b for a, b in zip(subject.values, peer.values, strict=True)))


def repeats_for(quick: bool) -> int:
    return 1 if quick else FULL_REPEATS


def alternate_many(
    subjects: Mapping[str, Callable[[], Mapping[str, float]]],
    repeats: int,
    on_failure: Callable[[str, Exception], None] | None = None,
) -> dict[str, dict[str, Series]]:
    """Runs all subjects once per round, each round starting with another one, and collects every figure.

    Raises NotMeasured when a subject did not give the same figures in every round. With `on_failure`, a subject
    that raises is reported to it and left out from then on, and of the result.
    """
    if repeats < 1:
        raise ValueError("at least one round")
    names = list(subjects)
    rounds: dict[str, list[Mapping[str, float]]] = {name: [] for name in names}
    for turn in range(repeats):
        first = turn % max(len(names), 1)
        for name in names[first:] + names[:first]:
            if name not in rounds:
                continue
            try:
                rounds[name].append(subjects[name]())
            except Exception as error:
                if on_failure is None:
                    raise
                on_failure(name, error)
                del rounds[name]
    result = {}
    for name, figures in rounds.items():
        if any(one.keys() != figures[0].keys() for one in figures):
            raise NotMeasured(f"{name} gave different figures in different rounds")
        result[name] = {key: Series(tuple(one[key] for one in figures)) for key in figures[0]}
    return result


def alternate(subjects: Mapping[str, Callable[[], float]], repeats: int = FULL_REPEATS) -> dict[str, Series]:
    """`alternate_many` for subjects with a single figure."""

    def single(function: Callable[[], float]) -> Callable[[], Mapping[str, float]]:
        return lambda: {"": function()}

    many = alternate_many({name: single(function) for name, function in subjects.items()}, repeats)
    return {name: figures[""] for name, figures in many.items()}


@dataclass(frozen=True)
class Bar:
    limit: float
    upward: bool

    def met(self, value: float) -> bool:
        return value >= self.limit if self.upward else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.upward else '≤'} {show(self.limit)}"


def at_least(limit: float) -> Bar:
    return Bar(limit, upward=True)


def at_most(limit: float) -> Bar:
    return Bar(limit, upward=False)


@dataclass(frozen=True)
class Figure:
    """One row of a report. `subject` groups rows, e.g. by peer; it may be empty."""

    name: str
    series: Series
    unit: str
    subject: str = ""
    bar: Bar | None = None
    note: str = ""

    @property
    def key(self) -> str:
        return f"{self.subject}: {self.name}" if self.subject else self.name

    def as_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"subject": self.subject, "name": self.name, "unit": self.unit}
        row |= {"median": self.series.median, "low": self.series.low, "high": self.series.high}
        row |= {"values": list(self.series.values), "note": self.note}
        if self.bar:
            row["bar"] = {"text": str(self.bar), "met": self.bar.met(self.series.median)}
        return row


@dataclass
class Report:
    """Collects the figures of one benchmark; `finish` checks, prints and writes them.

    `expects` names the figures (`name`, or `subject: name`) without which the run is a failure.
    """

    name: str
    quick: bool
    server: PrivateRedis | None = None
    expects: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further top-level entries of the JSON."""
    results: Path = RESULTS
    figures: list[Figure] = field(default_factory=list)

    def add(
        self, name: str, series: Series, unit: str, *, subject: str = "", bar: Bar | None = None, note: str = ""
    ) -> Figure:
        wanted = repeats_for(self.quick)
        figure = Figure(name, series, unit, subject, bar, note)
        if len(series.values) < wanted:
            raise NotMeasured(f"{figure.key}: {len(series.values)} rounds, a full run takes {wanted}")
        if any(other.key == figure.key for other in self.figures):
            raise ValueError(f"{figure.key} is in the report already")
        self.figures.append(figure)
        return figure

    def compare(self, name: str, subject: Series, peer: Series, *, bar: Bar | None = None, note: str = "") -> Figure:
        return self.add(name, ratio(subject, peer), "×", bar=bar, note=note)

    @property
    def missed(self) -> list[Figure]:
        return [figure for figure in self.figures if figure.bar and not figure.bar.met(figure.series.median)]

    @property
    def path(self) -> Path:
        on_valkey = self.server is not None and self.server.is_valkey
        return self.results / f"{'quick-' if self.quick else ''}{self.name}{'-valkey' if on_valkey else ''}.json"

    def check(self) -> None:
        """Raises NotMeasured unless every expected figure is there."""
        missing = sorted(set(self.expects) - {figure.key for figure in self.figures})
        if missing or not self.figures:
            raise NotMeasured(f"{self.name}: not measured: {', '.join(missing) or 'anything'}")

    def finish(self, *, quiet: bool = False) -> Path:
        """Checks, writes, and unless `quiet` prints the table. Raises NotMeasured, and then writes nothing."""
        self.check()
        self.results.mkdir(parents=True, exist_ok=True)
        document = {
            "name": self.name,
            "quick": self.quick,
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "rounds": len(self.figures[0].series.values),
            "machine": machine(),
            "versions": versions() | dict(self.versions),
            "redis": self.server.facts() if self.server else None,
            "settings": dict(self.settings),
            **self.extra,
            "figures": [figure.as_json() for figure in self.figures],
        }
        unfinished = self.path.with_suffix(".json.part")
        unfinished.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        unfinished.replace(self.path)
        if not quiet:
            print(self.table())
        return self.path

    def table(self) -> str:
        rows = [("figure", "median", "low – high", "", "bar")]
        for figure in self.figures:
            series = figure.series
            verdict = f"{figure.bar} {'met' if figure.bar.met(series.median) else 'MISSED'}" if figure.bar else ""
            spread = f"{show(series.low)} – {show(series.high)}"
            rows.append((figure.key, show(series.median), spread, figure.unit, verdict))
        return f"\n{self.name}{' (quick)' if self.quick else ''}\n{grid(rows)}"


def grid(rows: Sequence[Sequence[str]]) -> str:
    """A plain table: first column to the left, the others to the right, a rule below the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def show(value: float) -> str:
    """Four figures are enough for a reader; the JSON keeps the rest."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
