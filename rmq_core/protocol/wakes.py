"""What is said on the wake channels: a slot, and perhaps what it would hand out next."""

from __future__ import annotations

from typing import NamedTuple

LONGEST = 40


class Wake(NamedTuple):
    """``head``: its highest priority or (timed) when it next needs a look; None: not said."""

    slot: int
    head: int | None


def read_wake(payload: bytes) -> Wake | None:
    """None: no word of our scripts. All data bases of a server share their channels, and anybody may speak."""
    slot, _, head = payload.partition(b" ")
    if len(payload) > LONGEST or not slot.isdigit():
        return None
    return Wake(int(slot), int(head) if head.isdigit() else None)
