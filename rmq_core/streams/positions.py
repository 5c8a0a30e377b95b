"""Where groups stand: a position in every slot, given by an id, a time, the start or the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from rmq_core.errors import InvalidMessage, VersionConflict
from rmq_core.model.composing import moment_ms
from rmq_core.model.entry import FIRST_ID, LAST_ID, EntryId
from rmq_core.model.group import Group
from rmq_core.model.text import worded
from rmq_core.protocol import streams
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Each, Operation, batches

START, END = "start", "end"
SLOTS_AT_ONCE = 64
COUNTED_AT_ONCE = 10_000
TRIES = 5

Where: TypeAlias = datetime | int | str
"""``start``, ``end``, a time (a datetime, or epoch milliseconds; what came then is read), or an entry's id, behind
which is read on."""


class Moved(NamedTuple):
    """What a new position does, or would do, to a slot: entries ahead before and after, the entry it stands behind."""

    slot: int
    lag_before: int
    lag: int
    behind: str


def start_text(where: Where) -> str:
    """A position as it is stored: ``start``, ``end``, or the id behind which it is. Raises `InvalidMessage`."""
    if where in (START, END):
        return str(where)
    if isinstance(where, str):
        if not where.isascii() or "-" not in where:
            raise InvalidMessage(
                f"position {worded(where)} must be 'start', 'end', an entry's id, a datetime or epoch milliseconds"
            )
        return str(EntryId.parse(where))
    ms = moment_ms("position", where)
    if not 0 <= ms < 2**64:
        raise InvalidMessage(f"position {worded(where)} must not be before 1970")
    return str(EntryId(ms - 1, LAST_ID.seq) if ms else FIRST_ID)


def place(
    keyspace: Keyspace, group: Group, how: str, where: Where, slots: Iterable[int] | None = None
) -> Operation[list[Moved]]:
    """Places a group that is ``new`` in the slots (None: all) where it is not yet; or has its position there ``set``,
    or says (``plan``) what that would do.
    """
    text = start_text(where)
    moved: list[Moved] = []
    for some in batches(range(group.slots) if slots is None else slots, SLOTS_AT_ONCE):
        moved += yield from _place(keyspace, group, how, text, some)
    return moved


def _place(keyspace: Keyspace, group: Group, how: str, text: str, slots: Sequence[int]) -> Operation[list[Moved]]:
    done: dict[int, Moved] = {}
    left = list(slots)
    for attempt in range(TRIES):
        wheres: list[list[Any]] = [[text]] * len(left)
        if text not in (START, END):
            wheres = yield from _counted(keyspace, group, left, text)
        replies = yield Each(
            streams.place(keyspace, group, slot, how, where) for slot, where in zip(left, wheres, strict=True)
        )
        again = []
        for slot, reply in zip(left, replies, strict=True):
            if isinstance(reply, VersionConflict) and attempt < TRIES - 1:
                again.append(slot)  # something was deleted or trimmed since it was counted
            elif isinstance(reply, Exception):
                raise reply
            else:
                _, lag_before, lag, behind = reply
                done[slot] = Moved(slot, max(0, lag_before), lag, behind.decode())
        left = again
        if not left:
            break
    return [done[slot] for slot in slots]


def _counted(keyspace: Keyspace, group: Group, slots: Sequence[int], behind: str) -> Operation[list[list[Any]]]:
    """What a position behind an id is given with, for each of the slots: see ``lua/group_place.lua``."""
    found: dict[int, list[Any]] = {}
    pending = dict.fromkeys(slots, (f"({behind}", "+"))
    if EntryId.parse(behind) == LAST_ID:
        return [[END]] * len(slots)
    while pending:
        calls = [
            streams.count(keyspace, group, slot, start, end, COUNTED_AT_ONCE) for slot, (start, end) in pending.items()
        ]
        replies = yield calls
        following = {}
        for slot, (n, first, last, added, deleted, newest) in zip(pending, replies, strict=True):
            if slot in found:
                found[slot][2] += n
            else:
                found[slot] = ["at", behind, n, added, deleted, first]
            if n == COUNTED_AT_ONCE:
                # Up to what was the newest when the counting began: what came since is in the counters.
                end = pending[slot][1] if pending[slot][1] != "+" else newest.decode()
                following[slot] = (f"({last.decode()}", end)
        pending = following
    return [found[slot] for slot in slots]
