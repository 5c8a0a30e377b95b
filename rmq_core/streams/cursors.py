"""Where a reader of streams is: behind which entry of each slot. A clock that steps back, and senders' own ids, let one
slot be behind another, so that one position for all would pass by entries that are still to come."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from rmq_core.errors import InvalidMessage, RMQError
from rmq_core.model.entry import EntryId
from rmq_core.model.topic import Topic

Place: TypeAlias = EntryId
_BYTES_MAX = 4_000_000
"""Of a cursor unpacked: more than all slots of many topics take."""


class Cursor(NamedTuple):
    """``bounds``: as XRANGE takes them; ``slot``: of this one only; ``places``: topic → slot → the entry read last."""

    bounds: tuple[str, str]
    newest: bool
    slot: int | None
    places: dict[str, dict[int, Place]]

    def encode(self, topics: Iterable[Topic]) -> str:
        """Opaque text for a URL."""
        lives = {topic.name: topic.created_ms for topic in topics}
        told = [
            [name, lives[name], [[slot, *place] for slot, place in slots.items()]]
            for name, slots in self.places.items()
        ]
        text = json.dumps([*self.bounds, self.newest, self.slot, told], separators=(",", ":"))
        return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, topics: Sequence[Topic]) -> Cursor:
        """Inverse of `encode`. Raises `InvalidMessage` for a cursor of other topics, or of one that was made anew."""
        try:
            packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            unpacked = zlib.decompressobj()
            raw = unpacked.decompress(packed, _BYTES_MAX)
            low, high, newest, slot, told = json.loads(raw)
            for bound in (low, high):
                if bound not in {"-", "+"}:
                    EntryId.parse(bound.removeprefix("("))
            lives = {str(name): int(life) for name, life, _ in told}
            places = {
                str(name): {int(at): EntryId.parse(f"{int(ms)}-{int(seq)}") for at, ms, seq in slots}
                for name, _, slots in told
            }
            found = cls((low, high), newest is True, None if slot is None else int(slot), places)
        except (ValueError, TypeError, AttributeError, zlib.error, RMQError, OverflowError, RecursionError):
            raise InvalidMessage("this cursor is not one of ours; begin again without it") from None
        if lives.keys() != {topic.name for topic in topics}:
            raise InvalidMessage("this cursor belongs to another list; begin again without it")
        if any(topic.created_ms != lives[topic.name] for topic in topics):
            raise InvalidMessage("the topic was deleted and made anew since this cursor was given; begin without it")
        return found
