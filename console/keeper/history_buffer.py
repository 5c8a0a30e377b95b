"""What has been sampled of one topic and is not written yet: rows of ten seconds, and the blocks of its slots."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from console.history.points import LATENESS, PERCENTILES, Point, Value, merged
from console.history.slots import SlotsBlock
from console.history.store import Row
from console.history.tiers import NUMBERS, SLOTS, Tier
from console.history.writing import Batch
from console.models import HistoryBlock
from rmq_core.model.samples import SlotSample
from rmq_core.model.stats import Histogram

BLOCKS_MOST = 24
"""Finished blocks of slots that wait for a database that is away; then the oldest go."""
FINEST = NUMBERS[0]


class HistoryBuffer:
    """Rows are kept until `written` says that they are; at most `rows_most`, then the oldest go."""

    def __init__(self, topic: str, rows_most: int, stream: bool = False) -> None:
        self._topic = topic
        self._stream = stream
        self._now: list[Point] = []
        self._step: int | None = None
        self._rows: deque[list[Value]] = deque(maxlen=rows_most)
        self._lateness = [_Lateness(tier) for tier in NUMBERS]
        self._measured: dict[tuple[int, int], Sequence[Value]] = {}
        self._slots: dict[int, SlotsBlock] = {}
        self._done: deque[Row] = deque(maxlen=BLOCKS_MOST)
        self.first_ms: int | None = None
        """When the first row began, of which this keeper may have seen only the end."""

    @property
    def has_closed(self) -> bool:
        """Whether the first row is over."""
        return self._step != self.first_ms

    def limit(self, rows_most: int) -> None:
        """From now on at most so many rows wait."""
        if self._rows.maxlen != rows_most:
            self._rows = deque(self._rows, maxlen=rows_most)

    def take(
        self, point: Point, lateness: Histogram, slots: Sequence[SlotSample], owners: Sequence[str | None] | None
    ) -> None:
        """The next sample."""
        at_ms = int(point[0] or 0)
        step = FINEST.step(at_ms)
        if step == self._step:  # no tier begins another step
            self._now.append(point)
            if lateness.buckets:
                for each in self._lateness:
                    each.add(at_ms, lateness)
            return
        for each in self._lateness:
            if found := each.add(at_ms, lateness):
                self._measured[found[0]] = found[1]
        if self._step is None:
            self.first_ms = step
        else:
            self._close(self._step)
        self._step = step
        self._now.append(point)
        for tier in SLOTS:
            self._take_slots(tier, tier.step(at_ms), slots, owners)

    def batch(self, missing: Sequence[Point] = ()) -> Batch:
        """All that is not written yet."""
        rows = tuple(self._rows)
        again = {point[0] for point in missing}
        return Batch(
            self._topic,
            self._step or 0,
            points=[row for row in rows if row[0] != self.first_ms or row[0] not in again],
            missing=missing,
            lateness=dict(self._measured),
            slots=[*self._done, *(self._row(block) for block in self._slots.values())],
        )

    def written(self, batch: Batch) -> None:
        """What is in the batch is in the database."""
        done = {id(point) for point in batch.points}
        while self._rows and (id(self._rows[0]) in done or self._rows[0][0] == self.first_ms):
            self._rows.popleft()
        for key in batch.lateness:
            self._measured.pop(key, None)
        while self._done and self._done[0] in batch.slots:
            self._done.popleft()

    def _close(self, step: int) -> None:
        row = merged(step, self._now)
        found = self._measured.pop((FINEST.step_ms, step), None)
        if found:
            row[PERCENTILES] = found
        self._rows.append(row)
        self._now = []
        while len(self._measured) > len(self._rows) + len(
            NUMBERS
        ):  # as many as rows wait, and those that are under way
            self._measured.pop(next(iter(self._measured)))

    def _take_slots(
        self, tier: Tier, step: int, slots: Sequence[SlotSample], owners: Sequence[str | None] | None
    ) -> None:
        block = self._slots.get(tier.step_ms)
        if block is not None and block.end_ms == step:
            return
        if block is None or not block.takes(step, len(slots)):
            if block is not None:
                self._done.append(self._row(block))
            block = self._slots[tier.step_ms] = SlotsBlock(tier, step, len(slots), self._stream)
        block.add(step, slots, owners)

    def _row(self, block: SlotsBlock) -> Row:
        series = HistoryBlock.Series.SLOTS
        return Row(self._topic, series, block.tier.step_ms, block.start_ms, block.end_ms, block.pack())


class _Lateness:
    """Percentiles over a whole step of a tier: those of its parts cannot be added up."""

    def __init__(self, tier: Tier) -> None:
        self._tier = tier
        self._step: int | None = None
        self._whole = False
        self._buckets: dict[int, int] = {}

    def add(self, at_ms: int, lateness: Histogram) -> tuple[tuple[int, int], list[Value]] | None:
        """Where a step ended with that: its step and beginning, and p50, p95 and p99."""
        found = None
        step = self._tier.step(at_ms)
        if step != self._step:
            if self._whole and self._step is not None and self._buckets:
                found = (self._tier.step_ms, self._step), self._percentiles()
            self._whole = self._step is not None  # who comes within a step has not seen all of it
            self._step, self._buckets = step, {}
        for bucket, number in lateness.buckets.items():
            self._buckets[bucket] = self._buckets.get(bucket, 0) + number
        return found

    def _percentiles(self) -> list[Value]:
        histogram = Histogram(self._buckets)
        values = [histogram.percentile(int(name[1:])) for name in LATENESS]
        return [None if value is None else round(value) for value in values]
