"""Ours over theirs, round by round, against the bars of the project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.harness import Bar, Report, Series, at_least, ratio
from benchmarks.peers.catalogue import PEERS, RMQ

PYTHON = tuple(name for name, peer in PEERS.items() if peer.runtime == "python")


@dataclass(frozen=True)
class Comparison:
    """`figure` of ours over that of the fastest of `peers`, in each round."""

    name: str
    figure: str
    peers: tuple[str, ...]
    bar: Bar

    def of(self, figures: Mapping[str, Mapping[str, Series]]) -> Series | None:
        """None unless all of them were measured: the fastest might be the one that is missing."""
        found = [figures.get(name, {}).get(self.figure) for name in (RMQ, *self.peers)]
        measured = [series for series in found if series]
        if len(measured) < len(found):
            return None
        ours, *theirs = measured
        return ratio(ours, fastest(theirs))


COMPARISONS = (
    Comparison("send of the fastest Python peer", "send", PYTHON, at_least(1.5)),
    Comparison("bulk of BullMQ", "bulk", ("bullmq",), at_least(8)),
    Comparison("consume of BullMQ", "consume", ("bullmq",), at_least(4)),
    Comparison(
        "consume of the fastest of dramatiq, taskiq, huey, celery, RQ, arq",
        "consume",
        ("dramatiq", "taskiq", "huey", "celery", "rq", "arq"),
        at_least(12),
    ),
)


def fastest(series: list[Series]) -> Series:
    """The highest of each round: not always the same one's."""
    return Series(tuple(map(max, zip(*(one.values for one in series), strict=True))))


def add_to(report: Report, figures: Mapping[str, Mapping[str, Series]]) -> list[str]:
    """Adds every comparison that can be made to the report. Returns a line for a reader for each."""
    lines = []
    for comparison in COMPARISONS:
        series = comparison.of(figures)
        if series:
            row = report.add(comparison.name, series, "×", subject=RMQ, bar=comparison.bar)
            verdict = "met" if comparison.bar.met(series.median) else "MISSED"
            lines.append(f"{row.key}: {series.median:.2f} × ({comparison.bar} {verdict})")
    return lines
