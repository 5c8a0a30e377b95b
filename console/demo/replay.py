"""Plays the programme into the queue, many times faster than life, and goes on where it was after a restart."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from console.demo.ledger import Ledger, Played
from console.demo.program import GATE_LAPS, Clock, Program
from console.demo.results import Progress, Results
from console.demo.schedule import (
    DAY_MS,
    MERGE_MS,
    Event,
    board_message,
    event_message,
    gate_message,
    messages,
    refreshes,
)
from console.demo.topics import DEPARTURE_BOARD, FLIGHT_EVENTS, GATE_CLOSE, ROUTES, TOPICS
from rmq_core import RMQ, Control, Inspector
from rmq_core.errors import ConnectionLost, RouteConflict, ServerFull, UnknownTopic

log = logging.getLogger(__name__)

SPEED = 60
TICK_S = 0.1
START_MS = 90 * 60_000
"""A replay begins at 06:00 of its first day, when aircraft are up; what happened since 04:30 is sent at once."""
CATCH_UP_MS = 10_000
"""After a shorter absence the clock goes on as if nothing had been; what was missed is sent at once."""
REPORTS_PER_MS = 2 / 1000
"""An aircraft reports its position twice a second of its own time, as transponders do; so this is the most there is."""


class Replay:
    """Sends the programme's messages as their time comes. ``rate``: messages per second, see `_fill`."""

    def __init__(self, rmq: RMQ, program: Program, rate: int, speed: int = SPEED, ledger: Ledger | None = None) -> None:
        self.rmq = rmq
        self.program = program
        self.rate = rate
        self.speed = speed
        self._ledger = ledger
        self._inspector = Inspector(rmq)
        self._results = Results(rmq)
        self._progress: Progress | None = None
        self._coming: Iterator[tuple[int, Event]] = iter(())
        self._next: tuple[int, Event] | None = None
        self._owed = 0.0
        self._begun = -1
        self._reports = self._requests = 0

    def run(self, stop: threading.Event) -> None:
        """Until ``stop`` is set. Waits where the server is away or full; raises `TopicConflict`."""
        trouble = ""
        while not stop.wait(TICK_S):
            try:
                self.step()
            except (ConnectionLost, ServerFull, UnknownTopic) as error:
                if str(error) != trouble:
                    log.warning("the replay waits: %s", error)
                trouble = str(error)
            else:
                trouble = ""

    def step(self) -> int:
        """Sends what is due by now; returns how many messages. After an error the next step takes up what is stored."""
        now_ms = self._inspector.now_ms()
        progress = self._progress or self._start(now_ms)
        self._progress = None
        position = max(progress.clock.position_at(now_ms), progress.sent_until)
        batches: dict[str, list[Any]] = defaultdict(list)
        while self._next is not None and self._next[0] <= position:
            for topic, message in messages(self._next[1]):
                batches[topic].append(message)
            batches[FLIGHT_EVENTS.name].append(event_message(self._next[1]))
            self._next = next(self._coming, None)
        self._fill(batches, position, now_ms - progress.saved_ms)
        gates_until = position // DAY_MS + min(GATE_LAPS, len(self.program.days))
        for lap in range(progress.gates_until, gates_until):
            batches[GATE_CLOSE.name] += [
                gate_message(flight, progress.clock.wall_at(at))
                for at, flight in self.program.gates(lap)
                if at > progress.sent_until
            ]
        for topic, batch in batches.items():
            self.rmq.send_many(topic, batch, allow_past=topic == GATE_CLOSE.name)
        if 0 <= progress.sent_until // DAY_MS < position // DAY_MS:
            log.info("the replay comes to %s", self.program.day(position // DAY_MS).date)
        self._progress = Progress(progress.clock, position, gates_until, now_ms)
        self._results.save_progress(self._progress)
        if self._ledger is not None:
            self._ledger.keep(Played(progress.clock, self._begun, position, now_ms))
        return sum(map(len, batches.values()))

    def _fill(self, batches: dict[str, list[Any]], position: int, passed_ms: int) -> None:
        """Fills up to the rate: half are positions of aircraft, for the boards at both ends, half screens' requests."""
        sent = sum(map(len, batches.values()))
        passed_ms = min(max(passed_ms, 0), 1_000)
        self._owed = max(-self.rate, min(self.rate, self._owed + self.rate * passed_ms / 1000 - sent))
        if self._owed < 1:
            return
        airborne, boards = self.program.airborne(position), self.program.boards(position)
        reports = min(int(self._owed / 4), int(len(airborne) * REPORTS_PER_MS * passed_ms * self.speed))
        requests = int(self._owed) - 2 * reports
        batch = batches[DEPARTURE_BOARD.name]
        for i in range(self._reports, self._reports + reports):
            batch += refreshes(airborne[i % len(airborne)])
        # So many screens per board, asking one after another, that no board has its turn again within a merge: all
        # boards would fall into step, and be refreshed in waves.
        screens = self.rate * MERGE_MS // 1_000 // len(boards) + 1
        for i in range(self._requests, self._requests + requests):
            batch.append(board_message(boards[i // screens % len(boards)]))
        self._reports += reports
        self._requests += requests
        self._owed -= 2 * reports + requests

    def _start(self, now_ms: int) -> Progress:
        for topic in TOPICS:
            self.rmq.define(topic)
        Control(self.rmq).unfence(GATE_CLOSE)  # in a former release workers owned its slots
        for route in ROUTES:
            with contextlib.suppress(RouteConflict):  # somebody gave it other targets: they stay
                self.rmq.define_route(route)
        progress = resume(self._results.progress(), now_ms, self.speed)
        self._begun = min(progress.sent_until, progress.clock.position_ms)
        self._coming = self.program.events_after(progress.sent_until)
        self._next = next(self._coming)
        self._owed = 0.0
        (scene, *_) = self.program.scenes(progress.clock.position_at(now_ms))
        log.info("replaying %s, %d times faster than life, %d messages/s", scene, self.speed, self.rate)
        return progress


def resume(saved: Progress | None, now_ms: int, speed: int) -> Progress:
    """Where to go on. After a longer absence the clock is set to where it was, and the gates ahead planned again."""
    if saved is None:
        return Progress(Clock(now_ms, START_MS, speed), -1, 0, now_ms)
    if now_ms - saved.saved_ms <= CATCH_UP_MS and saved.clock.speed == speed:
        return saved
    clock = Clock(now_ms, saved.sent_until, speed)
    return Progress(clock, saved.sent_until, saved.sent_until // DAY_MS, now_ms)
