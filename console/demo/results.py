"""What the demo keeps in Redis beside its queues: the replay's clock, and what the listeners found out.

::

    <namespace>:demo:clock              string  where the replay is (JSON of `Progress`)
    <namespace>:demo:board:<airport>    hash    carrier → the rows of its board (JSON)
    <namespace>:demo:gates              hash    airport → the gate that closed last (JSON)
    <namespace>:demo:rebooked:<date>    hash    flight → what its passengers were offered (JSON)
    <namespace>:demo:happened:<date>    hash    flight and event → the delay (JSON): the group `statistics`
    <namespace>:demo:notified:<date>    hash    flight → what its passengers were told last (JSON)

All but the clock expires some hours after the last change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from console.demo.program import Clock
from rmq_core import RMQ

EXPIRES_S = 6 * 3600


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a replay is: its clock, up to which position everything is sent, and when that was.

    ``gates_until``: the first lap whose gates have not been planned.
    """

    clock: Clock
    sent_until: int
    gates_until: int
    saved_ms: int

    def to_json(self) -> str:
        """The stored form."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, stored: bytes | str) -> Progress:
        """Inverse of `to_json`."""
        values = json.loads(stored)
        return cls(**{**values, "clock": Clock(**values["clock"])})


class Results:
    """Reads and writes the demo's keys through the queue's own connection."""

    def __init__(self, rmq: RMQ) -> None:
        self._run = rmq.connection.run
        self._prefix = f"{rmq.keyspace.namespace}:demo:"

    def progress(self) -> Progress | None:
        """Where the replay is; None: there was none."""
        (stored,) = self._run([("GET", f"{self._prefix}clock")])
        return None if stored is None else Progress.from_json(stored)

    def save_progress(self, progress: Progress) -> None:
        """For the next start, and for the listeners' sense of time."""
        self._run([("SET", f"{self._prefix}clock", progress.to_json())])

    def board(self, airport: str) -> dict[str, Any]:
        """By carrier, what was written last."""
        return self._read(f"board:{airport}")

    def save_board(self, airport: str, carrier: str, board: Mapping[str, Any]) -> None:
        """Replaces a carrier's board."""
        self._write(f"board:{airport}", carrier, board)

    def gates(self) -> dict[str, Any]:
        """By airport, the gate that closed last."""
        return self._read("gates")

    def save_gate(self, airport: str, gate: Mapping[str, Any]) -> None:
        """Remembers the gate that closed last."""
        self._write("gates", airport, gate)

    def rebooked(self, date: str) -> dict[str, Any]:
        """By flight, what its passengers were offered."""
        return self._read(f"rebooked:{date}")

    def save_rebooked(self, date: str, flight: str, offered: Mapping[str, Any]) -> None:
        """Remembers what passengers were offered."""
        self._write(f"rebooked:{date}", flight, offered)

    def happened(self, date: str) -> dict[str, Any]:
        """By flight and event, such as ``2013-02-08/B6/1018/JFK delayed``."""
        return self._read(f"happened:{date}")

    def save_happened(self, date: str, flight: str, event: str, about: Mapping[str, Any]) -> None:
        """Counts an event once, however often it is told."""
        self._write(f"happened:{date}", f"{flight} {event}", about)

    def notified(self, date: str) -> dict[str, Any]:
        """By flight, what its passengers were told last."""
        return self._read(f"notified:{date}")

    def save_notified(self, date: str, flight: str, told: Mapping[str, Any]) -> None:
        """Remembers what passengers were told."""
        self._write(f"notified:{date}", flight, told)

    def _read(self, name: str) -> dict[str, Any]:
        (stored,) = self._run([("HGETALL", f"{self._prefix}{name}")])
        return {field.decode(): json.loads(value) for field, value in stored.items()}

    def _write(self, name: str, field: str, value: Mapping[str, Any]) -> None:
        key = f"{self._prefix}{name}"
        self._run([("HSET", key, field, json.dumps(value)), ("EXPIRE", key, EXPIRES_S)])
