"""What became of messages that were sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rmq_core.model.ids import id_to_text


class Sent(NamedTuple):
    """What became of one message: its address, and whether it merged into one that was waiting.

    ``merged`` is None where nobody knows: the answer was lost, and the message that waited when it was sent again may
    have been itself.
    """

    id: str
    slot: int
    merged: bool | None


class _Counts(NamedTuple):
    new: int
    merged: int


class SentMany(_Counts):
    """What became of many messages: ``(new, merged)``.

    ``unsure``: so many of the ``merged`` may have been new, because an answer was lost and they were sent again.
    """

    unsure: int

    def __new__(cls, new: int, merged: int, unsure: int = 0) -> SentMany:
        made = super().__new__(cls, new, merged)
        made.unsure = unsure
        return made

    def __getnewargs__(self) -> tuple[int, int, int]:
        return (self.new, self.merged, self.unsure)

    def __repr__(self) -> str:
        unsure = f", unsure={self.unsure}" if self.unsure else ""
        return f"SentMany(new={self.new}, merged={self.merged}{unsure})"


NOTHING_SENT = SentMany(0, 0)


def count(replies: Sequence[Any]) -> SentMany:
    """What became of the messages of some calls, by their replies."""
    new = merged = 0
    for reply in replies:
        if type(reply) is int:
            new += reply
        else:
            new += reply[0]
            merged += reply[1]
    return SentMany(new, merged, merged if replayed(replies) else 0)


def plus(some: SentMany, more: SentMany) -> SentMany:
    """Both together."""
    return SentMany(some.new + more.new, some.merged + more.merged, some.unsure + more.unsure)


def minus(all: SentMany, some: SentMany) -> SentMany:
    """What is left of all."""
    return SentMany(all.new - some.new, all.merged - some.merged, all.unsure - some.unsure)


def replayed(replies: Sequence[Any]) -> bool:
    """Whether an answer was lost, and the calls were sent again: see `rmq_core.transport.retry.Replies`."""
    return getattr(replies, "replayed", False)


def sent_as(id: bytes, slot: int, sent: SentMany) -> Sent:
    """What became of the only message of a call."""
    return Sent(id_to_text(id), slot, None if sent.unsure else sent.merged == 1)
