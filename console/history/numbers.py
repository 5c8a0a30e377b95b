"""The numbers of a topic over one block's time: a row for each step, where time is the place in the block."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from console.history.columns import Unreadable, pack, steps_between, summed, unpack
from console.history.points import POINT, RATES, Point, Value
from console.history.tiers import Tier

_SCALES = [1000 if name in RATES else 1 for name in POINT[1:]]
_PRESENT = POINT.index("backlog") - 1
"""A column that has a value in every row."""
_MOST = 2**61
_CELL = 8
"""Bytes of one."""


class NumbersBlock:
    """Every cell is a value and one more; 0 stands for none. What is put twice is what was put last."""

    def __init__(self, tier: Tier, start_ms: int) -> None:
        self.tier = tier
        self.start_ms = start_ms
        self._columns = [array("q", bytes(_CELL * tier.rows)) for _ in _SCALES]

    def put(self, point: Point) -> None:
        """Take a row in; its time is that of its step's beginning."""
        place = self._place(point)
        for column, value, scale in zip(self._columns, point[1:], _SCALES, strict=True):
            column[place] = 0 if value is None else min(max(0, round(value * scale)), _MOST) + 1

    def has(self, at_ms: int) -> bool:
        return bool(self._columns[_PRESENT][(at_ms - self.start_ms) // self.tier.step_ms])

    def points(self, from_ms: int, to_ms: int) -> Iterator[list[Value]]:
        """The rows of that time, without `to_ms`, that there are."""
        step_ms = self.tier.step_ms
        first = max(0, -((self.start_ms - from_ms) // step_ms))
        last = min(self.tier.rows, -((self.start_ms - to_ms) // step_ms))
        for place in range(first, last):
            if self._columns[_PRESENT][place]:
                yield [self.start_ms + place * step_ms, *self._row(place)]

    def pack(self) -> bytes:
        """Rows behind the last are left out, and of a column that never changes all values but the first."""
        used = -(-len(self._columns[_PRESENT].tobytes().rstrip(b"\0")) // _CELL)
        columns = [column[:used] for column in self._columns]
        written = [column[:1] if used and _same(column) else steps_between(column) for column in columns]
        return pack({"names": POINT[1:], "rows": used}, written)

    @classmethod
    def unpack(cls, tier: Tier, start_ms: int, data: bytes) -> NumbersBlock:
        """Raises `Unreadable`."""
        about, columns = unpack(data)
        block = cls(tier, start_ms)
        by_name: dict[str, Sequence[int]] = dict(zip(_names(about), columns, strict=False))
        for place, name in enumerate(POINT[1:]):
            if name in by_name:  # a metric that a later release adds is missing in older blocks
                block._columns[place] = _column(by_name[name], about, tier.rows)
        return block

    def _place(self, point: Point) -> int:
        return (int(point[0] or 0) - self.start_ms) // self.tier.step_ms

    def _row(self, place: int) -> Iterator[Value]:
        for column, scale in zip(self._columns, _SCALES, strict=True):
            cell = column[place]
            yield None if cell == 0 else cell - 1 if scale == 1 else (cell - 1) / scale


def _column(written: Sequence[int], about: dict[str, Any], rows: int) -> array[int]:
    used = about.get("rows")
    if not isinstance(used, int) or not 0 <= used <= rows or len(written) not in (1, used):
        raise Unreadable(f"a column has {len(written)} of {used} rows")
    column = array("q", summed(written)) if len(written) == used else array("q", written) * used
    column.frombytes(bytes(_CELL * (rows - used)))
    return column


def _same(column: array[int]) -> bool:
    """Whether all of its values are the same. As bytes: nearly all columns are asked, each time they are written."""
    return column.tobytes() == column[:1].tobytes() * len(column)


def _names(about: dict[str, Any]) -> list[str]:
    names = about.get("names")
    if not isinstance(names, list):
        raise Unreadable("it does not say what its columns are")
    return [str(name) for name in names]
