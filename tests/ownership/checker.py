"""Reads what the listeners wrote down and says what went wrong, if anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Entry(NamedTuple):
    """One line of the list: a call began or ended. ``stale``: the slot had been seen with a later epoch."""

    event: str
    slot: int
    epoch: str
    id: str
    worker: str
    stale: bool

    @classmethod
    def read(cls, line: bytes) -> Entry:
        event, slot, epoch, ident, worker, stale = line.decode().split(" ")
        return cls(event, int(slot), epoch, ident, worker, stale == "1")


@dataclass
class Verdict:
    """``overlaps``: a call began while another of the same slot ran that was not known to be dead. ``stale_starts``
    and ``stale_ends``: what a process still did after somebody else owned the slot."""

    calls: int = 0
    messages: int = 0
    repeated: int = 0
    overlaps: list[str] = field(default_factory=list)
    stale_starts: list[Entry] = field(default_factory=list)
    stale_ends: list[Entry] = field(default_factory=list)
    disorder: list[str] = field(default_factory=list)
    unfinished: set[str] = field(default_factory=set)


def check(lines: Iterable[bytes]) -> Verdict:
    """Message ids are ``<basis>/<number>``; the numbers of a basis must come in order."""
    verdict = Verdict()
    running: dict[int, dict[str, Entry]] = {}
    begun: Counter[str] = Counter()
    done: set[str] = set()
    for entry in map(Entry.read, lines):
        here = running.setdefault(entry.slot, {})
        if entry.event == "start":
            begun[entry.id] += 1
            if entry.stale:
                verdict.stale_starts.append(entry)
            for other in here.values():
                # A call of an older epoch may belong to a dead process; if not, its end will come and be stale.
                if other.epoch == entry.epoch:
                    verdict.overlaps.append(f"slot {entry.slot}: {entry.id} began while {other.id} ran")
            before = _before(entry.id)
            if before is not None and before not in done and not entry.stale:
                verdict.disorder.append(f"{entry.id} began before {before} was done")
            here[entry.id + entry.epoch] = entry
        else:
            here.pop(entry.id + entry.epoch, None)
            if entry.stale:
                verdict.stale_ends.append(entry)
            else:
                done.add(entry.id)
    verdict.calls, verdict.messages = begun.total(), len(begun)
    verdict.repeated = verdict.calls - verdict.messages
    verdict.unfinished = set(begun) - done
    return verdict


def _before(ident: str) -> str | None:
    basis, number = ident.rsplit("/", 1)
    return None if int(number) == 0 else f"{basis}/{int(number) - 1}"
