"""What happens on a day of flights, in order, and which messages it causes. Pure: no clock, no queue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from console.demo.flights import HOME_ZONE, MINUTE_MS, Day, Flight, midnight_ms
from console.demo.topics import DEPARTURE_BOARD, REBOOKING
from rmq_core import FixedTimeMessage, PriorityMessage, RangeMergeMessage, StreamMessage

DAY_MS = 24 * 60 * MINUTE_MS
OPENING_MS = 270 * MINUTE_MS
"""A day is replayed from 04:30 in New York, when nearly nothing is in the air, to 04:30."""
GATE_CLOSES_MS = 15 * MINUTE_MS
NOTICE_MS = 180 * MINUTE_MS
"""A cancellation is announced so long before the scheduled departure; the data set does not say when it was."""
OVERDUE_MS = 60 * MINUTE_MS
"""A flight that never arrived is missed so long after it should have."""
REBOOK_FROM_MIN = 15
"""From this delay on, which is what airlines count as late, connections are missed."""
MERGE_MS = 2_000

LEAST_PRIORITY = 17
CANCELLED_PRIORITY = 10_000
"""Above every delay: the longest of 2013 was 1301 minutes."""


class Kind(StrEnum):
    """What can happen to a flight."""

    CANCELLED = "cancelled"
    GATE_CLOSED = "gate_closed"
    DELAYED = "delayed"
    DEPARTED = "departed"
    ARRIVED = "arrived"
    OVERDUE = "overdue"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a flight at ``at_ms``, in 2013."""

    at_ms: int
    kind: Kind
    flight: Flight


def opening_ms(day: Day) -> int:
    """When the replay of a day begins."""
    return midnight_ms(day.date) + OPENING_MS


def announced_ms(flight: Flight) -> int | None:
    """When the cancellation or the delay is known; None for a flight that leaves on time."""
    if flight.cancelled:
        return flight.scheduled_departure_ms - NOTICE_MS
    return flight.scheduled_departure_ms if flight.delay_min else None


def gate_closes_ms(flight: Flight) -> int:
    """When the gate closes, by the timetable."""
    return flight.scheduled_departure_ms - GATE_CLOSES_MS


def events(day: Day) -> list[Event]:
    """Everything that happens to the day's flights, oldest first, not before the opening."""
    start_ms = opening_ms(day)
    happened = (Event(max(start_ms, at_ms), kind, flight) for flight in day.flights for at_ms, kind in _life(flight))
    return sorted(happened, key=lambda event: (event.at_ms, event.kind, event.flight.id))


def _life(flight: Flight) -> Iterator[tuple[int, Kind]]:
    announced = announced_ms(flight)
    if flight.departure_ms is None:
        assert announced is not None
        yield announced, Kind.CANCELLED
        return
    if announced is not None:
        yield announced, Kind.DELAYED
    yield flight.departure_ms, Kind.DEPARTED
    if flight.arrival_ms is not None:
        yield flight.arrival_ms, Kind.ARRIVED
    else:
        late_ms = max(0, flight.departure_ms - flight.scheduled_departure_ms)
        yield flight.scheduled_arrival_ms + late_ms + OVERDUE_MS, Kind.OVERDUE


def messages(event: Event) -> Iterator[tuple[str, RangeMergeMessage | PriorityMessage]]:
    """The messages an event causes, each with its topic."""
    flight = event.flight
    for message in refreshes(flight):
        yield DEPARTURE_BOARD.name, message
    if event.kind is Kind.CANCELLED:
        yield REBOOKING.name, rebooking_message(flight, event.kind, CANCELLED_PRIORITY)
    elif event.kind is Kind.DELAYED and flight.delay_min >= REBOOK_FROM_MIN:
        yield REBOOKING.name, rebooking_message(flight, event.kind, LEAST_PRIORITY + flight.delay_min)
    elif event.kind is Kind.OVERDUE:
        yield REBOOKING.name, rebooking_message(flight, event.kind, LEAST_PRIORITY + OVERDUE_MS // MINUTE_MS)


def boards_of(flight: Flight) -> tuple[str, str]:
    """The boards it is shown on, by airport and carrier."""
    return f"{flight.origin}/{flight.carrier}", f"{flight.destination}/{flight.carrier}"


def board_message(board: str) -> RangeMergeMessage:
    """A board wants to be refreshed. It is its own identity, so further ones merge into it."""
    return RangeMergeMessage(board, range_ms=MERGE_MS)


def refreshes(flight: Flight) -> list[RangeMergeMessage]:
    """The boards at both ends want to be refreshed."""
    return [board_message(board) for board in boards_of(flight)]


def rebooking_message(flight: Flight, reason: Kind, priority: int) -> PriorityMessage:
    """Other flights are wanted. Two for the same destination never look for seats at the same time."""
    values = {**described(flight), "reason": reason, "delay_min": None if flight.cancelled else flight.delay_min}
    return PriorityMessage(json.dumps(values), priority, key=flight.id, slot_basis=flight.destination)


def gate_message(flight: Flight, due_ms: int) -> FixedTimeMessage:
    """The gate of ``flight`` closes at ``due_ms``, on the wall's clock; from then on an entry of the stream."""
    happened = Kind.GATE_CLOSED
    content = json.dumps({**described(flight), "event": happened})
    return FixedTimeMessage(content, due_ms, key=flight.id, headers={"event": happened.value})


def event_message(event: Event) -> StreamMessage:
    """What happened, as an entry of the stream; those of one flight are in order."""
    flight = event.flight
    values = {**described(flight), "event": event.kind, "delay_min": None if flight.cancelled else flight.delay_min}
    return StreamMessage(json.dumps(values), slot_basis=flight.id, headers={"event": event.kind.value})


def described(flight: Flight) -> dict[str, str | None]:
    """What every message about a flight tells."""
    return {
        "from": flight.origin,
        "to": flight.destination,
        "scheduled": local_time(flight.scheduled_departure_ms).isoformat(timespec="minutes"),
        "carrier": flight.carrier,
        "tail": flight.tail,
        "flight": flight.id,
    }


def local_time(at_ms: int, zone: str = HOME_ZONE) -> datetime:
    """A moment as clocks in ``zone`` show it."""
    return datetime.fromtimestamp(at_ms / 1000, ZoneInfo(zone))
