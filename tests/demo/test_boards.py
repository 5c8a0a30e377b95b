"""What a board shows of real flights at a given moment."""

from __future__ import annotations

from datetime import datetime

import pytest

from console.demo.boards import ROWS_MOST, BoardRow, board_rows, status
from console.demo.flights import MINUTE_MS, Day
from console.demo.program import Program, Scene
from tests.demo import rows


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("row", "moment", "shown"),
    [
        (rows.ON_TIME, "2013-01-01T04:59-05:00", "on time"),
        (rows.ON_TIME, "2013-01-01T05:00-05:00", "gate closed"),
        (rows.ON_TIME, "2013-01-01T05:15-05:00", "delayed to 05:17"),
        (rows.ON_TIME, "2013-01-01T05:17-05:00", "left 05:17, 1400 of 1400 miles to go"),
        (rows.ON_TIME, "2013-01-01T09:29-05:00", "left 05:17, 6 of 1400 miles to go"),
        (rows.ON_TIME, "2013-01-01T09:30-05:00", "landed 08:30"),
        (rows.NO_TAIL, "2013-02-08T03:14-05:00", "on time"),
        (rows.NO_TAIL, "2013-02-08T03:15-05:00", "cancelled"),
        (rows.NEVER_ARRIVED, "2013-01-02T12:00-05:00", "left 20:16, not arrived"),
    ],
)
def test_what_is_known_of_a_flight(row: str, moment: str, shown: str) -> None:
    assert status(rows.flight(row), at(moment)) == shown


def test_a_board_of_departures_in_the_blizzard(blizzard: Day) -> None:
    found = board_rows([Scene(blizzard, at("2013-02-08T07:11-05:00"))], "JFK", "B6")
    assert found[0] == BoardRow("06:55", "B6 117", "to MSY", "left 06:52, 1081 of 1182 miles to go")
    assert found[6] == BoardRow("07:29", "B6 1305", "to IAD", "on time")
    assert len(found) == ROWS_MOST


def test_arrivals_are_told_by_the_clocks_there(blizzard: Day) -> None:
    houston = board_rows([Scene(blizzard, at("2013-02-08T06:00-05:00"))], "IAH", "UA")
    first = next(flight for flight in blizzard.flights if (flight.destination, flight.carrier) == ("IAH", "UA"))
    assert houston[0].flight == first.name
    assert houston[0].direction == f"from {first.origin}"
    assert houston[0].time == datetime.fromtimestamp(first.scheduled_arrival_ms / 1000 - 6 * 3600).strftime("%H:%M")


def test_what_is_over_leaves_the_board(blizzard: Day) -> None:
    morning, night = (
        {row.flight for row in board_rows([Scene(blizzard, at(f"2013-02-08T{hour}:00-05:00"))], "LGA", "DL")}
        for hour in ("06", "21")
    )
    assert morning
    assert not morning & night


def test_a_late_flight_of_the_day_before_is_still_shown(program: Program) -> None:
    lap, day, flight = next(
        (lap, day, flight)
        for lap, day in enumerate(program.days[:-1])
        for flight in day.flights
        if flight.departure_ms is not None and program.position(lap, flight.departure_ms) > (lap + 1) * 86_400_000
    )
    assert flight.departure_ms is not None
    scenes = program.scenes(program.position(lap, flight.departure_ms) - MINUTE_MS)
    assert scenes[0].day is program.day(lap + 1)
    assert scenes[1].day is day
    assert any(
        row.flight == flight.name and row.status.startswith("delayed to ")
        for row in board_rows(scenes, flight.origin, flight.carrier)
    )
