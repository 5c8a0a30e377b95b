"""Holds: keys of which nothing is handed out for now. What they keep back waits in the retry queue, see
``lua/shared/holds.lua``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote_to_bytes

from rmq_core.model.ids import id_to_text
from rmq_core.model.scores import SHIFT

HELD_FROM = 9_007_190_000_000_000
"""A score in retry from here on: kept back by a hold, whose number it tells; no time reaches it."""
HOLDS_MAX = 64
"""So many there may be at once in a topic."""
KEY_MAX = 512
NOTE_MAX = 200
FOR_MAX_MS = 366 * 86_400_000

HoldOf: TypeAlias = Literal["id", "slot_basis", "failure", "order", "tenant", "key_limit"]
"""What it is of: a key; the others of a slot basis, which wait for one that failed, whose id is its note; all versions
of a slot that wait for one before them (`queries.order` tells of these); what has failed of a tenant who is held; all
of a slot of whose basis as many are in flight as may be."""
_KINDS: dict[str, HoldOf] = {
    "i": "id",
    "b": "slot_basis",
    "f": "failure",
    "o": "order",
    "t": "tenant",
    "k": "key_limit",
}
BY_THEMSELVES: frozenset[HoldOf] = frozenset({"order", "key_limit"})
"""Those of no key that somebody named: what they keep back goes on by itself, and they are not lifted by hand."""
LETTERS: dict[HoldOf, str] = {of: letter for letter, of in _KINDS.items()}

_HEAD = re.compile(rb"(\d+) ([ibfotk]) (\d+) (\d+) (\d+) (\d+) ")


@dataclass(frozen=True, slots=True)
class Hold:
    """One key of one slot. ``of``: what ``raw_key`` is; ``held``: how many messages it keeps back now.

    ``until_ms`` None: until somebody lifts it. ``since_ms`` tells it from the others of its slot.
    """

    slot: int
    of: HoldOf
    raw_key: bytes
    since_ms: int
    until_ms: int | None
    note: str
    number: int
    held: int = 0

    @property
    def key(self) -> str:
        """What it is of, in a printable form (`ids.id_to_text`)."""
        return id_to_text(self.raw_key)

    @property
    def ref(self) -> str:
        """What names it in commands and requests."""
        return f"{self.slot}-{self.since_ms}"

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        shown = {"ref": self.ref, "slot": self.slot, "of": self.of, "key": self.key, "held": self.held}
        return shown | {"since_ms": self.since_ms, "until_ms": self.until_ms, "note": self.note}

    @property
    def scores(self) -> tuple[int, int]:
        """The first and the last score of what it keeps back."""
        low = HELD_FROM + self.number * SHIFT
        return low, low + SHIFT - 1


def read_holds(slot: int, mark: bytes | None) -> tuple[Hold, ...]:
    """Those of a slot, out of its mark."""
    return tuple(_read(slot, mark or b""))


def _read(slot: int, mark: bytes) -> Iterator[Hold]:
    at = 0
    while (head := _HEAD.match(mark, at)) is not None:
        number, kind, since, until, key, note = head.groups()
        middle = head.end() + int(key)
        at = middle + int(note)
        yield Hold(
            slot,
            _KINDS[kind.decode()],
            unquote_to_bytes(mark[head.end() : middle]) if kind == b"t" else mark[head.end() : middle],
            int(since),
            int(until) or None,
            mark[middle:at].decode(errors="replace"),
            int(number),
        )
