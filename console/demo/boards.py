"""Computes what a board at an airport shows, from the flights and the time. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from console.demo.flights import MINUTE_MS, Flight
from console.demo.program import Scene
from console.demo.schedule import announced_ms, gate_closes_ms, local_time

ROWS_MOST = 8
LINGER_MS = 20 * MINUTE_MS
"""A flight stays on the board so long after it left, arrived or should have."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One line of a board; times as clocks at that airport show them."""

    time: str
    flight: str
    direction: str
    status: str


def board_rows(scenes: Iterable[Scene], airport: str, carrier: str) -> list[BoardRow]:
    """The next flights of a carrier at an airport, and those that just left or arrived; earliest first."""
    found = []
    for scene in scenes:
        for flight in scene.day.flights:
            if flight.carrier != carrier or airport not in (flight.origin, flight.destination):
                continue
            departs = flight.origin == airport
            at_ms = (_departs_ms if departs else _arrives_ms)(flight, scene.now_ms)
            if at_ms >= scene.now_ms - LINGER_MS:
                found.append((at_ms - scene.now_ms, flight.id, _row(flight, departs, scene.now_ms)))
    return [row for _, _, row in sorted(found, key=lambda each: each[:2])[:ROWS_MOST]]


def status(flight: Flight, now_ms: int) -> str:
    """What is known of a flight, in a few words."""
    announced = announced_ms(flight)
    known = announced is not None and now_ms >= announced
    departure_ms, arrival_ms = flight.departure_ms, flight.arrival_ms
    if departure_ms is None:
        return "cancelled" if known else _before(flight, now_ms)
    if now_ms < departure_ms:
        return f"delayed to {_clock(departure_ms)}" if known else _before(flight, now_ms)
    if arrival_ms is None:
        return f"left {_clock(departure_ms)}, not arrived"
    if now_ms < arrival_ms:
        left = (arrival_ms - now_ms) / max(1, arrival_ms - departure_ms)
        return f"left {_clock(departure_ms)}, {round(flight.miles * left)} of {flight.miles} miles to go"
    return f"landed {_clock(arrival_ms, flight.destination_zone)}"


def _before(flight: Flight, now_ms: int) -> str:
    return "gate closed" if now_ms >= gate_closes_ms(flight) else "on time"


def _departs_ms(flight: Flight, now_ms: int) -> int:
    announced = announced_ms(flight)
    if flight.departure_ms is not None and (now_ms >= flight.departure_ms or (announced and now_ms >= announced)):
        return flight.departure_ms
    return flight.scheduled_departure_ms


def _arrives_ms(flight: Flight, now_ms: int) -> int:
    if flight.arrival_ms is not None and flight.departure_ms is not None and now_ms >= flight.departure_ms:
        return flight.arrival_ms
    return flight.scheduled_arrival_ms


def _row(flight: Flight, departs: bool, now_ms: int) -> BoardRow:
    if departs:
        planned, direction = _clock(flight.scheduled_departure_ms), f"to {flight.destination}"
    else:
        planned, direction = _clock(flight.scheduled_arrival_ms, flight.destination_zone), f"from {flight.origin}"
    return BoardRow(planned, flight.name, direction, status(flight, now_ms))


def _clock(at_ms: int, *zone: str) -> str:
    return local_time(at_ms, *zone).strftime("%H:%M")
