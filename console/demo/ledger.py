"""The airports' own account of the flights, as the business ledger that reconciliations compare with: out of the data
set and the time alone, never out of the queue.

It promises what was due within the last `WINDOW_MS`, and says since when that may be under way: a reconciliation reads
the archive of that time alone, however long the demo has run. Of all else it knows the names, and promises nothing.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from console.demo.program import GATE_LAPS, Clock, Program
from console.demo.schedule import DAY_MS, events, messages
from console.demo.topics import GATE_CLOSE, REBOOKING

log = logging.getLogger(__name__)

NAME = "flights.csv"
EVERY_MS = 20_000
SETTLED_MS = 60_000
"""So long after its time (on the wall) a flight's work should be done: failures are tried again for half a minute."""
WINDOW_MS = 60 * 60_000
"""So far back it promises, on the wall: two days of the programme and more."""


@dataclass(frozen=True, slots=True)
class Played:
    """What has been played by ``now_ms``, on the wall's clock: all after ``begun``, as far as ``position``."""

    clock: Clock
    begun: int
    position: int
    now_ms: int

    @property
    def settled(self) -> int:
        """What is due until there should be done."""
        return self.position - SETTLED_MS * self.clock.speed

    @property
    def promised(self) -> int:
        """What is due after that is promised, once it is settled. What was sent before ``begun`` was another time's."""
        return max(self.begun, self.clock.position_at(self.now_ms - WINDOW_MS))


class Ledger:
    """The account of a programme in a file, a row per message that its flights will ever cause."""

    def __init__(self, program: Program, path: Path) -> None:
        self._path = path
        self._round = len(program.days) * DAY_MS
        self._rows = list(rows(program))
        self._written_ms: int | None = None
        self._trouble = ""

    def keep(self, played: Played) -> None:
        """Brings the file up to date, now and then."""
        if self._written_ms is not None and 0 <= played.now_ms - self._written_ms < EVERY_MS:
            return
        self._written_ms = played.now_ms
        try:
            self._write(played)
        except OSError as error:
            if str(error) != self._trouble:
                log.warning("the ledger of flights cannot be written: %s", error)
            self._trouble = str(error)

    def _write(self, played: Played) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_name(f".{self._path.name}.new")
        with fresh.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("topic", "id", "expected", "at"))
            for at, topic, ident in self._rows:
                writer.writerow((topic, ident, *self._said(at, played)))
        fresh.replace(self._path)

    def _said(self, at: int, played: Played) -> tuple[str, int]:
        """What is expected of a row, and since when it may be under way: a gate is planned days before. The programme
        is played over and over; its last turn counts."""
        last = at + (played.settled - at) // self._round * self._round
        if at <= last and played.promised < last:
            return "done", played.clock.wall_at(last - GATE_LAPS * DAY_MS)
        return "known", played.now_ms


def rows(program: Program) -> Iterator[tuple[int, str, str]]:
    """Position, topic and id of everything that has to be done for the flights: gates closed, passengers rebooked."""
    for lap in range(len(program.days)):
        for at, flight in program.gates(lap):
            yield at, GATE_CLOSE.name, flight.id
        first: dict[str, int] = {}
        for event in events(program.day(lap)):
            if any(topic == REBOOKING.name for topic, _ in messages(event)):
                first.setdefault(event.flight.id, program.position(lap, event.at_ms))
        for ident, at in first.items():
            yield at, REBOOKING.name, ident
