"""When ticks are: cron in a time zone across changes of the clocks, intervals, jitter, bounds."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice, pairwise, takewhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.recurring import Recurring
from console.recurring.rule import InvalidRecurring, upcoming

DAY_MS = 86_400_000


def rule(**changes: Any) -> Recurring:
    return Recurring(**({"name": "n", "topic": "mail", "content": {"a": 1}, "priority": 900} | changes))


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def said(ticks: list[int]) -> list[str]:
    return [datetime.fromtimestamp(tick / 1000, UTC).strftime("%m-%d %H:%M") for tick in ticks]


def test_at_seven_is_at_seven_before_and_after_the_clocks_change() -> None:
    daily = rule(cron="0 7 * * *", time_zone="Europe/Berlin")
    assert said(upcoming(daily, ms("2026-03-27T12:00"), 3)) == ["03-28 06:00", "03-29 05:00", "03-30 05:00"]


def test_an_hour_that_is_left_out_or_comes_twice_has_one_tick() -> None:
    nightly = rule(cron="30 2 * * *", time_zone="Europe/Berlin")
    assert said(upcoming(nightly, ms("2026-03-28T12:00"), 2)) == ["03-29 01:00", "03-30 00:30"], "at three, once"
    assert said(upcoming(nightly, ms("2026-10-24T12:00"), 2)) == ["10-25 00:30", "10-26 01:30"], "not twice"


def test_in_the_hour_that_comes_a_second_time_nothing_is_due_that_is_over() -> None:
    nightly = rule(cron="30 2 * * *", time_zone="Europe/Berlin")
    assert said(upcoming(nightly, ms("2026-10-25T01:05"), 2)) == ["10-26 01:30", "10-27 01:30"]
    early = rule(cron="15,45 1-3 * * *", time_zone="Europe/Berlin")
    assert said(upcoming(early, ms("2026-10-25T01:05"), 1)) == ["10-25 02:15"]


def test_what_comes_every_half_hour_goes_on_through_both() -> None:
    often = rule(cron="*/30 * * * *", time_zone="Europe/Berlin")
    found = upcoming(often, ms("2026-10-24T22:00"), 12)
    assert {later - tick for tick, later in pairwise(found)} == {1_800_000}


def test_a_change_by_half_an_hour_leaves_no_tick_out() -> None:
    often = rule(cron="12 */4 * * *", time_zone="Australia/Lord_Howe")
    expected = ["04-04 13:12", "04-04 17:42", "04-04 21:42", "10-03 13:42", "10-03 17:12", "10-03 21:12"]
    back, on = upcoming(often, ms("2026-04-04T12:00"), 3), upcoming(often, ms("2026-10-03T12:00"), 3)
    assert said(back + on) == expected
    half = rule(cron="*/30 * * * *", time_zone="Australia/Lord_Howe")
    found = upcoming(half, ms("2026-04-04T10:00"), 24) + upcoming(half, ms("2026-04-04T22:00"), 1)
    assert {later - tick for tick, later in pairwise(found)} == {1_800_000}


@pytest.mark.parametrize("cron", ["45 * * * *", "*/7 */3 * * *", "20-40 1 * * *", "* * 5 4 *", "30 */15 */2 * * *"])
@pytest.mark.parametrize("changes", ["2026-04-04T15:00", "2026-10-03T15:30"])
def test_the_next_tick_is_the_same_wherever_it_is_looked_for_from(cron: str, changes: str) -> None:
    often = rule(cron=cron, time_zone="Australia/Lord_Howe")
    begin, end = ms(changes) - 3 * 3_600_000, ms(changes) + 9 * 3_600_000
    ticks = list(takewhile(lambda tick: tick < end, often.ticks(begin)))
    for before, tick in pairwise([begin, *ticks]):
        assert {often.next_tick(before + (tick - before) * part // 5) for part in range(5)} == {tick}


def test_a_day_that_has_no_midnight_begins_without_one() -> None:
    weekly = rule(cron="*/30 0 * * SUN", time_zone="Asia/Beirut")
    assert said(upcoming(weekly, ms("2026-03-28T12:00"), 1)) == ["04-04 21:00"]
    at_midnight = rule(cron="0 0 * * SUN", time_zone="Asia/Beirut")
    assert said(upcoming(at_midnight, ms("2026-03-28T12:00"), 1)) == ["03-28 22:00"], "at one"


def test_seconds_and_weekdays() -> None:
    assert said(upcoming(rule(cron="0 7 * * MON-FRI"), ms("2026-11-20T12:00"), 1)) == ["11-23 07:00"]
    assert rule(cron="*/10 * * * * *").next_tick(1_234) == 10_000


@given(
    every_ms=st.integers(1_000, DAY_MS),
    start_ms=st.none() | st.integers(0, 10**12),
    after_ms=st.integers(0, 2 * 10**12),
)
def test_an_interval_counts_from_its_start(every_ms: int, start_ms: int | None, after_ms: int) -> None:
    each = rule(every_ms=every_ms, start_ms=start_ms)
    tick = each.next_tick(after_ms)
    assert tick is not None
    assert tick > after_ms
    assert tick >= (start_ms or 0)
    assert (tick - (start_ms or 0)) % every_ms == 0
    assert tick - every_ms <= after_ms or tick == start_ms
    (last,), count = each.last_ticks(tick, tick + 5 * every_ms, 1)
    assert (last, count) == (tick + 5 * every_ms, 6)


def test_bounds() -> None:
    bounded = rule(every_ms=1_000, start_ms=5_500, end_ms=7_600)
    assert list(islice(bounded.ticks(0), 5)) == [5_500, 6_500, 7_500]
    assert bounded.last_ticks(5_500, 99_000, 2) == ([6_500, 7_500], 3)
    assert rule(cron="0 0 29 2 *", end_ms=1).next_tick(0) is None


def test_jitter_is_the_same_for_a_tick_wherever_it_is_drawn() -> None:
    late = [rule(every_ms=1_000, jitter_ms=500).due_ms(tick) - tick for tick in range(0, 100_000, 1_000)]
    assert late == [rule(every_ms=1_000, jitter_ms=500).due_ms(tick) - tick for tick in range(0, 100_000, 1_000)]
    assert min(late) >= 0
    assert max(late) <= 500
    assert len({*late}) > 50


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, "cron"),
        ({"cron": "* * *", "every_ms": 1_000}, "cron"),
        ({"cron": "61 * * * *"}, "cron"),
        ({"cron": "* * * * *", "time_zone": "Mars/Base"}, "time_zone"),
        ({"cron": "* * * * *", "time_zone": "../etc"}, "time_zone"),
        ({"cron": "* * * * *", "time_zone": "localtime"}, "time_zone"),
        ({"every_ms": 10}, "every_ms"),
        ({"every_ms": True}, "every_ms"),
        ({"every_ms": 1_000, "jitter_ms": -1}, "jitter_ms"),
        ({"every_ms": 1_000, "expires_ms": -1}, "expires_ms"),
        ({"every_ms": 1_000, "unique_for_ms": 10**12}, "unique_for_ms"),
        ({"every_ms": 1_000, "tenant": "x" * 65}, "tenant"),
        ({"every_ms": 1_000, "tenant": None}, "tenant"),
        ({"every_ms": 1_000, "misfire": "twice"}, "misfire"),
        ({"every_ms": 1_000, "priority": None}, "priority"),
        ({"every_ms": 1_000, "in_ms": 0}, "priority"),
        ({"every_ms": 1_000, "priority": 3}, "content"),
        ({"every_ms": 1_000, "content": ""}, "content"),
        ({"every_ms": 1_000, "content": b"text"}, "content"),
        ({"every_ms": 1_000, "content": "a\0b"}, "content"),
        ({"cron": "0," * 50 + "0 * * * *"}, "cron"),
        ({"cron": "* * * * *", "start_ms": 2**52}, "start_ms"),
        ({"every_ms": 1_000, "topic": "a b"}, "topic"),
        ({"every_ms": 1_000, "name": "a/b"}, "name"),
        ({"every_ms": 1_000, "name": "a\nb"}, "name"),
    ],
)
def test_what_cannot_be_is_refused_and_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRecurring) as refused:
        rule(**changes)
    assert field in refused.value.problems
