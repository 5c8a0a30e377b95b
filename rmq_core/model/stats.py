"""Counters and histograms, as the scripts keep them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter

BUCKETS_PER_OCTAVE = 4
BUCKET_ROUNDING = 1e-9


COUNTED_MOST = 2**53
"""Scripts count with Lua's numbers, which are exact up to here."""
_COUNTED = re.compile(rb"-?\d{1,16}")


def number(said: bytes | int) -> int:
    """What a field of the stats hash counts; of one that somebody has spoiled by hand (no number, or a larger one than
    is ever counted): nothing, as ``repair_counters.lua`` has it. For a reconciliation, which then sees a ledger that
    does not balance; whoever shows counters must not show a 0 for it."""
    return 0 if is_spoiled(said) else int(said)


def is_spoiled(said: bytes | int) -> bool:
    """Whether somebody has written that by hand: no script would count on from there."""
    return isinstance(said, bytes) and not (_COUNTED.fullmatch(said) and abs(int(said)) <= COUNTED_MOST)


@dataclass(frozen=True, slots=True)
class Counters:
    """What a slot's scripts have counted since it exists; only ever growing."""

    sent: int = 0
    merged: int = 0
    taken: int = 0
    acked: int = 0
    retried: int = 0
    expired: int = 0
    died: int = 0
    cancelled: int = 0
    rescheduled: int = 0
    requeued: int = 0
    dropped: int = 0
    released: int = 0
    extended: int = 0
    restored: int = 0
    erased: int = 0
    trimmed: int = 0
    deleted: int = 0
    lapsed: int = 0
    duplicate: int = 0
    outdated: int = 0
    held: int = 0
    lifted: int = 0

    @classmethod
    def read(cls, stats: Mapping[bytes, bytes], said: Callable[[bytes], int] = int) -> Counters:
        """From the stats hash; fields of a newer release are ignored. ``said``: what a field counts (see `number`).
        Raises `ValueError`."""
        return cls(**{name: said(stats[name.encode()]) for name in COUNTERS if name.encode() in stats})

    @classmethod
    def sum(cls, several: Iterable[Counters]) -> Counters:
        """Field by field."""
        columns = zip(*(counters.values() for counters in several), strict=True)
        return cls(*(sum(column) for column in columns))

    def values(self) -> tuple[int, ...]:
        """In the order of the fields."""
        found: tuple[int, ...] = _VALUES(self)
        return found


ENDED = ("merged", "duplicate", "outdated", "acked", "cancelled", "dropped", "lapsed", "trimmed", "deleted")
"""Counters of what is held no more; the last two are of streams."""
COUNTERS = tuple(each.name for each in fields(Counters))
_VALUES = attrgetter(*COUNTERS)


@dataclass(frozen=True)
class Histogram:
    """Durations in quarter octaves: bucket ``b`` holds values around ``2**(b/4) - 1`` ms, so within 19 %."""

    buckets: Mapping[int, int] = field(default_factory=dict)

    @staticmethod
    def bucket(value_ms: float) -> int:
        """The bucket of a duration; the same arithmetic as ``shared/take.lua``."""
        return math.floor(math.log2(max(0.0, value_ms) + 1) * BUCKETS_PER_OCTAVE + BUCKET_ROUNDING)

    @staticmethod
    def upper_ms(bucket: int) -> float:
        """The largest duration a bucket holds."""
        return float(2 ** ((bucket + 1) / BUCKETS_PER_OCTAVE) - 1)

    @classmethod
    def of(cls, values_ms: Iterable[float]) -> Histogram:
        """Counts durations."""
        buckets: dict[int, int] = {}
        for value in values_ms:
            bucket = cls.bucket(value)
            buckets[bucket] = buckets.get(bucket, 0) + 1
        return cls(buckets)

    @classmethod
    def sum(cls, several: Iterable[Histogram]) -> Histogram:
        """Bucket by bucket."""
        buckets: dict[int, int] = {}
        for each in several:
            for bucket, n in each.buckets.items():
                buckets[bucket] = buckets.get(bucket, 0) + n
        return cls(buckets)

    def minus(self, earlier: Histogram) -> Histogram:
        """What came since an earlier picture of the same counts; a counter that went back counts from 0."""
        if any(self.buckets.get(bucket, 0) < n for bucket, n in earlier.buckets.items()):
            return self
        left = {bucket: n - earlier.buckets.get(bucket, 0) for bucket, n in self.buckets.items()}
        return Histogram({bucket: n for bucket, n in left.items() if n})

    @property
    def total(self) -> int:
        """How many durations."""
        return sum(self.buckets.values())

    def percentile(self, percent: float) -> float | None:
        """The upper bound in ms of the bucket that holds it; None when empty."""
        wanted = self.total * percent / 100
        seen = 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen >= wanted and seen:
                return self.upper_ms(bucket)
        return None
