"""The line of simulated time: clock, laps, order, and taking it up anywhere."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.demo.flights import Day
from console.demo.program import TAIL_LAPS, Clock, Program
from console.demo.schedule import DAY_MS, Kind, events, opening_ms

MOMENTS = st.integers(0, 10**13)


@pytest.fixture(scope="module")
def small(program: Program) -> Program:
    """Three storms, every twelfth flight of each."""
    return Program([Day(day.date, day.flights[::12]) for day in program.days[:3]])


@given(anchor=MOMENTS, start=st.integers(0, 10**12), speed=st.integers(1, 10_000), position=st.integers(0, 10**12))
def test_the_wall_time_of_a_position_is_the_first_at_which_it_is_reached(
    anchor: int, start: int, speed: int, position: int
) -> None:
    clock = Clock(anchor, start, speed)
    wall = clock.wall_at(position)
    assert clock.position_at(wall) >= position > clock.position_at(wall - 1)
    assert clock.position_at(anchor) == start


def test_days_follow_one_another_without_end(small: Program) -> None:
    laps = [small.day(lap).date for lap in range(7)]
    assert laps == [day.date for day in small.days] * 2 + [small.days[0].date]
    expected = sum(len(events(day)) for day in small.days)
    played = list(itertools.takewhile(lambda each: each[0] < 6 * DAY_MS, small.events_after(-1)))
    positions = [position for position, _ in played]
    assert positions == sorted(positions)
    assert positions[0] >= 0
    twice = Counter((event.flight.id, event.kind) for _, event in played)
    late = 2 * expected - len(played)  # the consequences of the last lap that lie beyond its end
    assert 0 <= late < 20
    assert set(twice.values()) <= {1, 2}


@settings(max_examples=30, deadline=None)
@given(after=st.integers(-1, 5 * DAY_MS))
def test_taken_up_anywhere_it_goes_on_as_if_never_stopped(small: Program, after: int) -> None:
    whole = itertools.dropwhile(lambda each: each[0] <= after, small.events_after(-1))
    assert list(itertools.islice(small.events_after(after), 300)) == list(itertools.islice(whole, 300))


def test_no_consequence_lies_further_ahead_than_is_looked_back(program: Program) -> None:
    for day in program.days:
        assert max(event.at_ms for event in events(day)) - opening_ms(day) < (TAIL_LAPS + 1) * DAY_MS


def test_scenes_are_the_present_day_and_those_that_may_not_be_over(small: Program) -> None:
    scenes = small.scenes(3 * DAY_MS + 60_000)
    assert [scene.day.date for scene in scenes] == [small.days[i].date for i in (0, 2, 1)]
    assert str(scenes[0]) == "2013-02-08 04:31"
    assert str(scenes[1]) == "2013-03-07 04:31"  # the day after 6 March, for its late flights
    assert len(small.scenes(5)) == 1


def test_gates_close_in_their_lap(small: Program) -> None:
    for lap in range(4):
        gates = list(small.gates(lap))
        assert [flight for _, flight in gates] == list(small.day(lap).flights)
        assert all(lap * DAY_MS <= position < (lap + 1) * DAY_MS for position, _ in gates)


def test_an_aircraft_is_in_the_air_between_departure_and_arrival(small: Program) -> None:
    day = small.days[0]
    flight = next(flight for flight in day.flights if flight.arrival_ms is not None)
    assert flight.departure_ms is not None
    assert flight.arrival_ms is not None
    left, landed = small.position(0, flight.departure_ms), small.position(0, flight.arrival_ms)
    assert [flight in small.airborne(at) for at in (left - 1, left, landed - 1, landed)] == [False, True, True, False]


def test_who_never_arrives_reports_no_position(program: Program) -> None:
    day = program.days[0]
    lost = [event.flight for event in events(day) if event.kind is Kind.OVERDUE]
    assert lost
    for flight in lost:
        assert flight.departure_ms is not None
        assert flight not in program.airborne(program.position(0, flight.departure_ms) + 1)


def test_a_programme_without_days_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one day"):
        Program([])
