"""How finely the history is kept, and for how long; how much of it shares a block."""

from __future__ import annotations

from dataclasses import dataclass

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


@dataclass(frozen=True)
class Tier:
    """A row every `step_ms`, for `keep_ms`; a block holds `span_ms`."""

    step_ms: int
    keep_ms: int
    span_ms: int

    @property
    def rows(self) -> int:
        return self.span_ms // self.step_ms

    def step(self, at_ms: int) -> int:
        """The beginning of the interval that a moment lies in."""
        return at_ms - at_ms % self.step_ms

    def block(self, at_ms: int) -> int:
        """The beginning of the block that a moment lies in."""
        return at_ms - at_ms % self.span_ms


NUMBERS = (
    Tier(10 * SECOND, 6 * HOUR, HOUR),
    Tier(MINUTE, 7 * DAY, 6 * HOUR),
    Tier(15 * MINUTE, 366 * DAY, 7 * DAY),
)
"""Of a topic as a whole. Every step is a whole number of the step before, and lies in one block of it."""
SLOTS = (Tier(10 * SECOND, HOUR, 15 * MINUTE), Tier(MINUTE, 3 * DAY, 2 * HOUR))
"""Of each slot. Blocks begin when they begin, and hold at most so much."""
