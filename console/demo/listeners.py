"""The demo's listeners: small real work on the flights. `LISTENERS` is what `manage.py worker` hosts."""

from __future__ import annotations

import functools
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from datetime import date
from typing import Any

from console.demo.boards import board_rows, status
from console.demo.flights import Day, Flight, data_folder, seats
from console.demo.program import Clock, Program, Scene, storm_program
from console.demo.rebooking import offers, tail_of
from console.demo.results import Results
from console.demo.schedule import REBOOK_FROM_MIN, Kind, boards_of, gate_closes_ms, local_time
from console.demo.topics import CACHE, DEPARTURE_BOARD, FLIGHT_EVENTS, GATES, NOTIFICATIONS, REBOOKING, STATISTICS
from rmq_core import RMQ, Delivery, Listener, Reject, Release

CLOCK_READ_MS = 1_000
NO_CLOCK_DELAY_MS = 5_000


class Desk:
    """The airports' staff: handles deliveries of all topics; safe to share between threads."""

    def __init__(self, rmq: RMQ, program: Program) -> None:
        self._results = Results(rmq)
        self._program = program
        self._flights = {flight.id: (day, flight) for day in program.days for flight in day.flights}
        self._boards: dict[str, dict[date, list[Flight]]] = defaultdict(lambda: defaultdict(list))
        for _, flight in self._flights.values():
            for board in boards_of(flight):
                self._boards[board][flight.day].append(flight)
        self._clock: tuple[int, Clock] | None = None
        self._latest: dict[str, str] = {}

    def close_gate(self, delivery: Delivery) -> None:
        """Of the group `gates`: notes the flight whose gate closed last, and what is known of it."""
        _, flight = self._flight(delivery)
        if delivery.json().get("event") != Kind.GATE_CLOSED:
            return
        now_ms = self._now_ms(flight, delivery.taken_ms)
        gate = {
            "flight": flight.id,
            "to": flight.destination,
            "planned": _moment(gate_closes_ms(flight)),
            "closed": _moment(now_ms),
            "status": status(flight, now_ms),
        }
        if flight.id in self._latest:
            gate["last"] = self._latest[flight.id]
        self._results.save_gate(flight.origin, gate)

    def refresh_board(self, delivery: Delivery) -> None:
        """Computes a carrier's board at an airport, and puts it up."""
        board = delivery.content.decode(errors="replace")
        if board not in self._boards:
            raise Reject(f"{board:.100} is no board; expected airport and carrier, such as JFK/B6")
        airport, carrier = board.split("/")
        scenes = self._scenes(delivery.taken_ms)
        own = self._boards[board]
        few = [Scene(Day(each.day.date, tuple(own.get(each.day.date, ()))), each.now_ms) for each in scenes]
        rows = [asdict(row) for row in board_rows(few, airport, carrier)]
        self._results.save_board(airport, carrier, {"as_of": str(scenes[0]), "rows": rows})

    def rebook(self, delivery: Delivery) -> None:
        """Looks for other flights. Raises `MissingTailNumber`, `MissingArrivalTime`: those rows are defective."""
        day, flight = self._flight(delivery)
        found = offers(day, flight, self._now_ms(flight, delivery.taken_ms))
        offered = {
            "priority": delivery.priority,
            "to": flight.destination,
            "seats": seats().get(flight.tail or ""),
            "offers": [asdict(offer) for offer in found],
        }
        self._results.save_rebooked(str(day.date), flight.id, offered)

    def count(self, delivery: Delivery) -> None:
        """Of the group `statistics`: what happened, once however often it is told."""
        day, flight = self._flight(delivery)
        about = delivery.json()
        self._results.save_happened(str(day.date), flight.id, str(about.get("event")), {"delay_min": flight.delay_min})

    def notify(self, delivery: Delivery) -> None:
        """Of the group `notifications`: tells passengers what they have to know. Raises `MissingTailNumber`."""
        day, flight = self._flight(delivery)
        event = delivery.json().get("event")
        if event == Kind.CANCELLED or (event == Kind.DELAYED and flight.delay_min >= REBOOK_FROM_MIN):
            told = {"event": event, "passengers": seats().get(tail_of(flight))}
            self._results.save_notified(str(day.date), flight.id, told)

    def remember(self, delivery: Delivery) -> None:
        """Of the broadcast `cache`: every worker knows what happened last to each flight, its gate apart."""
        _, flight = self._flight(delivery)
        if (event := delivery.json().get("event")) != Kind.GATE_CLOSED:
            self._latest[flight.id] = str(event)

    def _flight(self, delivery: Delivery) -> tuple[Day, Flight]:
        try:
            return self._flights[delivery.json()["flight"]]
        except (ValueError, TypeError, KeyError):
            raise Reject('the content names no flight of the replayed days: {"flight": "2013-02-08/…"}') from None

    def _scenes(self, wall_ms: int) -> list[Scene]:
        if self._clock is None or wall_ms - self._clock[0] > CLOCK_READ_MS:
            progress = self._results.progress()
            if progress is None:
                raise Release("no replay has been started, so there is no time of day", delay_ms=NO_CLOCK_DELAY_MS)
            self._clock = (wall_ms, progress.clock)
        return self._program.scenes(max(0, self._clock[1].position_at(wall_ms)))

    def _now_ms(self, flight: Flight, wall_ms: int) -> int:
        """The time on the flight's day; its gate's closing time when that day is not being played."""
        playing = [scene.now_ms for scene in self._scenes(wall_ms) if scene.day.date == flight.day]
        return playing[0] if playing else gate_closes_ms(flight)


def listeners_of(desk: Callable[[], Desk]) -> list[Listener]:
    """One listener per topic, and per group of the stream; ``desk`` is asked for at every delivery."""

    def handler(method: Callable[[Desk, Delivery], None]) -> Callable[[Delivery], None]:
        @functools.wraps(method)
        def handle(delivery: Delivery) -> None:
            method(desk(), delivery)

        return handle

    return [
        Listener(topic.name, handler(method), topic)
        for topic, method in (
            (DEPARTURE_BOARD, Desk.refresh_board),
            (REBOOKING, Desk.rebook),
        )
    ] + [
        Listener(FLIGHT_EVENTS.name, handler(Desk.count), FLIGHT_EVENTS, group=STATISTICS),
        Listener(FLIGHT_EVENTS.name, handler(Desk.notify), FLIGHT_EVENTS, group=NOTIFICATIONS),
        Listener(FLIGHT_EVENTS.name, handler(Desk.close_gate), FLIGHT_EVENTS, group=GATES),
        Listener(FLIGHT_EVENTS.name, handler(Desk.remember), FLIGHT_EVENTS, group=CACHE, broadcast=True),
    ]


_opening = threading.Lock()


def _shared_desk() -> Desk:
    with _opening:  # the first deliveries come in several threads at once, and the data is read once
        return _open_desk()


@functools.cache
def _open_desk() -> Desk:
    from console.engine import engine  # needs Django's settings, which tests of the desk alone do without

    return Desk(engine().client, storm_program())


def _moment(at_ms: int) -> str:
    return f"{local_time(at_ms):%Y-%m-%d %H:%M}"


data_folder()  # a worker without the data refuses to start, rather than failing every message
LISTENERS: list[Any] = listeners_of(_shared_desk)
