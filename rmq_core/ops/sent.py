"""What became of messages that were sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rmq_core.model.ids import id_to_text


class _Address(NamedTuple):
    id: str
    slot: int
    merged: bool | None


class Sent(_Address):
    """What became of one message: ``(id, slot, merged)``, its address, and whether it merged into one that was waiting.

    ``merged`` is None where nobody knows: the answer was lost, and the message that waited when it was sent again may
    have been itself. ``duplicate_of_ms``: it was not accepted, for one of its id had been then, within its period
    (``unique_for_ms``); None: it was accepted.
    """

    duplicate_of_ms: int | None

    def __new__(cls, id: str, slot: int, merged: bool | None, duplicate_of_ms: int | None = None) -> Sent:
        made = super().__new__(cls, id, slot, merged)
        made.duplicate_of_ms = duplicate_of_ms
        return made

    def __getnewargs__(self) -> tuple[str, int, bool | None, int | None]:
        return (*self, self.duplicate_of_ms)

    @property
    def duplicate(self) -> bool:
        """Whether it was not accepted, as one of its id had been within its period."""
        return self.duplicate_of_ms is not None

    def __repr__(self) -> str:
        met = "" if self.duplicate_of_ms is None else f", duplicate_of_ms={self.duplicate_of_ms}"
        return f"Sent(id={self.id!r}, slot={self.slot}, merged={self.merged}{met})"


class _Counts(NamedTuple):
    new: int
    merged: int


class SentMany(_Counts):
    """What became of many messages: ``(new, merged)``.

    ``unsure``: so many of the ``merged``, or of the duplicates, may have been new, because an answer was lost and they
    were sent again. ``duplicates``: so many more were not accepted, for their id had been within its period.
    """

    unsure: int
    duplicates: int

    def __new__(cls, new: int, merged: int, unsure: int = 0, duplicates: int = 0) -> SentMany:
        made = super().__new__(cls, new, merged)
        made.unsure = unsure
        made.duplicates = duplicates
        return made

    def __getnewargs__(self) -> tuple[int, int, int, int]:
        return (self.new, self.merged, self.unsure, self.duplicates)

    def __repr__(self) -> str:
        unsure = f", unsure={self.unsure}" if self.unsure else ""
        duplicates = f", duplicates={self.duplicates}" if self.duplicates else ""
        return f"SentMany(new={self.new}, merged={self.merged}{unsure}{duplicates})"


REFUSED, DUPLICATES = 3, 4
"""Where ``send_limited.lua`` replies what it did not accept."""

NOTHING_SENT = SentMany(0, 0)


def count(replies: Sequence[Any]) -> SentMany:
    """What became of the messages of some calls, by their replies."""
    new = merged = duplicates = 0
    for reply in replies:
        if type(reply) is int:
            new += reply
        else:
            new += reply[0]
            merged += reply[1]
            duplicates += len(reply[DUPLICATES]) // 2 if len(reply) > DUPLICATES else 0
    return SentMany(new, merged, merged + duplicates if replayed(replies) else 0, duplicates)


def plus(some: SentMany, more: SentMany) -> SentMany:
    """Both together."""
    duplicates = some.duplicates + more.duplicates
    return SentMany(some.new + more.new, some.merged + more.merged, some.unsure + more.unsure, duplicates)


def minus(all: SentMany, some: SentMany) -> SentMany:
    """What is left of all."""
    duplicates = all.duplicates - some.duplicates
    return SentMany(all.new - some.new, all.merged - some.merged, all.unsure - some.unsure, duplicates)


def replayed(replies: Sequence[Any]) -> bool:
    """Whether an answer was lost, and the calls were sent again: see `rmq_core.transport.retry.Replies`."""
    return getattr(replies, "replayed", False)


def sent_as(id: bytes, slot: int, sent: SentMany, duplicate_of_ms: int | None) -> Sent:
    """What became of the only message of a call."""
    if sent.unsure:
        return Sent(id_to_text(id), slot, None)
    return Sent(id_to_text(id), slot, sent.merged == 1, duplicate_of_ms)
