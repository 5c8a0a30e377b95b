"""The numbers of a topic between two moments, as finely as they are kept there and as coarsely as is asked for."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from console.history import store
from console.history.columns import Unreadable
from console.history.numbers import NumbersBlock
from console.history.points import POINT, Value, grouped
from console.history.tiers import HOUR, MINUTE, NUMBERS, SECOND, Tier
from console.models import HistoryBlock
from rmq_core.figures import number

log = logging.getLogger("console.history")

POINTS_USUAL = 750
"""So many are about what a chart can show."""
POINTS_MOST = 12_000
# Not of half a day: nights and days would make a saw of every line.
STEPS = (
    *(n * SECOND for n in (1, 2, 5, 10, 20, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 24)),
)


class TooMany(ValueError):
    """More rows than one answer may have."""


@dataclass(frozen=True)
class Chart:
    """Rows in the order of `POINT`; each stands for the `step_ms` that begin at its time. Where nothing was kept there
    is none."""

    from_ms: int
    to_ms: int
    step_ms: int
    points: list[list[Value]]


def tier_for(from_ms: int, now_ms: int, step_ms: int) -> Tier:
    """The coarsest that is fine enough, among those that reach back so far.

    A little further counts, too: who asks for the last six hours has another clock than Redis, and was on the way.
    """
    reaching = [tier for tier in NUMBERS if from_ms >= now_ms - tier.keep_ms - tier.span_ms // 60] or [NUMBERS[-1]]
    return next((tier for tier in reversed(reaching) if tier.step_ms <= step_ms), reaching[0])


def usual_step(span_ms: int) -> int:
    """So that a chart has some hundred rows, each of a length that people know."""
    return next((step for step in STEPS if span_ms <= step * POINTS_USUAL), STEPS[-1])


def chart(topic: str, from_ms: int, to_ms: int, now_ms: int, newest: str = "[]", step_ms: int | None = None) -> Chart:
    """`newest`: the rows of the last minutes out of Redis, for what is not written yet. Raises `TooMany`.

    `step_ms` None: so that it has some hundred rows.
    """
    wanted = step_ms or usual_step(to_ms - from_ms)
    recent = rows_of(newest)
    if wanted < NUMBERS[0].step_ms and recent and recent[0][0] <= from_ms:  # type: ignore[operator]
        step = wanted
        points = recent
    else:
        tier = tier_for(from_ms, now_ms, wanted)
        step = -(-wanted // tier.step_ms) * tier.step_ms
        points = []
        told_ms = from_ms - from_ms % step
        # What a tier does not tell yet is told by the finer ones, and at last by what is not written yet.
        for each in reversed(NUMBERS[: NUMBERS.index(tier) + 1]):
            points += _kept(topic, each, told_ms, to_ms)
            told_ms = max(told_ms, int(points[-1][0] or 0) + each.step_ms) if points else told_ms
        points += [row for row in recent if int(row[0] or 0) >= told_ms]
    if (to_ms - from_ms) // step > POINTS_MOST:
        raise TooMany(f"that are more than {number(POINTS_MOST)} rows; ask for a larger step or a shorter time")
    low = from_ms - from_ms % step
    inside = [row for row in points if low <= int(row[0] or 0) < to_ms]
    return Chart(from_ms, to_ms, step, grouped(inside, step))


def _kept(topic: str, tier: Tier, from_ms: int, to_ms: int) -> list[list[Value]]:
    found: list[list[Value]] = []
    for row in store.between(topic, HistoryBlock.Series.NUMBERS, tier, from_ms, to_ms):
        try:
            found += NumbersBlock.unpack(tier, row.start_ms, row.data).points(from_ms, to_ms)
        except Unreadable as error:
            log.warning("the history of %s from %d cannot be read: %s", topic, row.start_ms, error)
    return found


def rows_of(text: str) -> list[list[Value]]:
    """Rows as Redis holds them; what is none is left out (decision 085)."""
    rows: Sequence[object] = json.loads(text)
    return [row for row in rows if isinstance(row, list) and len(row) == len(POINT) and _is_row(row)]


def _is_row(row: list[object]) -> bool:
    return isinstance(row[0], int) and all(value is None or isinstance(value, int | float) for value in row)
