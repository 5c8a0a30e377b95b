"""Requests per minute, counted in Redis for all processes together.

A sliding minute out of two counters: this minute's, and the share of the last one's that still counts. It needs no
script, costs one round trip, and its keys end by themselves.
"""

from __future__ import annotations

import math
import time

from rmq_core.protocol.scripts import Operation

WINDOW_S = 60


def spend(namespace: str, name: str, per_minute: int, now_s: float | None = None) -> Operation[int]:
    """Count one request; 0 when it is within the limit, else the seconds to wait. Refused ones do not count."""
    now = time.time() if now_s is None else now_s
    window, into = divmod(now, WINDOW_S)
    current, before = (f"{namespace}:console:rate:{name}:{int(window) - age}" for age in (0, 1))
    used, _, earlier = yield [("INCR", current), ("PEXPIRE", current, 2 * WINDOW_S * 1000), ("GET", before)]
    left_of_before = int(earlier or 0) * (1 - into / WINDOW_S)
    if used + left_of_before <= per_minute:
        return 0
    yield [("DECR", current)]
    if used > per_minute:
        return math.ceil(WINDOW_S - into)
    # What is left of the last minute shrinks with every second.
    room = per_minute - used
    return max(1, math.ceil(WINDOW_S * (1 - room / int(earlier)) - into)) if earlier else 1
