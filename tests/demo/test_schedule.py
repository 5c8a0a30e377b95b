"""From a day's flights to its messages."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from console.demo.flights import MINUTE_MS, Day, Flight
from console.demo.program import Program
from console.demo.schedule import (
    CANCELLED_PRIORITY,
    LEAST_PRIORITY,
    Event,
    Kind,
    announced_ms,
    events,
    gate_closes_ms,
    gate_message,
    messages,
    opening_ms,
)
from rmq_core import PriorityMessage, RangeMergeMessage
from tests.demo import rows
from tests.demo.conftest import OnDisk


def life(flight: Flight) -> list[tuple[Kind, int]]:
    """What happens to one flight, in minutes after its scheduled departure."""
    found = events(Day(flight.day, (flight,)))
    return [(event.kind, (event.at_ms - flight.scheduled_departure_ms) // MINUTE_MS) for event in found]


def rebooking_of(event: Event) -> PriorityMessage:
    (found,) = [message for topic, message in messages(event) if topic == "rebooking"]
    assert isinstance(found, PriorityMessage)
    return found


def test_the_blizzard_in_figures(blizzard: Day, on_disk: OnDisk) -> None:
    happened = events(blizzard)
    kinds = Counter(event.kind for event in happened)
    read = [row for row in on_disk.rows.values() if (row["month"], row["day"]) == ("2", "8")]
    delays = [int(row["dep_delay"]) for row in read if row["dep_delay"] != "NA"]
    assert kinds == {
        Kind.CANCELLED: 472,
        Kind.DELAYED: sum(delay > 0 for delay in delays),
        Kind.DEPARTED: 930 - 472,
        Kind.ARRIVED: 930 - 472 - 2,
        Kind.OVERDUE: 2,
    }
    sent = Counter(topic for event in happened for topic, _ in messages(event))
    late = sum(delay >= 15 for delay in delays)
    assert sent == {"departure-board": 2 * len(happened), "rebooking": 472 + late + 2}
    defective = [json.loads(rebooking_of(event).content) for event in happened if event.kind is Kind.CANCELLED]
    assert sum(reported["tail"] is None for reported in defective) == 161


def test_events_are_in_order_and_none_is_before_the_opening(program: Program) -> None:
    for day in program.days:
        times = [event.at_ms for event in events(day)]
        assert times == sorted(times)
        assert times[0] >= opening_ms(day)


def test_a_delayed_flight_is_announced_when_it_should_have_left() -> None:
    assert life(rows.flight(rows.LANDS_AT_MIDNIGHT)) == [(Kind.DELAYED, 0), (Kind.DEPARTED, 14), (Kind.ARRIVED, 125)]


def test_a_flight_that_leaves_early_is_not_delayed() -> None:
    assert [kind for kind, _ in life(rows.flight(rows.TO_HAWAII))] == [Kind.DEPARTED, Kind.ARRIVED]


def test_a_cancellation_is_known_hours_before_but_not_before_the_opening() -> None:
    flight = rows.flight(rows.NO_TAIL)
    assert announced_ms(flight) == flight.scheduled_departure_ms - 180 * MINUTE_MS  # 03:15, before the opening
    assert life(flight) == [(Kind.CANCELLED, -105)]


def test_a_flight_that_never_arrives_is_missed_an_hour_after_it_should_have() -> None:
    flight = rows.flight(rows.NEVER_ARRIVED)
    block = (flight.scheduled_arrival_ms - flight.scheduled_departure_ms) // MINUTE_MS
    assert life(flight) == [(Kind.DELAYED, 0), (Kind.DEPARTED, 46), (Kind.OVERDUE, block + 46 + 60)]


def test_cancelled_flights_go_before_every_delay(program: Program) -> None:
    priorities: dict[Kind, list[int]] = {kind: [] for kind in Kind}
    for day in program.days:
        for event in events(day):
            for _, message in messages(event):
                if isinstance(message, PriorityMessage):
                    priorities[event.kind].append(message.priority)
    assert set(priorities[Kind.CANCELLED]) == {CANCELLED_PRIORITY}
    assert LEAST_PRIORITY < min(priorities[Kind.DELAYED]) < max(priorities[Kind.DELAYED]) < CANCELLED_PRIORITY
    assert set(priorities[Kind.OVERDUE]) == {LEAST_PRIORITY + 60}
    assert not priorities[Kind.DEPARTED] + priorities[Kind.ARRIVED]


def test_the_longer_the_delay_the_higher_the_priority() -> None:
    flight = rows.flight(rows.NEVER_ARRIVED)
    delayed = events(Day(flight.day, (flight,)))[0]
    assert rebooking_of(delayed).priority == LEAST_PRIORITY + 46


def test_a_short_delay_makes_nobody_miss_a_connection() -> None:
    flight = rows.flight(rows.LANDS_AT_MIDNIGHT)
    delayed = events(Day(flight.day, (flight,)))[0]
    assert (delayed.kind, flight.delay_min) == (Kind.DELAYED, 14)
    assert {topic for topic, _ in messages(delayed)} == {"departure-board"}


@pytest.mark.parametrize("kind", list(Kind))
def test_every_event_refreshes_the_boards_of_both_airports(kind: Kind) -> None:
    event = Event(0, kind, rows.flight(rows.NO_TAIL))
    boards = [message for topic, message in messages(event) if topic == "departure-board"]
    assert boards == [RangeMergeMessage("JFK/US", range_ms=2_000), RangeMergeMessage("CLT/US", range_ms=2_000)]


def test_messages_have_ids_that_people_can_read() -> None:
    flight = rows.flight(rows.NO_TAIL)
    wanted = rebooking_of(Event(0, Kind.CANCELLED, flight))
    assert (wanted.key, wanted.slot_basis) == ("2013-02-08/US/1791/JFK", "CLT")
    assert json.loads(wanted.content) == {
        "flight": "2013-02-08/US/1791/JFK",
        "carrier": "US",
        "tail": None,
        "from": "JFK",
        "to": "CLT",
        "scheduled": "2013-02-08T06:15-05:00",
        "reason": "cancelled",
        "delay_min": None,
    }
    gate = gate_message(flight, 1_700_000_000_000)
    assert (gate.key, gate.due_ms) == ("2013-02-08/US/1791/JFK", 1_700_000_000_000)
    assert gate_closes_ms(flight) == flight.scheduled_departure_ms - 15 * MINUTE_MS
