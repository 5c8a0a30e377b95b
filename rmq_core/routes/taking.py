"""Takes for a route: from all slots that have something, for between them there is no order to keep."""

from __future__ import annotations

import time

from rmq_core.errors import RMQError
from rmq_core.model.delivery import Delivery
from rmq_core.model.topic import Topic
from rmq_core.ops import permits, quotas
from rmq_core.ops.consuming import Taken
from rmq_core.ops.hints import CANDIDATES_MOST, Hints
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Each, Operation
from rmq_core.protocol.takes import TAKE_BYTES, cycle, read_cycle

OF_A_SLOT_MOST = 250
BLOCKED_S = 1.0
"""So long no more is asked of a slot of which something is under way; its runner may be dead."""


class RouteTaker:
    """Takes from the slots of one queue; never from one of which something is in flight, or waits for its next try.

    ``by``: who, for the journal and the group's members.
    """

    def __init__(self, keyspace: Keyspace, queue: Topic, by: str = "") -> None:
        self._keyspace = keyspace
        self._hints = Hints(keyspace)
        self._by = f"route {by}" if by else ""
        self._blocked: dict[int, float] = {}
        self.queue = queue

    def doubt(self, slot: int) -> None:
        """The slot is looked at by the next take, whatever its hint says."""
        self._hints.doubt(slot)
        self._blocked.pop(slot, None)

    def take(self, most: int) -> Operation[Taken]:
        """Up to ``most`` deliveries that are ready now, each slot's in its order. Raises `Fenced`."""
        now = time.monotonic()
        self._blocked = {slot: until for slot, until in self._blocked.items() if until > now}
        taken = yield from self._look(most)
        for _ in range(self.queue.slots // CANDIDATES_MOST):
            known = len(self._blocked)
            if taken.deliveries or not known:
                break
            # Behind slots that wait for whoever took from them others may have something.
            taken = yield from self._look(most)
            if len(self._blocked) == known:
                break
        return taken

    def _look(self, most: int) -> Operation[Taken]:
        """From the best slots of those that are not known to wait."""
        queue = self.queue
        found = yield from self._hints.candidates(queue, CANDIDATES_MOST, self._blocked)
        taken = Taken([], found.now_ms, found.next_due_ms)
        slots = found.slots[:most]
        if writes := self._hints.due_writes():
            yield writes
        if queue.paused or not slots:
            return taken
        if queue.rate_limit:
            permit = yield from quotas.ask(self._keyspace, queue, most)
            most = permit.messages
            if not most:
                return taken._replace(next_due_ms=found.now_ms - (-permit.wait_us // 1000))
        for slot in slots:
            self._hints.turns.serve(found.levels.get(slot, 0), slot)
        limits = {slot: min(OF_A_SLOT_MOST, -(-(most - at) // len(slots))) for at, slot in enumerate(slots)}
        lone: list[int] = []
        short: dict[int, int] = {}
        deliveries = yield from self._cycles({slot: limit for slot, limit in limits.items() if limit}, lone, short)
        if short:
            waits = yield from permits.widen(self._keyspace, queue, short)
            more = {slot: n for slot, n in short.items() if slot not in waits}
            deliveries += (yield from self._cycles(more, lone)) if more else []
        if lone and len(deliveries) < most:
            # What was in flight when a process died is handed out alone; what a route does with it kills nobody.
            deliveries += yield from self._cycles(dict.fromkeys(lone[: most - len(deliveries)], 1), None)
        if queue.rate_limit:
            yield from quotas.give_back(self._keyspace, queue, most - len(deliveries))
        if deliveries:
            return taken._replace(deliveries=deliveries, next_due_ms=found.now_ms)
        return taken

    def _cycles(
        self, limits: dict[int, int], lone: list[int] | None, short: dict[int, int] | None = None
    ) -> Operation[list[Delivery]]:
        """``lone``: what is found to be taken alone is put there; None: it is taken so. ``short``: for what there
        was no permit."""
        alone, most_bytes = lone is None, TAKE_BYTES // max(1, len(limits))
        replies = yield Each(
            cycle(self._keyspace, self.queue, slot, limit, alone=alone, waits=True, by=self._by, most_bytes=most_bytes)
            for slot, limit in limits.items()
        )
        deliveries: list[Delivery] = []
        problem: RMQError | None = None
        for slot, reply in zip(limits, replies, strict=True):
            if isinstance(reply, RMQError):
                problem = reply
                continue
            cycled = read_cycle(self.queue, slot, reply)
            deliveries += cycled.deliveries
            if cycled.short and short is not None:
                short[slot] = limits[slot] - len(cycled.deliveries)
                continue
            self._hints.doubt(slot)
            if lone is not None and cycled.alone and not cycled.deliveries:
                lone.append(slot)
            elif not cycled.deliveries and cycled.head is not None:
                self._blocked[slot] = time.monotonic() + BLOCKED_S
        # What was taken is in flight already, and the trouble will not have gone away by the next call.
        if problem is not None and not deliveries:
            raise problem
        return deliveries
