"""Until when this process may believe that what it owned is still its own."""

from __future__ import annotations

import math
import threading
import time


class Lease:
    """A moment on the monotonic clock, after which nothing new may be started.

    Every thread asks it before each listener call, so that a process that was frozen finds it run out although
    no message reached it. Renewed by answered heartbeats; revoked by whoever notices trouble, in any thread.
    """

    def __init__(self, until: float = 0.0) -> None:
        self.until = until
        self.renewed_at = -math.inf
        self._revocations = 0
        self._lock = threading.Lock()

    @classmethod
    def for_ever(cls) -> Lease:
        """For those who own nothing in particular."""
        return cls(math.inf)

    @property
    def valid(self) -> bool:
        """Whether something may be started now."""
        return time.monotonic() < self.until

    def generation(self) -> int:
        """Note it before a heartbeat is sent, and give it to `renew`."""
        return self._revocations

    def renew(self, generation: int, asked_at: float, lasts_s: float) -> bool:
        """A heartbeat sent at ``asked_at`` was answered: extends, unless the lease was revoked in between."""
        with self._lock:
            if generation != self._revocations:
                return False
            self.renewed_at = asked_at
            self.until = asked_at + lasts_s
            return True

    def revoke(self) -> None:
        """Ends it now."""
        with self._lock:
            self._revocations += 1
            self.until = 0.0
