"""How well topics keep their lateness objective: 99 of 100 deliveries at most so late, over a week.

The scripts count lateness since the topic exists; what is kept here are marks of those sums, every five minutes of the
last hour and every hour of the week, so that any span is a difference of two. In Redis: a hash, topic → JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from console.snapshots.store import if_there_is_room, with_own_type
from rmq_core.model.samples import TopicSample
from rmq_core.model.stats import Histogram
from rmq_core.protocol.scripts import Operation

MAY_BE_LATE = 0.01
"""The part of all deliveries that may be later: what the budget is."""
FINE_MS, HOUR_MS, WEEK_MS = 300_000, 3_600_000, 604_800_000
KEPT_MS = WEEK_MS + 86_400_000
MARKS_MOST = 400


class Mark(NamedTuple):
    """What was delivered by then, and of that what was later than the objective."""

    at_ms: int
    total: int
    late: int


@dataclass(frozen=True)
class Objective:
    """`total`, `late`: deliveries since `since_ms`, which is a week ago at most. `kept`: the part in time, None where
    there were none. `budget`: the part of the late ones allowed that is left, below 0 where it is overdrawn. `burn`:
    how many times faster than allowed the last hour used it up, `burn_now` the last minutes; at 1 it lasts the week.
    """

    objective_ms: int
    since_ms: int
    total: int
    late: int
    kept: float | None
    budget: float
    burn: float
    burn_now: float
    late_in_hour: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Course:
    """The marks of one topic's life under one objective, the oldest first."""

    objective_ms: int
    life: int
    marks: list[Mark] = field(default_factory=list)

    def add(self, mark: Mark) -> bool:
        """Takes a mark in where one is due; whether it did."""
        # Those ahead are of a clock that was set back.
        self.marks = [each for each in self.marks if each.at_ms <= mark.at_ms]
        if self.marks and mark.at_ms - self.marks[-1].at_ms < FINE_MS:
            return False
        went_on = bool(self.marks) and mark.at_ms - self.marks[-1].at_ms < HOUR_MS
        self.marks.append(mark)
        if went_on:  # else the clock may be ahead: what it calls old stays until the next mark
            self._thin(mark.at_ms)
        return True

    def _thin(self, now_ms: int) -> None:
        """An hour back one of each hour stays, and one from before the week, to count from."""
        kept: list[Mark] = []
        for each in self.marks:
            fine = each.at_ms > now_ms - HOUR_MS - FINE_MS
            if fine or not kept or each.at_ms // HOUR_MS != kept[-1].at_ms // HOUR_MS:
                kept.append(each)
        while len(kept) > 1 and kept[1].at_ms <= now_ms - WEEK_MS:
            del kept[0]
        self.marks = kept

    def judge(self, now: Mark) -> Objective:
        """How it stands at that moment."""
        week, hour, lately = (self._since(now, span) for span in (WEEK_MS, HOUR_MS, FINE_MS))
        total, late = now.total - week.total, now.late - week.late
        return Objective(
            self.objective_ms,
            week.at_ms,
            total,
            late,
            None if total == 0 else round(1 - late / total, 6),
            round(1 - _burn(week, now), 4),
            round(_burn(hour, now), 2),
            round(_burn(lately, now), 2),
            now.late - hour.late,
        )

    def _since(self, now: Mark, span_ms: int) -> Mark:
        """The mark from which a span is counted: the last before it, or the first of all."""
        before = [each for each in self.marks if each.at_ms <= now.at_ms - span_ms]
        return before[-1] if before else self.marks[0] if self.marks else now


def _burn(since: Mark, now: Mark) -> float:
    total = now.total - since.total
    return 0.0 if total <= 0 else (now.late - since.late) / total / MAY_BE_LATE


def mark_of(sample: TopicSample) -> Mark:
    """The sums of a topic now. Lateness is counted in steps of 19 %; that of the objective counts as in time."""
    most = Histogram.bucket(sample.topic.lateness_objective_ms)
    late = sum(n for bucket, n in sample.lateness.buckets.items() if bucket > most)
    return Mark(sample.at_ms, sample.lateness.total, late)


def read(key: str) -> Operation[dict[str, Course]]:
    """By topic; what cannot be read begins anew."""
    (stored,) = yield from with_own_type(key, [("HGETALL", key)])
    pairs = stored.items() if isinstance(stored, Mapping) else zip(stored[::2], stored[1::2], strict=True)
    found = {}
    for name, text in pairs:
        try:
            objective_ms, life, marks = json.loads(text)
            read_marks = [Mark(*(int(value) for value in each)) for each in marks[:MARKS_MOST]]
            if read_marks and read_marks == sorted(read_marks) and min(objective_ms, life, *map(min, read_marks)) >= 0:
                found[name.decode()] = Course(int(objective_ms), int(life), read_marks)
        except (TypeError, ValueError, AttributeError, RecursionError, OverflowError):
            continue
    return found


def write(key: str, courses: Mapping[str, Course], gone: set[str]) -> Operation[None]:
    """Those that have a new mark; forgets those that are `gone`."""
    values: list[str] = []
    for name, course in courses.items():
        values += (name, json.dumps([course.objective_ms, course.life, course.marks]))
    commands: list[tuple[Any, ...]] = [("HDEL", key, *gone)] if gone else []
    if values:
        commands += [("HSET", key, *values), ("PEXPIRE", key, KEPT_MS)]
    if commands:
        yield from if_there_is_room(commands)
