"""The airports' own account of the flights, as the business ledger that reconciliations compare with: out of the data
set and the time alone, never out of the queue.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator
from pathlib import Path

from console.demo.program import Program
from console.demo.schedule import events, messages
from console.demo.topics import GATE_CLOSE, REBOOKING

log = logging.getLogger(__name__)

NAME = "flights.csv"
EVERY_MS = 20_000
SETTLED_MS = 60_000
"""So long after its time (on the wall) a flight's work should be done: failures are tried again for half a minute."""


class Ledger:
    """The account of a programme in a file, a row per message that its flights will ever cause."""

    def __init__(self, program: Program, path: Path) -> None:
        self._path = path
        self._rows = list(rows(program))
        self._written_ms: int | None = None
        self._trouble = ""

    def keep(self, position: int, speed: int, now_ms: int) -> None:
        """Brings the file up to date, now and then. ``position``: everything until there has been sent."""
        if self._written_ms is not None and 0 <= now_ms - self._written_ms < EVERY_MS:
            return
        self._written_ms = now_ms
        try:
            self._write(position - SETTLED_MS * speed)
        except OSError as error:
            if str(error) != self._trouble:
                log.warning("the ledger of flights cannot be written: %s", error)
            self._trouble = str(error)

    def _write(self, settled: int) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_name(f".{self._path.name}.new")
        with fresh.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("topic", "id", "expected"))
            writer.writerows((topic, ident, "done" if at <= settled else "known") for at, topic, ident in self._rows)
        fresh.replace(self._path)


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
