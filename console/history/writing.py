"""Brings rows into their blocks, and the coarser rows that follow from them; what is in a block already stays.

Every time it begins from what is stored. So it does not matter who wrote before, how long ago, or whether the clock
went back meanwhile: a row belongs where its time says, and whoever comes last is right.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from console.history import store
from console.history.columns import Unreadable
from console.history.numbers import NumbersBlock
from console.history.points import PERCENTILES, Point, Value, merged
from console.history.store import Row
from console.history.tiers import NUMBERS, Tier
from console.models import HistoryBlock

log = logging.getLogger("console.history")

_SERIES = HistoryBlock.Series.NUMBERS


@dataclass(frozen=True)
class Batch:
    """What is new of one topic up to `until_ms`.

    `points`: rows of the finest step. `missing`: the same of a time when nobody could write; they go where nothing is.
    `lateness`: percentiles of longer intervals, by step and beginning, measured over all of them. `slots`:
    whole blocks.
    """

    topic: str
    until_ms: int
    points: Sequence[Point] = ()
    missing: Sequence[Point] = ()
    lateness: dict[tuple[int, int], Sequence[Value]] = field(default_factory=dict)
    slots: Sequence[Row] = ()


def write(writer: str, batches: Sequence[Batch]) -> None:
    """Raises `OtherWriter`; what fails is written not at all."""
    with store.writing(writer):
        blocks = _Blocks(batches)
        for batch in batches:
            _bring_in(blocks, batch)
        store.save([*blocks.changed(), *(row for batch in batches for row in batch.slots)])


def _bring_in(blocks: _Blocks, batch: Batch) -> None:
    finest = NUMBERS[0]
    touched: set[int] = set()
    for at_ms, point in ((int(point[0] or 0), point) for point in batch.missing):
        if not blocks.of(batch.topic, finest, at_ms).has(at_ms):
            blocks.put(batch.topic, finest, point)
            touched.add(at_ms)
    for point in batch.points:
        blocks.put(batch.topic, finest, point)
        touched.add(int(point[0] or 0))
    for finer, coarser in pairwise(NUMBERS):
        steps = {coarser.step(at_ms) for at_ms in touched}
        if coarser is NUMBERS[-1]:  # once, when it is over
            steps = {step for step in steps if step + coarser.step_ms <= batch.until_ms}
        for step in steps:
            parts = list(blocks.of(batch.topic, finer, step).points(step, step + coarser.step_ms))
            if not parts:
                continue
            row = merged(step, parts)
            if measured := batch.lateness.get((coarser.step_ms, step)):
                row[PERCENTILES] = measured
            blocks.put(batch.topic, coarser, row)
        touched = steps


class _Blocks:
    """Blocks of numbers, as stored and with what was put into them since."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self._blocks: dict[tuple[str, int, int], NumbersBlock] = {}
        self._changed: set[tuple[str, int, int]] = set()
        starts = set()
        topics = set()
        for batch in batches:
            for point in (*batch.points, *batch.missing):
                topics.add(batch.topic)
                starts |= {(tier.step_ms, tier.block(int(point[0] or 0))) for tier in NUMBERS[:-1]}
        self._stored = store.load(topics, _SERIES, starts) if topics else {}
        self._asked = starts

    def of(self, topic: str, tier: Tier, at_ms: int) -> NumbersBlock:
        start_ms = tier.block(at_ms)
        key = (topic, tier.step_ms, start_ms)
        if key not in self._blocks:
            self._blocks[key] = self._read(key, tier)
        return self._blocks[key]

    def put(self, topic: str, tier: Tier, point: Point) -> None:
        at_ms = int(point[0] or 0)
        self.of(topic, tier, at_ms).put(point)
        self._changed.add((topic, tier.step_ms, tier.block(at_ms)))

    def changed(self) -> Iterable[Row]:
        for key in sorted(self._changed):
            topic, step_ms, start_ms = key
            block = self._blocks[key]
            yield Row(topic, _SERIES, step_ms, start_ms, start_ms + block.tier.span_ms, block.pack())

    def _read(self, key: tuple[str, int, int], tier: Tier) -> NumbersBlock:
        topic, step_ms, start_ms = key
        stored = self._stored.get(key)
        if stored is None and (step_ms, start_ms) not in self._asked:
            stored = store.load([topic], _SERIES, [(step_ms, start_ms)]).get(key)
        if stored is not None:
            try:
                return NumbersBlock.unpack(tier, start_ms, stored)
            except Unreadable as error:
                log.warning("the history of %s from %d cannot be read and begins again: %s", topic, start_ms, error)
        return NumbersBlock(tier, start_ms)
