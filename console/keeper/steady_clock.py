"""Whether a clock is to be believed where what it says costs something for good."""

from __future__ import annotations

import time

STEADY_FOR_S = 3_600.0
STEP_MS = 600_000
"""What it may be corrected by meanwhile."""


class SteadyClock:
    """A clock is believed once it has gone on for an hour without a step: one that is wrong for a moment, as that of a
    machine that has just been started, is not."""

    def __init__(self) -> None:
        self._since: tuple[float, int] | None = None

    def is_steady(self, now_ms: int) -> bool:
        """What it says now; to be told every few minutes."""
        now_s = time.monotonic()
        if self._since is not None:
            since_s, since_ms = self._since
            if abs(now_ms - since_ms - (now_s - since_s) * 1000) <= STEP_MS:
                return now_s - since_s >= STEADY_FOR_S
        self._since = (now_s, now_ms)
        return False
