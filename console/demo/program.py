"""The endless programme: chosen days one after another, over and over, along one line of simulated time.

A *position* is simulated milliseconds since the beginning of the first lap; a *lap* is one day of the programme.
Consequences of a day may lie beyond its end (long delays, night flights) and then overlap with the next lap.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from console.demo.flights import Day, Flight, storm_days
from console.demo.schedule import DAY_MS, Event, boards_of, events, gate_closes_ms, local_time, opening_ms

STORM_DAYS = 12
GATE_LAPS = 4
"""The gates of so many days are planned, the present one included; but no day's twice at a time."""
TAIL_LAPS = 2
"""How many laps back something may still happen: the longest delay plus the longest flight is 35 hours."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How wall time (Redis's, epoch milliseconds) and the programme's positions run beside each other."""

    anchor_ms: int
    position_ms: int
    speed: int

    def position_at(self, wall_ms: int) -> int:
        """The position that is played at a wall time."""
        return self.position_ms + (wall_ms - self.anchor_ms) * self.speed

    def wall_at(self, position_ms: int) -> int:
        """The first wall time at which a position has been reached."""
        return self.anchor_ms - (self.position_ms - position_ms) // self.speed


@dataclass(frozen=True, slots=True)
class Scene:
    """A day that is on stage, and its own time of day."""

    day: Day
    now_ms: int

    def __str__(self) -> str:
        return f"{local_time(self.now_ms):%Y-%m-%d %H:%M}"


class Program:
    """``days`` in the order they are played; at least one."""

    def __init__(self, days: Sequence[Day]) -> None:
        if not days:
            raise ValueError("the programme needs at least one day")
        self.days = tuple(days)
        self._boards = {day.date: sorted({each for f in day.flights for each in boards_of(f)}) for day in self.days}

    def day(self, lap: int) -> Day:
        """What is played in a lap."""
        return self.days[lap % len(self.days)]

    def position(self, lap: int, at_ms: int) -> int:
        """Where a moment of a lap's day lies."""
        return lap * DAY_MS + at_ms - opening_ms(self.day(lap))

    def scenes(self, position_ms: int) -> list[Scene]:
        """The days in which something may be going on, the newest first."""
        lap = position_ms // DAY_MS
        return [
            Scene(self.day(each), opening_ms(self.day(each)) + position_ms - each * DAY_MS)
            for each in range(lap, max(0, lap - TAIL_LAPS) - 1, -1)
        ]

    def events_after(self, position_ms: int) -> Iterator[tuple[int, Event]]:
        """Every event behind ``position_ms`` (-1: from the very first) with its position, in order, without end."""
        waiting: list[tuple[int, int, int, Event]] = []
        for lap in itertools.count(max(0, position_ms // DAY_MS - TAIL_LAPS)):
            for i, event in enumerate(events(self.day(lap))):
                heapq.heappush(waiting, (self.position(lap, event.at_ms), lap, i, event))
            while waiting and waiting[0][0] < (lap + 1) * DAY_MS:
                at, _, _, event = heapq.heappop(waiting)
                if at > position_ms:
                    yield at, event

    def gates(self, lap: int) -> Iterator[tuple[int, Flight]]:
        """The flights of a lap, each with the position at which its gate closes."""
        for flight in self.day(lap).flights:
            yield max(lap * DAY_MS, self.position(lap, gate_closes_ms(flight))), flight

    def boards(self, position_ms: int) -> list[str]:
        """The boards of the present day, such as ``JFK/B6``."""
        return self._boards[self.day(position_ms // DAY_MS).date]

    def airborne(self, position_ms: int) -> list[Flight]:
        """The flights that are in the air and will arrive."""
        return [
            flight
            for scene in self.scenes(position_ms)
            for flight in scene.day.flights
            if flight.departure_ms is not None
            and flight.arrival_ms is not None
            and flight.departure_ms <= scene.now_ms < flight.arrival_ms
        ]


def storm_program() -> Program:
    """What the demo plays: the days of 2013 on which most flights were cancelled."""
    return Program(storm_days(STORM_DAYS))
