"""Whether a group is stuck, told from its course."""

from __future__ import annotations

import pytest

from rmq_core.streams.course import Course, Moment, judge


def course(lags: list[int | None], reads: list[int]) -> list[Moment]:
    """One look a second; what is read is finished at once."""
    return [Moment(n * 1_000, lag, read, read) for n, (lag, read) in enumerate(zip(lags, reads, strict=True))]


@pytest.mark.parametrize(
    ("lags", "reads", "expected"),
    [
        ([], [], Course.UNKNOWN),
        ([5], [0], Course.UNKNOWN),
        ([5, 5, 5, 5], [0, 0, 0, 0], Course.UNKNOWN),  # three seconds
        ([5] * 7, [0] * 7, Course.STUCK),
        ([5, 0, 9, 20, 30, 40, 50], [0, 5, 5, 5, 5, 5, 5], Course.KEEPING_UP),
        ([9, 8, 7, 6, 5, 4, 3], [0, 1, 2, 3, 4, 5, 6], Course.CATCHING_UP),
        ([3, 4, 5, 6, 7, 8, 9], [0, 1, 2, 3, 4, 5, 6], Course.FALLING_BEHIND),
        ([9, 2, 9, 2, 9, 2, 9], [0, 7, 7, 14, 14, 21, 21], Course.FALLING_BEHIND),
        ([9, None, 7, None, 5, 4, 3], [0, 1, 2, 3, 4, 5, 6], Course.CATCHING_UP),
        ([0, 0, 0, 0, 0, 0, None], [0] * 7, Course.UNKNOWN),
    ],
)
def test_the_course_tells(lags: list[int | None], reads: list[int], expected: Course) -> None:
    verdict = judge(course(lags, reads))
    assert verdict.course is expected, verdict.text


def test_who_finishes_what_was_read_long_ago_is_not_stuck() -> None:
    seen = [Moment(n * 1_000, 50, 1_000, n, in_flight=1_000 - n) for n in range(8)]
    assert judge(seen).course is Course.FALLING_BEHIND


def test_a_pause_is_no_trouble_and_what_was_before_it_says_nothing() -> None:
    stopped = [Moment(n * 1_000, 9, 0, 0, paused=True) for n in range(8)]
    assert judge(stopped).course is Course.PAUSED
    resumed = [*stopped, Moment(8_000, 9, 0, 0), Moment(9_000, 9, 0, 0)]
    assert judge(resumed).course is Course.UNKNOWN
    assert judge([*resumed, Moment(14_000, 9, 0, 0)]).course is Course.STUCK


def test_the_sentence_names_the_figures() -> None:
    moments = [Moment(n * 10_000, 2_000 - 100 * n, 100 * n, 100 * n, in_flight=3, retrying=1) for n in range(11)]
    verdict = judge(moments)
    assert (verdict.course, verdict.lag_before, verdict.lag, verdict.read) == (Course.CATCHING_UP, 2_000, 1_000, 1_000)
    assert verdict.left_ms == 100_000
    assert verdict.text == (
        "it catches up: 2,000 were ahead 100 s ago, 1,000 are ahead now, 3 in flight, 1 wait for their retry;"
        " at this pace it needs 100 s more"
    )
