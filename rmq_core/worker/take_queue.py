"""Which slots of a topic take next: those with the best head, a few more than run at the moment.

Slots of which something is known to be ready are queued, by what they would hand out. As many may take as can run,
and of a fast listener as many more as bring work for `AHEAD_S`. Nothing begins that comes after what a queued slot has
(`Dispatch.await_rank`); what a take brings is cut off there, too. Slots that only hold retried messages, which come
after every fresh one, have one turn in ten.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable

from rmq_core.model.scores import LANE, RETRIED_MAX
from rmq_core.worker.alone import Alone
from rmq_core.worker.dispatch import Dispatch
from rmq_core.worker.fair_share import Gate
from rmq_core.worker.ranks import LAST, rank_of_head

AHEAD_S = 0.02
AHEAD_MOST = 1_000
"""Messages, for each that can run at once."""
SLOTS_AHEAD = 64
FAST_MS = 10.0
"""A better message is taken for a lane that is about to be free, where calls are not longer than this."""
RETRIED_EVERY = 10
SMOOTHING = 0.2


class Place:
    """One slot that is queued, or taking."""

    __slots__ = ("gone", "granted", "number", "rank", "retried")

    def __init__(self, rank: float, number: int, granted: asyncio.Future[None], retried: bool) -> None:
        self.rank = rank
        self.number = number
        self.granted = granted
        self.retried = retried
        """Whether it holds retried messages only."""
        self.gone = False
        """Whether nobody need wait for it: what it took is here, or it no longer wants to."""

    def __lt__(self, other: Place) -> bool:
        return (-self.rank, self.number) < (-other.rank, other.number)


class TakeQueue:
    """One for a topic; in the engine's loop only."""

    def __init__(self, dispatch: Dispatch, gate: Gate, alone: Alone, pumped: Callable[[], None]) -> None:
        self.holding = 0
        """Slots that take, or whose batch has not ended."""
        self.slots = 0
        """Slots that there are."""
        self._loop = asyncio.get_running_loop()
        self._taking: set[asyncio.Future[None]] = set()
        self._dispatch = dispatch
        self._gate = gate
        self._alone = alone
        self._numbers = itertools.count()
        self._waiting: list[Place] = []
        self._awaited: list[Place] = []
        self._pumped = pumped
        self._pump_is_due = False
        self._retried: deque[Place] = deque()
        self._grants = 0
        self._usual_take = 1.0

    # -- queueing

    def enter(self, head: int | None) -> Place:
        """A place by what the slot would hand out."""
        timed = self._dispatch.timed
        retried = not timed and head is not None and head <= RETRIED_MAX
        place = Place(rank_of_head(timed, head), next(self._numbers), self._loop.create_future(), retried)
        heapq.heappush(self._awaited, place)
        if self._few and self._may_hold_more() and not self._alone.wanted:
            self._grant(place)  # whoever else comes at this moment may, too
            self._dispatch.await_rank(self._best_awaited())
            return place
        heapq.heappush(self._waiting, place)
        if retried:
            self._retried.append(place)
        self._pump_soon()
        return place

    def leave(self, place: Place) -> None:
        """Waits no longer, whether it was granted or not."""
        if place.granted.done():
            self.taken(place, None)
            self.end()
        else:
            place.granted.cancel()
        self.forget(place)

    def taken(self, place: Place, count: int | None) -> None:
        """The take has come back; it brought so many. What it brought is waited for until `forget`."""
        if place.granted in self._taking:
            self._taking.remove(place.granted)
            if count is not None:
                self._usual_take += SMOOTHING * (count - self._usual_take)

    def forget(self, place: Place) -> None:
        """Nobody need wait for it: the slot has another place, or its messages are here, or there are none."""
        if not place.gone:
            place.gone = True
            self._pump_soon()

    def again(self, place: Place, head: int | None) -> Place:
        """The place of a slot that waits, whose head has changed; the moment to wait for stays the same."""
        rank = rank_of_head(self._dispatch.timed, head)
        if rank <= place.rank:
            return place
        better = Place(rank, place.number, place.granted, False)
        place.gone = True
        heapq.heappush(self._waiting, better)
        heapq.heappush(self._awaited, better)
        self._pump_soon()
        return better

    def end(self) -> None:
        """The slot holds nothing any more."""
        self.holding -= 1
        self._alone.end()
        self._pump_soon()

    def best_waiting(self) -> float:
        """What the best queued slot would hand out."""
        waiting = self._waiting
        while waiting and waiting[0].granted.done():
            heapq.heappop(waiting)
        return waiting[0].rank if waiting else LAST

    def floor(self) -> int | None:
        """The least priority to take: that of the best queued slot; None where there is room for all slots,
        or tenants take turns."""
        if self._few:
            return None
        best = self.best_waiting()
        return int(best) if RETRIED_MAX < best <= LANE else None

    def stuck(self, stuck: bool) -> None:
        """The call of a slot runs for too long, and keeps nobody from being alone; or has ended after all."""
        if stuck:
            self._alone.end()
        else:
            self._alone.begin()

    def limit(self, place: Place, most: int, least: int) -> int:
        """How many a slot may take, of the ``most`` that fit into a turn: less where many slots hold some."""
        lanes = self._gate.most
        if place.retried and max(self.best_waiting(), self._dispatch.best) > RETRIED_MAX:
            return max(1, min(most, round(self._usual_take)))
        if self.holding <= lanes:
            return most
        # Not all the same: they would come to their ends at the same moment, and nothing would be left to run.
        share = (self._ahead(lanes) + lanes * most) / self.holding * random.uniform(0.5, 1.5)
        return max(least, min(most, int(share)))

    # -- letting slots take

    def _pump_soon(self) -> None:
        """Something has changed: lets slots take that may, when all that changes at this moment has."""
        self._dispatch.await_rank(self._best_awaited())
        if not self._pump_is_due:
            self._pump_is_due = True
            self._loop.call_soon(self.pump)

    def pump(self) -> None:
        """Lets slots take that may."""
        self._pump_is_due = False
        while not self._alone.wanted and (place := self._next()) is not None:
            self._grant(place)
        self._pumped()

    def _grant(self, place: Place) -> None:
        self._grants += 1
        self._taking.add(place.granted)
        self.holding += 1
        self._alone.begin()
        place.granted.set_result(None)

    def _may_hold_more(self) -> bool:
        """Whether work may be here that no lane is free for: where calls are fast."""
        gate = self._gate
        return gate.message_ms is not None and gate.message_ms <= FAST_MS and self.holding < gate.most + SLOTS_AHEAD

    def _next(self) -> Place | None:
        best = self.best_waiting()
        if not self._waiting:
            return None
        place, lanes = self._waiting[0], self._gate.most
        if self.holding >= lanes:
            fast = self._gate.message_ms is not None and self._gate.message_ms <= FAST_MS
            if not (self._may_hold_more() and (self._few or not self._stocked(lanes))):
                outranks = best > self._dispatch.best and len(self._taking) < lanes
                if not (outranks and (fast or self._dispatch.running < lanes)):
                    return None
        if self._grants % RETRIED_EVERY == RETRIED_EVERY - 1:
            while self._retried and self._retried[0].granted.done():
                self._retried.popleft()
            if self._retried:
                return self._retried.popleft()
        return place

    @property
    def _few(self) -> bool:
        """Whether all slots of the topic may hold messages at once."""
        return self.slots <= self._gate.most + SLOTS_AHEAD

    def _stocked(self, lanes: int) -> bool:
        return self._dispatch.stock() + len(self._taking) * self._usual_take >= self._ahead(lanes)

    def _ahead(self, lanes: int) -> float:
        message_ms = self._gate.message_ms
        return 0.0 if message_ms is None else lanes * min(AHEAD_MOST, AHEAD_S * 1000 / max(message_ms, 0.001))

    def _best_awaited(self) -> float:
        awaited = self._awaited
        while awaited and awaited[0].gone:
            heapq.heappop(awaited)
        return awaited[0].rank if awaited else LAST
