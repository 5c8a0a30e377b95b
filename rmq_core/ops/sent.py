"""What became of messages that were sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from rmq_core.model.ids import id_to_text


class _Address(NamedTuple):
    id: str
    slot: int
    merged: bool | None


class Sent(_Address):
    """What became of one message: ``(id, slot, merged)``, its address, and whether it merged into one that was waiting.

    ``merged`` is None where nobody knows: the answer was lost, and the message that waited when it was sent again may
    have been itself. ``duplicate_of_ms``: it was not accepted, for one of its id had been then, within its period
    (``unique_for_ms``). ``outdated_by``: it was not accepted, for that version of its id has been handed out
    (``versions_for_ms``). Both None: it was accepted.
    """

    duplicate_of_ms: int | None
    outdated_by: int | None

    def __new__(
        cls,
        id: str,
        slot: int,
        merged: bool | None,
        duplicate_of_ms: int | None = None,
        outdated_by: int | None = None,
    ) -> Sent:
        made = super().__new__(cls, id, slot, merged)
        made.duplicate_of_ms = duplicate_of_ms
        made.outdated_by = outdated_by
        return made

    def __getnewargs__(self) -> tuple[str, int, bool | None, int | None, int | None]:
        return (*self, self.duplicate_of_ms, self.outdated_by)

    @property
    def duplicate(self) -> bool:
        """Whether it was not accepted, as one of its id had been within its period."""
        return self.duplicate_of_ms is not None

    @property
    def outdated(self) -> bool:
        """Whether it was not accepted, as a newer version of its id has been handed out."""
        return self.outdated_by is not None

    def __repr__(self) -> str:
        met = "" if self.duplicate_of_ms is None else f", duplicate_of_ms={self.duplicate_of_ms}"
        met += "" if self.outdated_by is None else f", outdated_by={self.outdated_by}"
        return f"Sent(id={self.id!r}, slot={self.slot}, merged={self.merged}{met})"


class _Counts(NamedTuple):
    new: int
    merged: int


class SentMany(_Counts):
    """What became of many messages: ``(new, merged)``.

    ``unsure``: so many of the ``merged``, or of those not accepted, may have been new, because an answer was lost and
    they were sent again. ``duplicates``: so many more were not accepted, for their id had been within its period;
    ``outdated``: so many, for a newer version of theirs has been handed out.
    """

    unsure: int
    duplicates: int
    outdated: int

    def __new__(cls, new: int, merged: int, unsure: int = 0, duplicates: int = 0, outdated: int = 0) -> SentMany:
        made = super().__new__(cls, new, merged)
        made.unsure = unsure
        made.duplicates = duplicates
        made.outdated = outdated
        return made

    def __getnewargs__(self) -> tuple[int, int, int, int, int]:
        return (self.new, self.merged, self.unsure, self.duplicates, self.outdated)

    def __repr__(self) -> str:
        told = {"unsure": self.unsure, "duplicates": self.duplicates, "outdated": self.outdated}
        more = "".join(f", {name}={n}" for name, n in told.items() if n)
        return f"SentMany(new={self.new}, merged={self.merged}{more})"


REFUSED, DUPLICATES, OUTDATED = 3, 4, 5
"""Where ``send_limited.lua`` replies what it did not accept."""

NOTHING_SENT = SentMany(0, 0)

Met: TypeAlias = tuple[int | None, int | None]
"""What kept a message out: ``duplicate_of_ms``, ``outdated_by``."""

NOTHING_MET: Met = None, None


def count(replies: Sequence[Any]) -> SentMany:
    """What became of the messages of some calls, by their replies."""
    new = merged = duplicates = outdated = 0
    for reply in replies:
        if type(reply) is int:
            new += reply
        else:
            new += reply[0]
            merged += reply[1]
            if len(reply) > OUTDATED:
                duplicates += len(reply[DUPLICATES]) // 2
                outdated += len(reply[OUTDATED]) // 2
    unsure = merged + duplicates + outdated if replayed(replies) else 0
    return SentMany(new, merged, unsure, duplicates, outdated)


def met_by(reply: Sequence[Any]) -> Met | None:
    """What a refused message of a ``send_limited.lua`` met; None: all were accepted."""
    if not reply[DUPLICATES] and not reply[OUTDATED]:
        return None
    return (reply[DUPLICATES][1], None) if reply[DUPLICATES] else (None, reply[OUTDATED][1])


def plus(some: SentMany, more: SentMany) -> SentMany:
    """Both together."""
    pairs = zip(some.__getnewargs__(), more.__getnewargs__(), strict=True)
    return SentMany(*(one + other for one, other in pairs))


def minus(all: SentMany, some: SentMany) -> SentMany:
    """What is left of all."""
    pairs = zip(all.__getnewargs__(), some.__getnewargs__(), strict=True)
    return SentMany(*(one - other for one, other in pairs))


def replayed(replies: Sequence[Any]) -> bool:
    """Whether an answer was lost, and the calls were sent again: see `rmq_core.transport.retry.Replies`."""
    return getattr(replies, "replayed", False)


def sent_as(id: bytes, slot: int, sent: SentMany, duplicate_of_ms: int | None, outdated_by: int | None) -> Sent:
    """What became of the only message of a call."""
    if sent.unsure:
        return Sent(id_to_text(id), slot, None)
    return Sent(id_to_text(id), slot, sent.merged == 1, duplicate_of_ms, outdated_by)
