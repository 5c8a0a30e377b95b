"""Other flights for passengers, by what is known at that moment; and the rows that cannot be rebooked."""

from __future__ import annotations

from datetime import datetime

import pytest

from console.demo.flights import Day, Flight
from console.demo.program import Program
from console.demo.rebooking import OFFERS_MOST, MissingArrivalTime, MissingTailNumber, offers
from console.demo.schedule import announced_ms


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def find(day: Day, id: str) -> Flight:
    return next(flight for flight in day.flights if flight.id == id)


def test_a_cancelled_flights_passengers_get_the_next_ones_there(blizzard: Day) -> None:
    flight = find(blizzard, "2013-02-08/EV/4392/EWR")
    assert flight.cancelled
    found = offers(blizzard, flight, at("2013-02-08T06:00-05:00"))
    assert [(offer.name, offer.origin, offer.departs) for offer in found] == [
        ("B6 44", "JFK", "07:57"),
        ("B6 42", "JFK", "12:10"),
        ("B6 12", "JFK", "14:59"),
    ]


def test_who_waits_for_a_late_flight_is_offered_only_earlier_ones(blizzard: Day) -> None:
    flight = find(blizzard, "2013-02-08/DL/2006/LGA")
    assert flight.delay_min == 153
    found = offers(blizzard, flight, at("2013-02-08T06:30-05:00"))
    assert [(offer.name, offer.departs) for offer in found] == [("B6 117", "06:55"), ("UA 1568", "07:10")]


def test_nobody_is_sent_to_a_flight_known_to_be_gone_or_cancelled(program: Program) -> None:
    asked = 0
    for day in program.days:
        for flight in day.flights:
            now_ms = announced_ms(flight)
            if now_ms is None or flight.tail is None or (flight.arrival_ms is None and not flight.cancelled):
                continue
            asked += 1
            found = offers(day, flight, now_ms)
            assert len(found) <= OFFERS_MOST
            for offer in found:
                other = find(day, offer.flight)
                assert other.destination == flight.destination
                assert other.id != flight.id
                assert other.departure_ms is None or other.departure_ms > now_ms
                known = announced_ms(other)
                assert not (other.cancelled and known is not None and known <= now_ms)
        if asked > 1_000:
            return


def test_a_row_without_a_tail_number_is_a_defect(blizzard: Day) -> None:
    with pytest.raises(MissingTailNumber, match=r"no tail number.*: 2013-02-08/US/1791/JFK"):
        offers(blizzard, find(blizzard, "2013-02-08/US/1791/JFK"), 0)


def test_a_flight_that_left_and_never_arrived_is_a_defect(blizzard: Day) -> None:
    flight = next(flight for flight in blizzard.flights if not flight.cancelled and flight.arrival_ms is None)
    assert flight.departure_ms is not None
    with pytest.raises(MissingArrivalTime, match=f"left, but no arrival time.*: {flight.id}"):
        offers(blizzard, flight, flight.departure_ms)
    offers(blizzard, flight, flight.departure_ms - 1)  # before it leaves nobody can know
