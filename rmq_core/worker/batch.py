"""A batch of deliveries on its way through a listener: run in a thread or the loop, watched from the loop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from rmq_core.message import Delivery
from rmq_core.ownership.lease import Lease
from rmq_core.worker.listeners import Listener


class Finished(NamedTuple):
    """A delivery the listener is done with; ``error`` None: it returned."""

    delivery: Delivery
    error: BaseException | None


class Batch:
    """Deliveries, and what became of them so far.

    The listener's side only appends to ``finished`` and moves ``started_at``; the loop's side only reads those and sets
    ``closing`` (start nothing more) and ``lost`` (somebody else has these now). When the lease has run out, the
    listener's side sets ``closing`` itself.
    """

    def __init__(self, listener: Listener, deliveries: Sequence[Delivery], lease: Lease) -> None:
        self.listener = listener
        self.deliveries = deliveries
        self.lease = lease
        self.finished: list[Finished] = []
        self.begun = 0
        self.started_at: float | None = None
        self.closing = False
        self.lost: set[bytes] = set()
        self.busy_s = 0.0
        self._settled = 0

    def run(self) -> None:
        """Calls the listener for every delivery in turn; raises nothing."""
        function, size = self.listener.function, self.listener.batch
        began = time.monotonic()
        for at in range(0, len(self.deliveries), size):
            some = self._begin(at, size)
            if not some:
                continue
            try:
                function(some[0] if size == 1 else some)
            except BaseException as error:
                self._end(some, error)
            else:
                self._end(some, None)
        self.started_at = None
        self.busy_s = time.monotonic() - began

    async def run_async(self) -> None:
        """The same for a coroutine listener; raises only cancellation."""
        function, size = self.listener.function, self.listener.batch
        began = time.monotonic()
        for at in range(0, len(self.deliveries), size):
            some = self._begin(at, size)
            if not some:
                continue
            try:
                await function(some[0] if size == 1 else some)
            except Exception as error:
                self._end(some, error)
            else:
                self._end(some, None)
        self.started_at = None
        self.busy_s = time.monotonic() - began

    def _begin(self, at: int, size: int) -> Sequence[Delivery]:
        now = time.monotonic()
        some = self.deliveries[at : at + size]
        # Said before looking at `closing`: whoever sets that and then reads `begun` never misses a call that began.
        before, self.begun = self.begun, at + len(some)
        if self.closing or now >= self.lease.until:
            self.closing = True
            self.begun = before
            return ()
        if self.lost:
            some = [delivery for delivery in some if delivery.raw_id not in self.lost]
        self.started_at = now
        return some

    def _end(self, some: Sequence[Delivery], error: BaseException | None) -> None:
        if len(some) == 1:
            self.finished.append(Finished(some[0], error))
        else:
            self.finished += [Finished(delivery, error) for delivery in some]

    def take_finished(self) -> list[Finished]:
        """What has been finished since the last call."""
        until = len(self.finished)
        some = self.finished[self._settled : until]
        self._settled = until
        return some

    @property
    def unfinished(self) -> list[Delivery]:
        """What is running or has not been started."""
        done = {finished.delivery.raw_id for finished in self.finished}
        return [delivery for delivery in self.deliveries if delivery.raw_id not in done]

    @property
    def not_started(self) -> Sequence[Delivery]:
        """What no listener has seen, nor will, once ``closing`` is set; complete when the listener's side has ended."""
        return self.deliveries[self.begun :]

    def running_s(self) -> float:
        """How long the present call has been running."""
        started = self.started_at
        return 0.0 if started is None else time.monotonic() - started
