"""Requests per minute, counted in Redis for all processes together.

A sliding minute out of two counters: this minute's, and the share of the last one's that still counts. It needs no
script, costs one round trip, and its keys end by themselves.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from rmq_core.protocol.scripts import Operation

WINDOW_S = 60


@dataclass(frozen=True)
class Spent:
    """`wait_s` 0: the request is within the limit. `left`: so many more may come now; `reset_s`: until all are back."""

    limit: int
    left: int
    reset_s: int
    wait_s: int = 0

    def headers(self) -> dict[str, str]:
        """For the answer."""
        found = {"Limit": self.limit, "Remaining": self.left, "Reset": self.reset_s}
        return {f"RateLimit-{name}": str(value) for name, value in found.items()}


def spend(namespace: str, name: str, per_minute: int, now_s: float | None = None) -> Operation[Spent]:
    """Count one request. Refused ones do not count."""
    now = time.time() if now_s is None else now_s
    window, into = divmod(now, WINDOW_S)
    current, before = (f"{namespace}:console:rate:{name}:{int(window) - age}" for age in (0, 1))
    used, _, earlier = yield [("INCR", current), ("PEXPIRE", current, 2 * WINDOW_S * 1000), ("GET", before)]
    left_of_before = int(earlier or 0) * (1 - into / WINDOW_S)
    reset_s = math.ceil(2 * WINDOW_S - into)
    if used + left_of_before <= per_minute:
        return Spent(per_minute, int(per_minute - used - left_of_before), reset_s)
    yield [("DECR", current)]
    if used > per_minute:  # this minute's count in full when the next one begins, and shrink from then on
        wait_s = math.ceil(WINDOW_S - into + WINDOW_S * (1 - (per_minute - 1) / per_minute))
        return Spent(per_minute, 0, reset_s, wait_s)
    # What is left of the last minute shrinks with every second.
    room = per_minute - used
    wait_s = max(1, math.ceil(WINDOW_S * (1 - room / int(earlier)) - into)) if earlier else 1
    return Spent(per_minute, 0, reset_s, wait_s)
