"""Who this process is to a stream: a name, and numbers for its calls, so that a slot does each of them once."""

from __future__ import annotations

import threading
from itertools import count
from uuid import uuid4

from rmq_core.transport import forks


class CallNumbers:
    """The `rmq_core.streams.sending.Sender` of a client; another one in a forked child."""

    def __init__(self) -> None:
        self.after_fork()
        forks.follow(self)

    def after_fork(self) -> None:
        """What the parent has begun, the parent ends."""
        self.name = uuid4().hex[:16]
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._open: dict[int, None] = {}

    def begin(self) -> tuple[int, int]:
        """The number of a new call, and the lowest of those without an answer."""
        with self._lock:
            number = next(self._numbers)
            self._open[number] = None
            return number, next(iter(self._open))  # begun in order, so the first is the lowest

    def end(self, number: int) -> None:
        """The call will not be asked for again."""
        with self._lock:
            self._open.pop(number, None)
