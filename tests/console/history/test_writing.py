"""The history in the database: rows find their blocks and coarser rows follow; one keeper writes; old ones go."""

from __future__ import annotations

import pytest

from console.history import store
from console.history.points import PERCENTILES, POINT, Point
from console.history.reading import TooMany, chart, tier_for
from console.history.store import OtherWriter, Row
from console.history.tiers import DAY, HOUR, MINUTE, NUMBERS, SLOTS
from console.history.writing import Batch, write
from console.models import HistoryBlock
from tests.console.history.samples import START_MS, point

pytestmark = pytest.mark.django_db
FINE, MINUTES, QUARTERS = NUMBERS


@pytest.fixture(autouse=True)
def writer() -> None:
    store.begin("w")


def keep(*points: Point, until_ms: int = 0, **more: object) -> None:
    last = max((int(each[0] or 0) for each in points), default=START_MS)
    write("w", [Batch("orders", until_ms or last + FINE.step_ms, points, **more)])  # type: ignore[arg-type]


def rows(step_ms: int, from_ms: int = START_MS, to_ms: int = START_MS + 8 * HOUR, now_ms: int = 0) -> list[Point]:
    return list(chart("orders", from_ms, to_ms, now_ms or to_ms, step_ms=step_ms).points)


def backlogs(step_ms: int, **span: int) -> list[tuple[int, object]]:
    place = POINT.index("backlog")
    return [(int(row[0] or 0) - START_MS, row[place]) for row in rows(step_ms, now_ms=START_MS + HOUR, **span)]


def test_minutes_and_quarters_follow_from_tens_of_seconds() -> None:
    for first in range(0, 96, 7):  # in writes that end anywhere
        steps = range(first, min(first + 7, 96))
        keep(*(point(START_MS + 10_000 * step, backlog=step, in_s=2.0) for step in steps))
    assert backlogs(10_000) == [(10_000 * step, step) for step in range(96)]
    assert backlogs(MINUTE) == [(MINUTE * minute, 6 * minute + 5) for minute in range(16)]
    assert backlogs(15 * MINUTE) == [(0, 89), (15 * MINUTE, 95)], "the second is not over: told by its minutes"
    stored = store.between("orders", "numbers", QUARTERS, START_MS, START_MS + HOUR)
    assert len(stored) == 1
    assert {row[1] for row in rows(MINUTE)} == {2.0}


def test_lateness_that_was_measured_over_a_minute_is_better_than_the_highest_of_its_parts() -> None:
    points = [point(START_MS + 10_000 * step, p50=step, p95=step, p99=step, length=9) for step in range(12)]
    keep(*points, lateness={(MINUTE, START_MS): [1, 2, 3]})
    assert [row[PERCENTILES] for row in rows(MINUTE)] == [[1, 2, 3], [11, 11, 11]]
    assert {row[POINT.index("length")] for row in rows(MINUTE)} == {9}


def test_it_goes_on_in_the_block_of_a_keeper_that_is_no_more() -> None:
    keep(point(START_MS, backlog=1), point(START_MS + 10_000, backlog=2))
    store.begin("w")
    lost = [point(START_MS + 10_000 * step, backlog=9) for step in range(4)]
    keep(point(START_MS + 40_000, backlog=5), missing=lost)
    assert [value for _, value in backlogs(10_000)] == [1, 2, 9, 9, 5], "what was written stays, what was not is filled"
    assert backlogs(MINUTE) == [(0, 9)]


def test_a_clock_that_went_back_writes_its_times_anew_and_one_that_was_ahead_is_forgotten() -> None:
    keep(*(point(START_MS + 10_000 * step, backlog=1) for step in range(12)))
    keep(*(point(START_MS + 10_000 * step, backlog=2) for step in range(3)))
    assert [value for _, value in backlogs(10_000)] == [2] * 3 + [1] * 9
    assert [value for _, value in backlogs(MINUTE)] == [2, 1]
    keep(point(START_MS + 400 * DAY, backlog=7))
    assert store.forget(START_MS + HOUR) == 2
    assert [value for _, value in backlogs(MINUTE)] == [2, 1]


