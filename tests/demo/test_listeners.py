"""The listeners' work on single deliveries, and what they make of content that is none of theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from console.demo.listeners import Desk, listeners_of
from console.demo.program import Clock, Program
from console.demo.results import Progress, Results
from console.demo.schedule import MERGE_MS, Event, event_message, gate_message, rebooking_message
from console.demo.schedule import Kind as What
from console.demo.topics import (
    CACHE,
    DEPARTURE_BOARD,
    FLIGHT_EVENTS,
    GATE_CLOSE,
    GATES,
    GATES_CLOSED,
    NOTIFICATIONS,
    REBOOKING,
    STATISTICS,
    TOPICS,
)
from rmq_core import Listener, PriorityMessage, RangeMergeMessage
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.routes.forwarding import Forwarder, Moved
from rmq_core.testing import Drained, TestQueue
from tests.support.waiting import wait_until

SEVEN_O_CLOCK_MS = 150 * 60_000


@pytest.fixture
def queue(request: pytest.FixtureRequest, redis_server: EmbeddedRedis) -> Iterator[TestQueue]:
    """On a server, where all that the demo defines costs a tenth; or without one, for who moves the clock."""
    with TestQueue(getattr(request, "param", redis_server.url)) as queue:
        for topic in TOPICS:
            queue.define(topic)
        yield queue


@pytest.fixture
def listeners(queue: TestQueue, program: Program) -> dict[str, Listener]:
    """By topic; they live at 07:00 of the first day, where the clock stands still."""
    clock = Clock(queue.inspector.now_ms(), SEVEN_O_CLOCK_MS, speed=0)
    Results(queue.rmq).save_progress(Progress(clock, 0, 0, 0))
    desk = Desk(queue.rmq, program)
    return {listener.queue: listener for listener in listeners_of(lambda: desk)}


def of_group(listeners: dict[str, Listener], group: str) -> Listener:
    return next(found for name, found in listeners.items() if name.startswith(f"{FLIGHT_EVENTS.name}@{group}"))


def forward(queue: TestQueue) -> None:
    """What the keeper does with what is due in `gate-close`."""
    rmq = queue.rmq
    source, target = rmq.topic(GATE_CLOSE.name), rmq.topic(FLIGHT_EVENTS.name)
    forwarder = Forwarder(rmq.keyspace, rmq.define_route(GATES_CLOSED), source, {target.name: target})
    assert rmq.run(forwarder.move(rmq.take(source))) == Moved(forwarded=1)


def first_dead(queue: TestQueue, topic: str) -> str:
    (row,) = queue.inspector.messages(topic, "dead").rows
    assert row.error is not None
    return row.error


def test_a_gate_that_falls_due_is_forwarded_and_closed(
    queue: TestQueue, listeners: dict[str, Listener], program: Program
) -> None:
    flight = next(flight for flight in program.days[0].flights if flight.id == "2013-02-08/B6/117/JFK")
    queue.rmq.send(FLIGHT_EVENTS.name, event_message(Event(0, What.DEPARTED, flight)))
    assert queue.drain(of_group(listeners, GATES)) == Drained(done=1, failed=0)
    assert Results(queue.rmq).gates() == {}
    queue.rmq.send(GATE_CLOSE.name, gate_message(flight, 1_000), allow_past=True)
    forward(queue)
    (before, entry) = queue.rmq.read(FLIGHT_EVENTS).entries
    assert (before.slot, entry.headers) == (entry.slot, {"event": "gate_closed"})
    assert queue.drain(of_group(listeners, GATES)) == Drained(done=1, failed=0)
    assert Results(queue.rmq).gates() == {
        "JFK": {
            "flight": "2013-02-08/B6/117/JFK",
            "to": "MSY",
            "planned": "2013-02-08 06:40",
            "closed": "2013-02-08 07:00",
            "status": "left 06:52, 1139 of 1182 miles to go",
        }
    }


def test_a_board_is_refreshed_once_for_many_reasons(queue: TestQueue, listeners: dict[str, Listener]) -> None:
    for _ in range(5):
        queue.rmq.send(DEPARTURE_BOARD.name, RangeMergeMessage("JFK/B6", range_ms=MERGE_MS))
    listener = listeners[DEPARTURE_BOARD.name]
    done = wait_until(lambda: queue.drain(listener).done, what="the merged refresh is due")
    assert done == 1
    board = Results(queue.rmq).board("JFK")
    assert set(board) == {"B6"}
    assert board["B6"]["as_of"] == "2013-02-08 07:00"
    assert board["B6"]["rows"][0] == {
        "time": "06:55",
        "flight": "B6 117",
        "direction": "to MSY",
        "status": "left 06:52, 1139 of 1182 miles to go",
    }


def test_passengers_are_rebooked(queue: TestQueue, listeners: dict[str, Listener], program: Program) -> None:
    flight = next(flight for flight in program.days[0].flights if flight.id == "2013-02-08/EV/4392/EWR")
    queue.rmq.send(REBOOKING.name, rebooking_message(flight, What.CANCELLED, 10_000))
    assert queue.drain(listeners[REBOOKING.name]) == Drained(done=1, failed=0)
    offered = Results(queue.rmq).rebooked("2013-02-08")[flight.id]
    assert (offered["priority"], offered["to"], offered["seats"]) == (10_000, "SYR", 55)
    assert [offer["name"] for offer in offered["offers"]] == ["B6 44", "B6 42", "B6 12"]


def test_a_flight_of_a_day_that_is_not_played_is_rebooked_at_its_own_time(
    queue: TestQueue, listeners: dict[str, Listener], program: Program
) -> None:
    """As when an operator brings a dead letter of another day back."""
    day = program.days[5]
    flight = next(flight for flight in day.flights if flight.cancelled and flight.tail is not None)
    queue.rmq.send(REBOOKING.name, rebooking_message(flight, What.CANCELLED, 10_000))
    assert queue.drain(listeners[REBOOKING.name]) == Drained(done=1, failed=0)
    assert flight.id in Results(queue.rmq).rebooked(str(day.date))


def test_a_defective_row_fails_and_waits_for_another_try(
    queue: TestQueue, listeners: dict[str, Listener], program: Program
) -> None:
    flight = next(flight for flight in program.days[0].flights if flight.tail is None)
    queue.rmq.send(REBOOKING.name, rebooking_message(flight, What.CANCELLED, 10_000))
    assert queue.drain(listeners[REBOOKING.name]) == Drained(done=0, failed=1)
    (row,) = queue.inspector.messages(REBOOKING.name, "retrying").rows
    assert row.error is not None
    assert row.error.startswith("MissingTailNumber: no tail number")
    assert row.failures == 1


@pytest.mark.parametrize(
    "content",
    ["{", "null", "[]", "7", json.dumps({"flight": "2013-02-08/XX/1/JFK"}), json.dumps({"flight": []}), b"\xff\xfe"],
)
def test_content_that_names_no_flight_is_rejected_at_once(
    queue: TestQueue, listeners: dict[str, Listener], content: str | bytes
) -> None:
    queue.rmq.send(REBOOKING.name, PriorityMessage(content, priority=20))
    queue.rmq.send(FLIGHT_EVENTS.name, content)
    for name, listener in listeners.items():
        if name == REBOOKING.name or name.startswith(FLIGHT_EVENTS.name):
            assert queue.drain(listener) == Drained(done=0, failed=1)
            assert "names no flight of the replayed days" in first_dead(queue, name)


@pytest.mark.parametrize("content", ["JFK", "JFK/ZZ", "JFK/B6/1", b"\xff/B6"])
def test_a_board_that_there_is_not_is_rejected_at_once(
    queue: TestQueue, listeners: dict[str, Listener], content: str | bytes
) -> None:
    queue.rmq.send(DEPARTURE_BOARD.name, RangeMergeMessage(content, range_ms=1))
    wait_until(lambda: queue.drain(listeners[DEPARTURE_BOARD.name]).failed, what="it is due and rejected")
    assert "is no board; expected airport and carrier, such as JFK/B6" in first_dead(queue, DEPARTURE_BOARD.name)


def test_without_a_replay_there_is_no_time_of_day_and_messages_wait(queue: TestQueue, program: Program) -> None:
    desk = Desk(queue.rmq, program)
    rebooking = next(each for each in listeners_of(lambda: desk) if each.topic == REBOOKING.name)
    flight = program.days[0].flights[0]
    queue.rmq.send(REBOOKING.name, rebooking_message(flight, What.DELAYED, 20))
    assert queue.drain(rebooking) == Drained(done=0, failed=1)
    (row,) = queue.inspector.messages(REBOOKING.name, "retrying").rows
    assert row.failures == 0


@pytest.mark.parametrize("queue", [None], indirect=True)
def test_an_event_is_counted_told_and_remembered_by_three_groups(
    queue: TestQueue, listeners: dict[str, Listener], program: Program
) -> None:
    flights = program.days[0].flights
    told = next(flight for flight in flights if flight.cancelled and flight.tail)
    no_plane = next(flight for flight in flights if flight.cancelled and not flight.tail)
    for flight in (told, told, no_plane):
        queue.rmq.send(FLIGHT_EVENTS.name, event_message(Event(0, What.CANCELLED, flight)))
    statistics, notifications, cache = (of_group(listeners, group) for group in (STATISTICS, NOTIFICATIONS, CACHE))
    assert cache.broadcast
    assert queue.drain(statistics) == Drained(done=3, failed=0)
    results = Results(queue.rmq)
    assert list(results.happened(str(told.day))) == [f"{told.id} cancelled", f"{no_plane.id} cancelled"]
    assert queue.drain(notifications).done == 2
    assert list(results.notified(str(told.day))) == [told.id]
    queue.advance(minutes=1)
    queue.drain(notifications)
    queue.advance(minutes=1)
    queue.drain(notifications)
    assert first_dead(queue, f"{FLIGHT_EVENTS.name}@{NOTIFICATIONS}").startswith("MissingTailNumber")
