"""A topic as it was at one moment: numbers, slots, owners, problems, definition; each says how old it is."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from console.history import problems, store
from console.history.columns import Unreadable
from console.history.points import Value
from console.history.reading import chart, tier_for
from console.history.slots import Picture, picture
from console.history.tiers import SECOND, SLOTS
from console.models import HistoryBlock, TopicRevision

log = logging.getLogger("console.history")


@dataclass(frozen=True)
class Moment:
    """`at_ms`: what was asked for. `point`: a row in the order of `POINT`, None where none was kept, as `slots`;
    `point_step_ms`, `slots_step_ms`: how finely it is kept there. `definition`: None where no version is known."""

    at_ms: int
    point: list[Value] | None
    point_step_ms: int
    slots: Picture | None
    slots_step_ms: int
    problems: list[dict[str, Any]]
    definition: dict[str, Any] | None


def moment(topic: str, at_ms: int, now_ms: int, newest: str = "[]", everything: bool = True) -> Moment:
    """How a topic was. What was kept nearest before counts, unless it is older than two of its steps.

    `everything`: with the problems that the whole installation had.
    """
    point, point_step = _point(topic, at_ms, now_ms, newest)
    slots, slots_step = _slots(topic, at_ms, now_ms)
    wrong = problems.at([topic, ""] if everything else [topic], at_ms)
    return Moment(at_ms, point, point_step, slots, slots_step, wrong, _definition(topic, at_ms))


def _point(topic: str, at_ms: int, now_ms: int, newest: str) -> tuple[list[Value] | None, int]:
    # As finely as that time is kept, and no coarser: a row of a quarter of an hour also tells of what was not sampled.
    step_ms = tier_for(at_ms, now_ms, SECOND).step_ms
    found = chart(topic, at_ms - 2 * step_ms, at_ms + 1, now_ms, newest, step_ms)
    return (found.points[-1] if found.points else None), step_ms


def _slots(topic: str, at_ms: int, now_ms: int) -> tuple[Picture | None, int]:
    for tier in SLOTS:
        if at_ms < now_ms - tier.keep_ms - tier.span_ms:
            continue
        # Where blocks overlap (the clock went back) the one that began last is right.
        for row in reversed(store.between(topic, HistoryBlock.Series.SLOTS, tier, at_ms - tier.step_ms, at_ms + 1)):
            if row.start_ms <= at_ms < row.end_ms + 2 * tier.step_ms:
                try:
                    return picture(tier, row.start_ms, row.end_ms, row.data, at_ms), tier.step_ms
                except Unreadable as error:
                    log.warning("the slots of %s from %d cannot be read: %s", topic, row.start_ms, error)
    return None, SLOTS[0].step_ms


def _definition(topic: str, at_ms: int) -> dict[str, Any] | None:
    row = TopicRevision.objects.filter(topic=topic, stored_ms__lte=at_ms).order_by("-stored_ms", "-id").first()
    return None if row is None else row.definition
