"""Shares a worker's capacity between topics by weight, and adapts each topic's part to how its listener does.

Additive increase, multiplicative decrease: a listener that fails or slows down loses concurrency quickly and wins it
back turn by turn. Whatever a topic does, one turn stays free for every other topic that is not running.
"""

from __future__ import annotations

import asyncio
from collections import deque

DECREASE = 0.7
SLOWER = 2.0
SMOOTHING = 0.2
FLOOR_MS = 0.05


class Gate:
    """One topic's way to a turn."""

    def __init__(self, share: FairShare, name: str, weight: int) -> None:
        self.name = name
        self.weight = weight
        self.running = 0
        self.limit = float(share.capacity)
        self.message_ms: float | None = None
        self._best_ms: float | None = None
        self._share = share
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def contended(self) -> bool:
        """Whether somebody waits for a turn of this topic or any other."""
        return self._share.contended

    @property
    def wants(self) -> bool:
        """Whether somebody of this topic waits."""
        while self._waiting and self._waiting[0].done():  # gave up waiting
            self._waiting.popleft()
        return bool(self._waiting)

    async def acquire(self) -> None:
        """Waits for a turn; give it back with `release`."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._share.grant()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Ends a turn."""
        self.running -= 1
        self._share.grant()

    def grant_one(self) -> None:
        """Gives the first who waits (see `wants`) a turn."""
        self.running += 1
        self._waiting.popleft().set_result(None)

    def adapt(self, succeeded: int, failed: int, message_ms: float) -> None:
        """Learns from a batch: its outcomes and the time per message."""
        before = self.message_ms
        self.message_ms = message_ms if before is None else before + SMOOTHING * (message_ms - before)
        best = self._best_ms
        # The best creeps up, so that work that became heavier for good is not punished for ever.
        self._best_ms = self.message_ms if best is None else min(best * 1.01, self.message_ms)
        slow = self.message_ms > SLOWER * max(self._best_ms, FLOOR_MS) and self.running > 1
        if failed > succeeded or slow:
            self.limit = max(1.0, self.limit * DECREASE)
        else:
            self.limit = min(float(self._share.capacity), self.limit + 1 / self.limit)


class FairShare:
    """So many turns at once, for all topics together."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._gates: list[Gate] = []

    def join(self, name: str, weight: int) -> Gate:
        """Another topic; capacity grows where there is not one turn for each and one to spare."""
        gate = Gate(self, name, weight)
        self._gates.append(gate)
        self.capacity = max(self.capacity, len(self._gates) + 1)
        return gate

    @property
    def contended(self) -> bool:
        """Whether anybody waits."""
        return any(gate.wants for gate in self._gates)

    def grant(self) -> None:
        """Gives free turns to those who wait: the topic furthest below its weight first."""
        while True:
            free = self.capacity - sum(gate.running for gate in self._gates)
            idle = sum(gate.running == 0 for gate in self._gates)
            ready = [
                gate
                for gate in self._gates
                if gate.wants and (free > idle if gate.running else free > 0) and gate.running < max(1, int(gate.limit))
            ]
            if not ready:
                return
            min(ready, key=lambda gate: gate.running / gate.weight).grant_one()
