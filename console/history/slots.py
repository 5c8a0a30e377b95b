"""The slots of a topic over one block's time: all of them at its beginning, then those that changed, step by step."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console.history.columns import Unreadable, pack, steps_between, summed, unpack
from console.history.tiers import Tier
from rmq_core.model.samples import SlotSample

NOBODY = 0
MOST_ROWS = 200_000
"""Of a block; where more changes, it ends early."""
_NOTHING = (0, 0, 0, 0, 0, 0, NOBODY)
_Values = tuple[int, int, int, int, int, int, int]
"""backlog, when the oldest was due and the oldest in flight was taken (see `_age`), in flight, dead, acked, owner."""
_GROWING = (0, 4, 5)
"""Of these the difference to the row before of the same slot is written: backlog, dead, acked."""


class SlotsBlock:
    """What the keeper writes. A slot in which nothing happened, and whose owner stayed, costs nothing."""

    def __init__(self, tier: Tier, start_ms: int, slots: int, stream: bool = False) -> None:
        self.tier = tier
        self._stream = stream
        self.start_ms = self.end_ms = start_ms
        self.slots = slots
        self._columns = [array("q") for _ in range(2 + len(_NOTHING))]
        self._last: list[_Values] = [_NOTHING] * slots
        self._seen: Sequence[SlotSample | None] = [None] * slots
        self._owners: Sequence[str | None] | None = None
        self._names: dict[str, int] = {}

    def takes(self, at_ms: int, slots: int) -> bool:
        """Whether a sample of that moment belongs into this block."""
        fits = self.end_ms < at_ms < self.start_ms + self.tier.span_ms
        return fits and slots == self.slots and len(self._columns[0]) < MOST_ROWS

    def add(self, at_ms: int, seen: Sequence[SlotSample], owners: Sequence[str | None] | None) -> None:
        """Take in how the slots are at a step's beginning; `owners`: of each slot, None where slots are shared."""
        step = (at_ms - self.start_ms) // self.tier.step_ms
        self.end_ms = at_ms
        if seen is self._seen and owners == self._owners:
            return
        others = owners != self._owners
        before = self._seen
        for slot, now in enumerate(seen):
            if now is before[slot] and not others:
                continue
            name = owners[slot] if owners else None
            owner = NOBODY if name is None else self._owner(name)
            values = _values(now, at_ms, owner, self._stream)
            last = self._last[slot]
            if values != last:
                self._last[slot] = values
                differences = [value - last[at] if at in _GROWING else value for at, value in enumerate(values)]
                for column, value in zip(self._columns, (step, slot, *differences), strict=True):
                    column.append(value)
        self._seen, self._owners = seen, owners

    def _owner(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names) + 1)

    def pack(self) -> bytes:
        steps, slots, *values = self._columns
        about = {"slots": self.slots, "owners": list(self._names)}
        return pack(about, [steps_between(steps), steps_between(slots), *values])


@dataclass(frozen=True)
class Picture:
    """How the slots were at one moment: the values of the heat map by metric, and who owned them.

    `owners`: {names, of: [place in names, or -1]}; None where nobody owned any.
    """

    at_ms: int
    slots: dict[str, list[int | float]]
    owners: dict[str, Any] | None


def picture(tier: Tier, start_ms: int, end_ms: int, data: bytes, at_ms: int) -> Picture:
    """The slots at the last step before `at_ms`. Raises `Unreadable`."""
    about, columns = unpack(data)
    slots, names = about.get("slots"), about.get("owners")
    if not isinstance(slots, int) or not isinstance(names, list) or len(columns) != 2 + len(_NOTHING):
        raise Unreadable("it does not hold slots")
    wanted = (min(at_ms, end_ms) - start_ms) // tier.step_ms
    shown_ms = start_ms + wanted * tier.step_ms
    backlog, due, taken, in_flight, dead, acked, owner = ([0] * slots for _ in _NOTHING)
    rows = zip(summed(columns[0]), summed(columns[1]), *columns[2:], strict=True)
    for step, slot, more, due_age, taken_age, held, died, done, owned in rows:
        if step > wanted:
            break
        if not 0 <= slot < slots:
            raise Unreadable(f"it names slot {slot} of {slots}")
        then_ms = start_ms + step * tier.step_ms
        backlog[slot] += more
        due[slot], taken[slot] = _moment(then_ms, due_age), _moment(then_ms, taken_age)
        in_flight[slot], owner[slot] = held, owned
        dead[slot] += died
        acked[slot] = done if step == wanted and step else 0
    return Picture(
        shown_ms,
        {
            "backlog": [*backlog],
            "lag_ms": [_since(moment, shown_ms) for moment in due],
            "oldest_ms": [_since(moment, shown_ms) for moment in taken],
            "in_flight": [*in_flight],
            "dead": [*dead],
            "out_s": [round(max(0, done) * 1000 / tier.step_ms, 1) for done in acked],
        },
        {"names": [str(name) for name in names], "of": [each - 1 for each in owner]} if any(owner) else None,
    )


def _values(slot: SlotSample, at_ms: int, owner: int, stream: bool) -> _Values:
    return (
        slot.length if stream else slot.store + slot.retry + (slot.lag or 0),
        _age(at_ms, slot.oldest_due_ms),
        _age(at_ms, slot.oldest_taken_ms),
        slot.prepare,
        slot.dead,
        slot.counters.sent if stream else slot.counters.acked,
        owner,
    )


def _age(at_ms: int, moment: int | None) -> int:
    """0: there is none; else odd."""
    return 0 if moment is None else (at_ms - moment) * 2 + 1


def _moment(at_ms: int, age: int) -> int:
    return 0 if age == 0 else at_ms - (age >> 1)


def _since(moment: int, at_ms: int) -> int:
    return max(0, at_ms - moment) if moment else 0
