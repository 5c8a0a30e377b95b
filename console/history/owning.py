"""Who owned which slot, and when: the picture of slot by time, read out of the blocks of the slots."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from console.history import store
from console.history.columns import Unreadable, summed, unpack
from console.history.slots import NOBODY
from console.history.tiers import SLOTS, Tier
from console.models import HistoryBlock

log = logging.getLogger("console.history")

CHANGES_MOST = 100_000
"""Of one picture. Where more changed hands, it is told more coarsely: how it stood at the end of each longer step."""
_STEP, _SLOT, _OWNER, _COLUMNS = 0, 1, 8, 9


@dataclass
class Owning:
    """`changes`: [when, slot, place in `names` or -1 for nobody], in order of time; at first slots are nobody's.

    `known`: the spans that something was kept of, [from, to] each; between them nobody looked. At the beginning of
    each the owners of before still count, unless a change says otherwise. `slots`: as many as the topic had at last.
    """

    step_ms: int
    slots: int = 0
    names: list[str] = field(default_factory=list)
    known: list[list[int]] = field(default_factory=list)
    changes: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True)
class _Block:
    """Of one block: from when to when it counts, and the owner's column beside step and slot."""

    row: store.Row
    to_ms: int
    slots: int
    names: list[str]
    columns: list[array[int]]


def owning(topic: str, from_ms: int, to_ms: int, now_ms: int, changes_most: int = CHANGES_MOST) -> Owning:
    """As finely as that time is kept, and coarser where the picture would have more changes than that."""
    tier = _tier(from_ms, now_ms)
    blocks = list(_blocks(topic, tier, from_ms, to_ms))
    step = tier.step_ms
    while True:
        found = _painted(blocks, tier, from_ms, to_ms, step)
        if len(found.changes) <= max(changes_most, found.slots) or step > to_ms - from_ms:
            return found
        step *= 2


def _tier(from_ms: int, now_ms: int) -> Tier:
    return next((tier for tier in SLOTS if from_ms >= now_ms - tier.keep_ms), SLOTS[-1])


def _blocks(topic: str, tier: Tier, from_ms: int, to_ms: int) -> Iterator[_Block]:
    """Those that can be read and have as many slots as the newest; where two overlap, the later one counts."""
    rows = store.between(topic, HistoryBlock.Series.SLOTS, tier, from_ms, to_ms)
    found: list[_Block] = []
    ends_ms = to_ms
    for row in reversed(rows):
        try:
            about, columns = unpack(row.data)
            slots, names = about.get("slots"), about.get("owners")
            if not isinstance(slots, int) or not isinstance(names, list) or len(columns) != _COLUMNS:
                raise Unreadable("it does not hold slots")  # noqa: TRY301
        except Unreadable as error:
            log.warning("the slots of %s from %d cannot be read: %s", topic, row.start_ms, error)
            continue
        if found and found[-1].slots != slots:
            break  # a topic of that name that was deleted since
        end_ms = min(ends_ms, row.end_ms + tier.step_ms)
        if row.start_ms < end_ms:
            found.append(_Block(row, end_ms, slots, [str(name) for name in names], columns))
            ends_ms = row.start_ms
    return reversed(found)


def _painted(blocks: list[_Block], tier: Tier, from_ms: int, to_ms: int, step_ms: int) -> Owning:
    picture = Owning(step_ms, blocks[-1].slots if blocks else 0)
    places: dict[str, int] = {}
    told = [-1] * picture.slots
    for block in blocks:
        begins = max(from_ms, block.row.start_ms)
        ends = min(to_ms, block.to_ms)
        if ends <= begins:
            continue
        if picture.known and begins - picture.known[-1][1] < 2 * tier.step_ms:
            picture.known[-1][1] = ends
        else:
            picture.known.append([begins, ends])
        place = [-1, *(places.setdefault(name, len(places)) for name in block.names)]
        now = [-1] * picture.slots
        for at_ms, changed in _changes(block, tier, begins, ends, step_ms):
            for slot, owner in changed.items():
                now[slot] = place[owner]
            looked = changed if at_ms > begins else range(picture.slots)
            for slot in sorted(looked):
                if told[slot] != now[slot]:
                    told[slot] = now[slot]
                    picture.changes.append([at_ms, slot, now[slot]])
    picture.names = list(places)
    return picture


def _changes(
    block: _Block, tier: Tier, begins_ms: int, ends_ms: int, step_ms: int
) -> Iterator[tuple[int, dict[int, int]]]:
    """What was noted, in longer steps: when, and by slot its owner; first of all how it stood at the beginning."""
    at_ms = begins_ms
    changed: dict[int, int] = {}
    rows = zip(summed(block.columns[_STEP]), summed(block.columns[_SLOT]), block.columns[_OWNER], strict=True)
    for step, slot, owner in rows:
        then_ms = block.row.start_ms + step * tier.step_ms
        if then_ms >= ends_ms:
            break
        if not 0 <= slot < block.slots or not NOBODY <= owner <= len(block.names):
            log.warning(
                "a block of %s from %d names a slot or an owner it has not", block.row.topic, block.row.start_ms
            )
            break
        turn_ms = max(begins_ms, then_ms - then_ms % step_ms)
        if turn_ms != at_ms:
            yield at_ms, changed
            at_ms, changed = turn_ms, {}
        changed[slot] = owner
    yield at_ms, changed
