"""Shares a worker's capacity between topics by weight, and adapts each topic's part to how its listener does.

Additive increase, multiplicative decrease: a listener that fails or slows down loses concurrency quickly and wins it
back turn by turn. Whatever a topic does, one turn stays free for every other topic that is not running. What a turn
costs does not grow with the number of topics.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Callable

DECREASE = 0.7
SLOWER = 2.0
SMOOTHING = 0.2
FLOOR_MS = 0.05


class Gate:
    """One topic's way to a turn."""

    def __init__(self, share: FairShare, name: str, weight: int, turns: int | None) -> None:
        self.name = name
        self.weight = weight
        self.turns = turns
        self.running = 0
        self.limit = float(share.capacity if turns is None else turns)
        self.message_ms: float | None = None
        self.entry = -1
        """The number of its place in the queue of topics, while it has one: see `FairShare`."""
        self._best_ms: float | None = None
        self._share = share
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def contended(self) -> bool:
        """Whether somebody waits for a turn of this topic or any other."""
        return self._share.contended

    @property
    def wants(self) -> bool:
        """Whether somebody of this topic waits."""
        return bool(self._waiting)

    @property
    def full(self) -> bool:
        """Whether the topic has all the turns that it may have now."""
        return self.running >= self.most

    @property
    def most(self) -> int:
        """How many turns the topic may have now."""
        return max(1, min(int(self.limit), self._share.capacity - self._share.others))

    @property
    def could(self) -> int:
        """How many it would have if its listener did well."""
        limit = self._share.capacity if self.turns is None else self.turns
        return max(1, min(limit, self._share.capacity - self._share.others))

    def ask(self, granted: Callable[[], None]) -> None:
        """Calls ``granted`` when a turn is free, perhaps at once; give it back with `release`."""
        self._waiting.append(granted)
        self._share.waiting += 1
        self._share.queue(self)
        self._share.hand_out()

    def withdraw(self, granted: Callable[[], None]) -> None:
        """Asks no more."""
        if granted in self._waiting:
            self._waiting.remove(granted)
            self._share.waiting -= 1

    async def acquire(self) -> None:
        """Waits for a turn; give it back with `release`."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def granted() -> None:
            if future.done():
                self.release()
            else:
                future.set_result(None)

        self.ask(granted)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release()
            else:
                self.withdraw(granted)
            raise

    def release(self) -> None:
        """Ends a turn."""
        self.running -= 1
        self._share.running -= 1
        self._share.idle += self.running == 0
        self._share.queue(self)
        self._share.hand_out()

    def grant_one(self) -> None:
        """Gives the first who waits (see `wants`) a turn."""
        self._share.idle -= self.running == 0
        self.running += 1
        self._share.running += 1
        self._share.waiting -= 1
        granted = self._waiting.popleft()
        self._share.queue(self)
        granted()

    def adapt(self, succeeded: int, failed: int, message_ms: float) -> None:
        """Learns from a batch: its outcomes and the time per message."""
        before = self.message_ms
        self.message_ms = message_ms if before is None else before + SMOOTHING * (message_ms - before)
        best = self._best_ms
        # The best creeps up, so that work that became heavier for good is not punished for ever.
        self._best_ms = self.message_ms if best is None else min(best * 1.01, self.message_ms)
        if self.turns is not None:
            return
        slow = self.message_ms > SLOWER * max(self._best_ms, FLOOR_MS) and self.running > 1
        if failed > succeeded or slow:
            self.limit = max(1.0, self.limit * DECREASE)
        else:
            self.limit = min(float(self._share.capacity), self.limit + 1 / self.limit)
            if self._waiting:
                self._share.queue(self)
                self._share.hand_out()


class FairShare:
    """So many turns at once, for all topics together.

    Topics that wait stand in one queue, the one furthest below its weight first. A place there is left behind, and a
    new one taken, whenever that changes.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.running = 0
        self.idle = 0
        """Topics without a turn."""
        self.waiting = 0
        self._gates: list[Gate] = []
        self._queue: list[tuple[float, int, Gate]] = []
        self._numbers = itertools.count()
        self._granting = False

    def join(self, name: str, weight: int, turns: int | None = None) -> Gate:
        """Another topic; capacity grows where there is not one turn for each and one to spare.

        ``turns``: so many for it at most, whatever its listener does; None: as it does.
        """
        gate = Gate(self, name, weight, turns)
        self._gates.append(gate)
        self.idle += 1
        self.capacity = max(self.capacity, len(self._gates) + 1)
        return gate

    @property
    def contended(self) -> bool:
        """Whether anybody waits."""
        return self.waiting > 0

    @property
    def others(self) -> int:
        """How many topics there are beside one."""
        return len(self._gates) - 1

    def queue(self, gate: Gate) -> None:
        """Gives a topic its place again."""
        if gate.wants:
            gate.entry = next(self._numbers)
            heapq.heappush(self._queue, (gate.running / gate.weight, gate.entry, gate))

    @property
    def free(self) -> int:
        """Turns that a topic which is running could still have."""
        return max(0, self.capacity - self.running - self.idle)

    def hand_out(self) -> None:
        """Gives free turns to those who wait: the topic furthest below its weight first."""
        if self._granting:  # somebody who was given a turn asks for another: the loop below goes on
            return
        self._granting = True
        try:
            while self._queue and self.running < self.capacity:
                _, entry, gate = self._queue[0]
                if entry != gate.entry or not gate.wants or gate.running >= max(1, int(gate.limit)):
                    heapq.heappop(self._queue)  # it has another place, or gets one when it changes
                elif gate.running and self.capacity - self.running <= self.idle:
                    return  # those without any turn would stand before it
                else:
                    heapq.heappop(self._queue)
                    gate.grant_one()
        finally:
            self._granting = False