def test_one_keeper_writes() -> None:
    keep(point(START_MS, backlog=1))
    store.begin("another")
    with pytest.raises(OtherWriter):
        keep(point(START_MS, backlog=2), point(START_MS + 10_000, backlog=2))
    assert backlogs(10_000) == [(0, 1)]


def test_a_damaged_block_is_left_out_and_begins_again() -> None:
    keep(point(START_MS, backlog=1), point(START_MS + HOUR, backlog=2))
    HistoryBlock.objects.filter(step_ms=FINE.step_ms, start_ms=START_MS).update(data=b"rubbish")
    assert backlogs(10_000) == [(HOUR, 2)]
    keep(point(START_MS + 10_000, backlog=3))
    assert backlogs(10_000) == [(10_000, 3), (HOUR, 2)]


def test_how_finely_depends_on_how_far_back_and_how_much() -> None:
    now = START_MS + 400 * DAY
    assert tier_for(now - HOUR, now, 1_000) is FINE
    assert tier_for(now - HOUR, now, 59_999) is FINE
    assert tier_for(now - HOUR, now, MINUTE) is MINUTES
    assert tier_for(now - 6 * HOUR - 5_000, now, 30_000) is FINE, "asked for a moment ago"
    assert tier_for(now - 7 * HOUR, now, 1_000) is MINUTES
    assert tier_for(now - 300 * DAY, now, 1_000) is QUARTERS
    assert tier_for(0, now, 1_000) is QUARTERS
    found = chart("orders", now - 365 * DAY, now, now)
    assert (found.step_ms, found.points) == (DAY, [])
    assert chart("orders", now - 6 * HOUR, now, now).step_ms == 30_000
    with pytest.raises(TooMany):
        chart("orders", now - 365 * DAY, now, now, step_ms=1_000)


def test_the_last_minutes_come_from_redis() -> None:
    keep(point(START_MS, backlog=1))
    newest = f"[{point(START_MS + 9_000, backlog=8)}, {point(START_MS + 10_000, backlog=2)}, [1], 5]"
    found = chart("orders", START_MS, START_MS + HOUR, START_MS + HOUR, newest, 10_000)
    assert [(row[0], row[5]) for row in found.points] == [(START_MS, 1), (START_MS + 10_000, 2)]
    found = chart("orders", START_MS + 9_000, START_MS + 12_000, START_MS + 12_000, newest)
    assert (found.step_ms, [row[5] for row in found.points]) == (1_000, [8, 2]), "to the second"


def test_what_is_old_goes_and_of_too_much_the_oldest_pictures_of_slots_first() -> None:
    now = START_MS + 30 * DAY
    blocks = [
        Row("orders", "numbers", FINE.step_ms, now - 8 * HOUR, now - 7 * HOUR, b"x" * 100),
        Row("orders", "numbers", FINE.step_ms, now - 6 * HOUR, now - 5 * HOUR, b"x" * 100),
        Row("orders", "slots", SLOTS[1].step_ms, now - 3 * DAY - 2 * HOUR, now - 3 * DAY - 1, b"x" * 100),
        Row("orders", "slots", SLOTS[1].step_ms, now - 2 * DAY, now - 2 * DAY, b"x" * 100),
        Row("orders", "slots", SLOTS[1].step_ms, now - DAY, now - DAY, b"x" * 100),
        Row("orders", "slots", 7_000, now - DAY, now, b"a tier of another release"),
    ]
    store.save(blocks)
    assert store.forget(now) == 3 and store.shrink(2**40) == 0
    assert [(each.series, each.blocks, each.size) for each in store.held()] == [("numbers", 1, 100), ("slots", 2, 200)]
    assert store.shrink(299) == 1
    assert [(each.series, each.oldest_ms) for each in store.held()] == [
        ("numbers", now - 6 * HOUR),
        ("slots", now - DAY),
    ]
    assert store.shrink(100) == 1 and store.shrink(0) == 1 and not HistoryBlock.objects.exists()
