"""Which of a topic's batches runs next: whatever one of them has next that comes first, of those that do not run.

A lane is a thread, or a task in the loop of the coroutine listeners, that goes from batch to batch. It leaves a batch
as soon as another slot has something that comes before; where that is still on the server it ends, and is opened
again once it is here. Lanes look at two numbers for it (`lo`, `hi`), so going on costs nothing. After a while it leaves
it for another topic, too, which may have to wait for what was taken when calls were quick.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time

from rmq_core.transport import forks
from rmq_core.worker.batch import Batch
from rmq_core.worker.fair_share import Gate
from rmq_core.worker.ranks import LAST, outranked_scores

LANE_S = 0.25
"""After so long a lane ends where somebody waits for a turn, or its topic has more than it may have by now."""


class Dispatch:
    """Used by the engine's loop and by the lanes; whoever changes something holds the lock."""

    def __init__(self, timed: bool, gate: Gate) -> None:
        self.timed = timed
        self.generation = forks.generation()
        self._gate = gate
        self.lo, self.hi = outranked_scores(timed, LAST)
        self.running = 0
        """Batches in a lane."""
        self._awaited = LAST
        self._ended: dict[Batch, float] = {}
        self._ready: list[tuple[float, int, Batch]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    # -- the engine's side

    def add(self, batch: Batch) -> None:
        """Another batch to run."""
        with self._lock:
            self._park(batch)

    def await_rank(self, rank: float) -> None:
        """What comes after that does not begin: it is known of something better on the server."""
        if rank != self._awaited:
            with self._lock:
                self._awaited = rank
                self._weigh()

    def forget(self, batch: Batch) -> None:
        """Its slot has been heard of: until then, what it has next is waited for like what is queued."""
        if self._ended:
            with self._lock:
                self._ended.pop(batch, None)
                self._weigh()

    def prune(self) -> None:
        """Ends batches that were closed while they did not run."""
        with self._lock:
            if over := [entry for entry in self._ready if entry[2].over]:
                self._ready = [entry for entry in self._ready if not entry[2].over]
                heapq.heapify(self._ready)
                for _, _, batch in over:
                    self._end(batch)
                self._weigh()

    @property
    def open(self) -> int:
        """How many batches wait for a lane and may have one."""
        with self._lock:
            ready = self._ready
            return len(ready) if ready and -ready[0][0] >= self._best_elsewhere() else 0

    @property
    def best(self) -> float:
        """What comes first of all that is here and does not run."""
        ready = self._ready
        return -ready[0][0] if ready else LAST

    def stock(self) -> int:
        """Messages here that no listener has begun, of batches that wait."""
        with self._lock:
            return sum(len(batch.deliveries) - batch.begun for _, _, batch in self._ready)

    # -- the lanes' side

    def lane(self, first: Batch) -> None:
        """Runs batches in this thread, ``first`` the one that `next` gave; raises nothing."""
        opened_at = time.monotonic()
        batch: Batch | None = first
        while batch is not None:
            batch.leave_at = opened_at + LANE_S
            batch.run(self)
            batch = self.next(batch, opened_at)

    async def lane_async(self, first: Batch) -> None:
        """The same for coroutine listeners."""
        opened_at = time.monotonic()
        batch: Batch | None = first
        try:
            while batch is not None:
                batch.leave_at = opened_at + LANE_S
                await batch.run_async(self)
                batch = self.next(batch, opened_at)
        finally:
            if batch is not None:  # the loop is being closed
                batch.closing = True
                with self._lock:
                    self._put_back(batch)

    @property
    def crowded(self) -> bool:
        """Whether a lane that was open for its time should end."""
        return self._gate.contended or self._gate.running > self._gate.most

    def next(self, batch: Batch | None = None, opened_at: float = 0.0) -> Batch | None:
        """The batch to go on with after ``batch`` (None: to begin with); None: the lane ends."""
        with self._lock:
            if batch is not None:
                self._put_back(batch)
            if batch is not None and time.monotonic() - opened_at >= LANE_S and self.crowded:
                return None
            while self._ready and -self._ready[0][0] >= self._best_elsewhere():
                _, _, found = heapq.heappop(self._ready)
                if found.over:
                    self._end(found)
                    continue
                self.running += 1
                self._weigh()
                return found
            self._weigh()
            return None

    def _put_back(self, batch: Batch) -> None:
        self.running -= 1
        if batch.over:
            self._end(batch)
        else:
            self._park(batch)

    def _end(self, batch: Batch) -> None:
        if batch.next_rank > LAST:
            self._ended[batch] = batch.next_rank
        batch.end()

    def _park(self, batch: Batch) -> None:
        heapq.heappush(self._ready, (-batch.rank(self.timed), next(self._numbers), batch))
        self._weigh()

    def _weigh(self) -> None:
        self.lo, self.hi = outranked_scores(self.timed, max(self._best_elsewhere(), self.best))

    def _best_elsewhere(self) -> float:
        return max(self._awaited, *self._ended.values()) if self._ended else self._awaited
