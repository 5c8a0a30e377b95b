"""Finds other flights for passengers who cannot go as planned. Pure; raises what the data really lacks."""

from __future__ import annotations

from dataclasses import dataclass

from console.demo.flights import Day, Flight
from console.demo.schedule import announced_ms, local_time

OFFERS_MOST = 3


class DataDefect(Exception):
    """The data set's row of a flight lacks what rebooking needs."""


class MissingTailNumber(DataDefect):
    """Nobody knows which aircraft was to fly, and so whose seats are to be found elsewhere."""


class MissingArrivalTime(DataDefect):
    """It left, and the row does not say that it ever arrived."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Another flight for the passengers."""

    flight: str
    name: str
    origin: str
    departs: str


def tail_of(flight: Flight) -> str:
    """Which aircraft was to fly. Raises `MissingTailNumber`."""
    if flight.tail is None:
        raise MissingTailNumber(f"no tail number, so nobody knows which aircraft's passengers to rebook: {flight.id}")
    return flight.tail


def offers(day: Day, flight: Flight, now_ms: int) -> list[Offer]:
    """The next flights of any carrier, from any airport of New York, to the same destination.

    Only what is known at ``now_ms`` counts: a flight whose cancellation is announced later is still offered. Raises
    `MissingTailNumber`, `MissingArrivalTime`.
    """
    tail_of(flight)
    if flight.departure_ms is not None and flight.departure_ms <= now_ms and flight.arrival_ms is None:
        raise MissingArrivalTime(f"left, but no arrival time, so nobody knows where its passengers are: {flight.id}")
    latest_ms = flight.departure_ms  # who waits for a late flight gains nothing by one that leaves after it
    found = [
        other
        for other in day.flights
        if other.destination == flight.destination
        and other.id != flight.id
        and (leaves_ms := _leaves_ms(other, now_ms)) is not None
        and (latest_ms is None or leaves_ms < latest_ms)
    ]
    found.sort(key=lambda other: (_leaves_ms(other, now_ms), other.id))
    return [_offer(other, now_ms) for other in found[:OFFERS_MOST]]


def _offer(flight: Flight, now_ms: int) -> Offer:
    leaves_ms = _leaves_ms(flight, now_ms)
    assert leaves_ms is not None
    return Offer(flight.id, flight.name, flight.origin, local_time(leaves_ms).strftime("%H:%M"))


def _leaves_ms(flight: Flight, now_ms: int) -> int | None:
    """When it will leave, as far as is known; None when it has left, or is known not to."""
    announced = announced_ms(flight)
    if flight.departure_ms is not None and now_ms >= flight.departure_ms:
        return None
    if announced is None or now_ms < announced:
        return flight.scheduled_departure_ms
    return flight.departure_ms
