"""How the keeper judges consumer groups from samples, and when one is a problem."""

from __future__ import annotations

from typing import Any

import pytest

from console.keeper.courses import STEP_MS, GroupCourse
from console.keeper.problems import TopicState, find_problems
from console.keeper.tracker import Numbers
from rmq_core.model.group import Group
from rmq_core.model.topic import Topic
from rmq_core.streams.course import Course, Moment, Verdict

GROUP = Group.of(Topic("events", "stream", slots=1), "mail", {})
WARNING_MS = 10_000


def course(*lags: int | None, read: int = 10, step_ms: int = STEP_MS) -> Course:
    """Of a group that was sampled every `step_ms`."""
    found = GroupCourse()
    verdicts = [found.add(Moment(n * step_ms, lag, n * read, n * read)) for n, lag in enumerate(lags)]
    return verdicts[-1].course


def test_a_course_is_judged_by_whole_minutes_and_by_the_best_moment_of_a_step() -> None:
    assert course(5, 6, 7, 8, read=0) is Course.STUCK
    assert course(9, 8, 7, 3) is Course.CATCHING_UP
    assert course(5, 6, 7, 8) is Course.FALLING_BEHIND
    assert course(5, 0, 7, 8, read=0) is Course.KEEPING_UP
    # Of three samples within a step, the one at which it had read everything counts.
    assert course(5, 0, 7, 8, 9, 9, 9, 9, 9, read=0, step_ms=STEP_MS // 3) is Course.KEEPING_UP
    assert course(5, 6) is Course.UNKNOWN
    assert course(5, None, None) is Course.UNKNOWN


def test_a_pause_is_seen_at_once() -> None:
    found = GroupCourse()
    assert found.add(Moment(0, 5, 0, 0)).course is Course.UNKNOWN
    assert found.add(Moment(100, 5, 0, 0, paused=True)).course is Course.PAUSED
    assert found.add(Moment(200, 5, 0, 0)).course is Course.UNKNOWN


def problems(lag: int | None, lag_ms: int, verdict: Course, workers: int = 1, **values: Any) -> list[str]:
    numbers: dict[str, Any] = dict.fromkeys(Numbers.__dataclass_fields__, 0)
    numbers |= {"ready": lag or 0, "lag": lag, "lag_ms": lag_ms, "oldest_ms": None, "out_s": 1.0} | values
    state = TopicState(GROUP, Numbers(**numbers), workers, 0, 0, (0, 0), verdict=Verdict(verdict, "", lag=lag))
    return [each.code for each in find_problems([state], None, [], WARNING_MS)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (problems(100_000, 60_000, Course.CATCHING_UP), []),
        (problems(5, 60_000, Course.STUCK), ["group_stuck"]),
        (problems(100_000, WARNING_MS, Course.FALLING_BEHIND), []),
        (problems(5, WARNING_MS + 1, Course.FALLING_BEHIND), ["group_behind"]),
        (problems(5, 0, Course.STUCK, workers=0, out_s=0.0), ["no_workers"]),
        (problems(None, 0, Course.UNKNOWN), ["lag_unknown"]),
        (problems(0, 0, Course.KEEPING_UP, missed=3), ["missed"]),
    ],
)
def test_a_group_is_a_problem_by_its_course(found: list[str], expected: list[str]) -> None:
    assert found == expected
