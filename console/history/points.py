"""One topic at one moment, or over an interval: a row of numbers, and how several rows become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Value: TypeAlias = float | int | None
Point: TypeAlias = Sequence[Value]

# The browser reads history rows by these positions (console/static/console/js/core/point.js).
POINT = (
    "at_ms", "in_s", "out_s", "failed_s", "merged_s", "backlog", "ready", "retrying", "in_flight", "dead",
    "lag_ms", "oldest_ms", "p50", "p95", "p99", "length",
)  # fmt: skip
RATES = frozenset({"in_s", "out_s", "failed_s", "merged_s"})
"""Of several rows these are averaged; of all others the highest stays: a peak of a second shows in a year."""
LATENESS = ("p50", "p95", "p99")
PERCENTILES = slice(POINT.index(LATENESS[0]), POINT.index(LATENESS[-1]) + 1)
"""Their places in a row."""


def merged(at_ms: int, points: Sequence[Point]) -> list[Value]:
    """One row for an interval that begins at `at_ms`. Percentiles are the highest of their parts."""
    found: list[Value] = [at_ms]
    if points and all(point[1:] == points[0][1:] for point in points[1:]):  # as of most topics most of the time
        return [*found, *points[0][1:]]
    columns = list(zip(*points, strict=True))
    for name, column in zip(POINT[1:], columns[1:], strict=True):
        values = [value for value in column if value is not None]
        if not values:
            found.append(None)
        elif name in RATES:
            found.append(round(sum(values) / len(values), 3))
        else:
            found.append(max(values))
    return found


def grouped(points: Sequence[Point], step_ms: int) -> list[list[Value]]:
    """Rows in order of time, one for each `step_ms` that has any."""
    by_step: dict[int, list[Point]] = {}
    for point in points:
        at_ms = int(point[0] or 0)
        by_step.setdefault(at_ms - at_ms % step_ms, []).append(point)
    return [merged(at_ms, some) for at_ms, some in sorted(by_step.items())]
