"""What an audit window counts, and the buckets of its times; for those who write windows and those who read them."""

from __future__ import annotations

import math

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
SIZES = {"minute": MINUTE_MS, "hour": HOUR_MS, "day": DAY_MS}
KEPT_MS = {"minute": 7 * DAY_MS, "hour": 366 * DAY_MS}
"""Older windows go; days stay for ever."""

COUNTED = ("sent", "merged", "taken", "acked", "retried", "expired", "died", "lapsed", "late")
"""``sent``: all that arrived, also what merged. ``late``: handed out more than `LATE_MS` after its time."""
TIMES = ("lateness", "end_to_end")
LATE_MS = 1_000
GROWTH = 1.1
"""Of a bucket: so many times as wide as the one before."""


def bucket_of(ms: int) -> int:
    """The bucket of a time: 0 of nothing, 1 of a millisecond, then ever wider ones."""
    return 0 if ms <= 0 else 1 + math.ceil(math.log(ms) / math.log(GROWTH) - 1e-9)


def ms_in(bucket: int) -> int:
    """The time that stands for a bucket: in its middle."""
    return 0 if bucket <= 0 else max(1, round(2 * GROWTH ** (bucket - 1) / (GROWTH + 1)))
