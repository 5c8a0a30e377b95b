"""Until when this process may believe that what it owned is still its own."""

from __future__ import annotations

import math
import threading
import time


class Lease:
    """A moment on the monotonic clock, after which nothing new may be started.

    Every thread asks it before each listener call, so that a process that was frozen finds it run out although
    nobody has told it anything. Extended by proofs of life; broken off by whoever notices trouble, in any thread.
    """

    def __init__(self, until: float = 0.0) -> None:
        self.until = until
        self.proved_at = -math.inf
        self._breaks = 0
        self._lock = threading.Lock()

    @classmethod
    def for_ever(cls) -> Lease:
        """For those who own nothing in particular."""
        return cls(math.inf)

    @property
    def valid(self) -> bool:
        """Whether something may be started now."""
        return time.monotonic() < self.until

    def ticket(self) -> int:
        """Take one before asking for a proof of life."""
        return self._breaks

    def prove(self, ticket: int, asked_at: float, lasts_s: float) -> bool:
        """A proof asked for at ``asked_at`` came: extends, unless the lease was broken off in between."""
        with self._lock:
            if ticket != self._breaks:
                return False
            self.proved_at = asked_at
            self.until = asked_at + lasts_s
            return True

    def break_off(self) -> None:
        """Ends it now."""
        with self._lock:
            self._breaks += 1
            self.until = 0.0
