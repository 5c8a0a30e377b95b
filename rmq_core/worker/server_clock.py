"""How old a reply is: a busy loop comes to it late, and what sleeps until a message is due must not add that."""

from __future__ import annotations

KNOWN_FOR_S = 5.0
"""Clocks drift apart: what was learned longer ago than twice this is forgotten."""
STEP_US = 100_000
"""A reply that seems older than this tells of a clock that was set back."""


class ServerClock:
    """The clock of one server as replies tell of it.

    It has come at least as far as the least delayed of the replies says; so who waits by it is never early.
    """

    def __init__(self) -> None:
        self._ahead_us: float | None = None
        """Of this process's clock, in the present window."""
        self._before_us: float | None = None
        """The same in the window before."""
        self._since_s = 0.0

    def age_us(self, now_us: int, at_s: float) -> float:
        """How long ago the server said so, at least; ``at_s``: the loop's time. Learns from it."""
        ahead_us = now_us - at_s * 1_000_000
        if at_s - self._since_s > KNOWN_FOR_S:
            self._before_us = self._ahead_us if at_s - self._since_s <= 2 * KNOWN_FOR_S else None
            self._ahead_us, self._since_s = None, at_s
        known_us = max((each for each in (self._ahead_us, self._before_us) if each is not None), default=ahead_us)
        if known_us - ahead_us > STEP_US:
            self._ahead_us, self._before_us = ahead_us, None
            return 0.0
        if self._ahead_us is None or ahead_us > self._ahead_us:
            self._ahead_us = ahead_us
        return max(0.0, known_us - ahead_us)
