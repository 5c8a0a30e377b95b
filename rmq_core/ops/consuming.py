"""Taking by hand, as sans-IO operations: the pull consumer behind both clients and REST."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from heapq import merge
from itertools import chain, takewhile, zip_longest
from typing import NamedTuple

from rmq_core.errors import RMQError
from rmq_core.model.bounds import whole
from rmq_core.model.delivery import Delivery
from rmq_core.model.entry import EntryDelivery
from rmq_core.model.group import Group
from rmq_core.model.topic import Topic
from rmq_core.ops import permits, quotas
from rmq_core.ops.hints import CANDIDATES_MOST, Hints
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Each, Operation
from rmq_core.protocol.slot_calls import peek
from rmq_core.protocol.takes import TAKE_BYTES, cycle, read_cycle

TAKE_MAX = 1_000


class Taken(NamedTuple):
    """Deliveries, and when to look again if there are none (`NOT_DUE`: only when woken), by the Redis clock."""

    deliveries: list[Delivery]
    now_ms: int
    next_due_ms: int


SPARES = 2
"""So many slots more than are wanted are looked into: their hints may be wrong, too."""

PEEKED = 64
"""Of each of them so many are looked at, or the share of a larger take."""

ASKED_MOST = 3
"""So often permits are asked for, each time for slots behind those that got none."""


class _Peek(NamedTuple):
    """The scores of what a slot would hand out; ``lone``: its first may have to be taken alone; ``room``: for so many
    it has permits.
    """

    lone: int
    room: int
    scores: list[bytes]


class _Plan(NamedTuple):
    """How many to take from which slots; whose turns these are; of how many, so many have the share of retried ones."""

    takes: dict[int, int]
    turns: list[tuple[int, int]]
    share: tuple[int, int]


class _Trip(NamedTuple):
    """What one round trip to the slots brought; ``lone``: slots whose next message must be taken alone; ``short``: for
    how many more that are ready slots have no permits."""

    deliveries: list[Delivery]
    lone: list[int]
    peeks: dict[int, _Peek]
    permit: quotas.Permit | None
    short: dict[int, int]


class Consumer:
    """Takes from all slots of one topic; may be shared.

    A take is three round trips at most, whatever is found: (1) the hints, and some looks that correct them; (2) a look
    into the slots that they name, and a request where the rate is limited; (3) the takes. Where one slot will do it is
    taken from in the second one already. Who is left with nothing may ask again at once where others have taken all
    that was seen, or where more hints were wrong than are looked into; then more will be. With `Topic.concurrency`, who
    lacks permits asks for them in between.
    """

    def __init__(
        self,
        keyspace: Keyspace,
        topic: Topic,
        chance: Callable[[], float] = random.random,
        looks_again: bool = True,
    ) -> None:
        self.keyspace = keyspace
        self.topic = topic
        self._hints = Hints(keyspace, chance, looks_again)
        self._turns = self._hints.turns
        self._spares = SPARES
        self._unused_permits = 0

    def doubt(self, slot: int) -> None:
        """The slot is looked at by the next take, whatever its hint says."""
        self._hints.doubt(slot)

    def take(self, most: int, by: str = "") -> Operation[Taken]:
        """Up to ``most`` deliveries that are ready now: of the whole topic, those of the highest priority, or due for
        the longest. What was in flight when a process died comes alone. Of contents it brings `TAKE_BYTES` at most, but
        one message of each slot that is taken from. ``by``: '<host> <member>' of a group.
        """
        whole("max", most, 1, TAKE_MAX)
        topic = self.topic
        if topic.concurrency:  # more cannot come, and what comes first is to have the permits that others do not use
            most = min(most, topic.concurrency)
        wanted = most + self._spares
        found = yield from self._hints.candidates(topic, wanted)
        taken = Taken([], found.now_ms, found.next_due_ms)
        if topic.paused_at(found.now_ms) or not found.slots:
            if writes := self._hints.due_writes():
                yield writes
            if isinstance(topic, Group) and found.now_ms < topic.paused_until_ms:
                return taken._replace(next_due_ms=topic.paused_until_ms)
            return taken
        retried: set[int] = set()
        share = found.retried[: self._turns.retried(most)]
        slots = [*found.slots, *(slot for slot in share if slot not in found.slots)]
        if share and most == 1:
            retried.update(share)
            slots = [*share, *(slot for slot in slots if slot not in share)]
        first, *others = slots
        refused: dict[int, int] = {}
        if topic.rate_limit:
            asked = quotas.rate(self.keyspace, topic, most, self._unused_permits)
            trip = yield from self._trip({}, slots, most, [asked], by=by)
            self._unused_permits = 0
            most, wait_us = trip.permit or (0, 0)
            if not most:
                return taken._replace(next_due_ms=found.now_ms - (-wait_us // 1000))
        elif most == 1 or not others:
            level = found.levels.get(first, 0)
            before = self._turns.serve(level, first)
            if found.retried:
                self._turns.share(1, len(retried))
            trip = yield from self._trip({first: most}, others[: 2 * self._spares], most, by=by, retried=retried)
            if trip.short:
                trip = yield from self._once_more(trip, refused, by, retried)
                if refused and not trip.deliveries:
                    self._turns.give_back(level, first, before)
            if trip.deliveries or not (others or trip.lone):
                self._learn(len(_empty(trip)))
                return taken._replace(deliveries=trip.deliveries) if trip.deliveries else _later(taken, refused)
        else:
            trip = yield from self._trip({}, slots, most, by=by)
        plan = self._plan(trip, most, found.retried, retried)
        if topic.concurrency:
            plan = yield from self._permitted(plan, trip, most, found.retried, retried, refused)
        for level, slot in plan.turns:
            self._turns.serve(level, slot)
        if plan.share[0]:
            self._turns.share(*plan.share)
        planned = sum(plan.takes.values())
        empty = [slot for slot in _empty(trip) if slot not in plan.takes]
        unused = [quotas.rate(self.keyspace, topic, 0, most - planned)] if topic.rate_limit and planned < most else ()
        seen = trip.lone or any(peek.scores or peek.lone for peek in trip.peeks.values())
        # That corrects a hint that has turned out wrong, too.
        limits = plan.takes | dict.fromkeys(empty[:SPARES], 0)
        trip = yield from self._trip(limits, (), most, unused, by=by, retried=retried)
        if trip.short:  # who asked first may have been given what the others had
            trip = yield from self._once_more(trip, refused, by, retried)
        if topic.rate_limit:
            self._unused_permits = planned - len(trip.deliveries)
        missed = not trip.deliveries and wanted < CANDIDATES_MOST and len(found.slots) >= wanted
        self._learn(CANDIDATES_MOST if missed else len(empty))
        if trip.deliveries:
            return taken._replace(deliveries=trip.deliveries)
        return taken._replace(next_due_ms=found.now_ms) if seen or missed else _later(taken, refused)

    def _permitted(
        self,
        plan: _Plan,
        found: _Trip,
        most: int,
        others: Sequence[int],
        retried: set[int],
        refused: dict[int, int],
    ) -> Operation[_Plan]:
        """What may be taken of a plan, once its slots have asked for the permits they lack, the best first: only what
        gets none makes way for what comes after it. ``refused``: its slots are put there, with when to ask again.
        """
        for _ in range(ASKED_MOST):
            short = {slot: n - found.peeks[slot].room for slot, n in plan.takes.items() if slot in found.peeks}
            short = {slot: n for slot, n in short.items() if n > 0}
            waits = (yield from permits.widen(self.keyspace, self.topic, short, chooses=True)) if short else {}
            refused |= waits
            for slot in short:
                looked = found.peeks.pop(slot)
                if slot not in waits:
                    found.peeks[slot] = looked._replace(room=plan.takes[slot])
                elif looked.room:
                    found.peeks[slot] = looked._replace(scores=looked.scores[: looked.room])
            if not waits:
                break
            plan = self._plan(found, most, others, retried)
        return plan

    def _once_more(self, trip: _Trip, refused: dict[int, int], by: str, retried: set[int]) -> Operation[_Trip]:
        """With what only lacked permits, where some are given. What has come already is not lost to an error."""
        try:
            waits = yield from permits.widen(self.keyspace, self.topic, trip.short, chooses=True)
            refused |= waits
            plan = {slot: n for slot, n in trip.short.items() if slot not in waits}
            if not plan:
                return trip
            most, company = sum(plan.values()), bool(trip.deliveries)
            more = yield from self._trip(plan, (), most, by=by, retried=retried, company=company)
        except RMQError:
            if not trip.deliveries:
                raise
            return trip
        deliveries = [*trip.deliveries, *more.deliveries]
        if not self.topic.fair:  # else each slot's are in their turns
            deliveries = list(self._in_order([deliveries]))
        return trip._replace(deliveries=deliveries, lone=[*trip.lone, *more.lone])

    def _learn(self, wrong: int) -> None:
        """So many of the slots that the hints named had nothing to give."""
        self._spares = min(CANDIDATES_MOST, max(SPARES, 2 * wrong))

    def _plan(self, found: _Trip, most: int, others: Sequence[int], retried: set[int]) -> _Plan:
        """How many to take from which slots: what comes first in the topic, up to what must be taken alone. Of
        ``others``, which have retried messages only, some have their share; they are put into ``retried``.
        """
        retried.clear()
        if found.lone:
            return _Plan({found.lone[0]: 1}, [], (0, 0))
        lone = {slot for slot, peek in found.peeks.items() if peek.lone}
        heads = self._turns.heads({slot: peek.scores for slot, peek in found.peeks.items()}, self.topic.timed)
        best, share = heads[:most], (0, 0)
        if others and best and best[-1][4]:
            busy = {slot for *_, slot, _ in best}
            elsewhere = set(others) - busy
            shared = [head for head in heads[most:] if not head[4] and head[3] in elsewhere][
                : self._turns.retried(most)
            ]
            best[most - len(shared) :] = shared
            retried.update(slot for *_, slot, _ in shared)
            if shared and shared[0][3] in lone:
                best = shared[:1]
            share = (len(best), len(shared))
        best = list(takewhile(lambda head: head[3] not in lone, best)) or best[:1]
        takes = dict(Counter(slot for *_, slot, _ in best)) or dict.fromkeys([*lone, *found.peeks][:1], 1)
        return _Plan(takes, [(level, slot) for *_, slot, level in best], share)

    def _trip(
        self,
        plan: dict[int, int],
        slots: Sequence[int],
        most: int,
        rate: Sequence[Call] = (),
        *,
        by: str = "",
        retried: Collection[int] = (),
        company: bool = False,
    ) -> Operation[_Trip]:
        """Takes as many from each slot as planned, of ``retried`` only what was retried, and looks into ``slots``, of
        which ``most`` are wanted. ``company``: something was taken before, by the same take.
        """
        share = min(most, PEEKED + 2 * most // len(slots)) if slots else 0
        # One is taken alone: it has no company that could kill its process.
        alone = sum(plan.values()) == 1 and not company
        writes = self._hints.due_writes()
        peeks = [peek(self.keyspace, self.topic, slot, share) for slot in slots]
        bytes_each = TAKE_BYTES // max(1, sum(1 for limit in plan.values() if limit))
        cycles = [
            cycle(
                self.keyspace,
                self.topic,
                slot,
                limit,
                alone=alone,
                by=by,
                retried=slot in retried,
                most_bytes=bytes_each,
            )
            for slot, limit in plan.items()
        ]
        replies = yield Each([*writes, *rate, *peeks, *cycles])
        trip = _Trip([], [], {}, None, {})
        errors = [reply for reply in replies if isinstance(reply, RMQError)]
        at = len(replies) - len(cycles)
        of_slots: list[list[Delivery]] = []
        for slot, reply in zip(plan, replies[at:], strict=True):
            if not isinstance(reply, RMQError):
                cycled = read_cycle(self.topic, slot, reply)
                if by:
                    _sign(cycled.deliveries, by)
                of_slots.append(cycled.deliveries)
                self._hints.doubt(slot)
                if cycled.short:
                    trip.short[slot] = plan[slot] - len(cycled.deliveries)
                if cycled.alone and plan[slot]:
                    trip.lone.append(slot)
        trip.deliveries.extend(self._in_order(of_slots))
        if errors:
            # What was taken is in flight already, and the trouble will not have gone away by the next call.
            if trip.deliveries:
                return trip
            if self.topic.rate_limit:
                self._unused_permits = most
            raise errors[0]
        for slot, (flags, *scores) in zip(slots, replies[at - len(slots) : at], strict=True):
            trip.peeks[slot] = _Peek(flags % 2, flags // 2, scores)
        return trip._replace(permit=quotas.Permit(*replies[len(writes)]) if rate and not plan else None)

    def _in_order(self, of_slots: list[list[Delivery]]) -> Iterable[Delivery]:
        if self.topic.fair:  # each slot's stay in their turns
            return (each for turn in zip_longest(*of_slots) for each in turn if each is not None)
        if self.topic.is_group:  # each slot's stay as they were handed out: what came back before what is new
            return merge(*of_slots, key=lambda delivery: int(delivery.score))
        return sorted(chain(*of_slots), key=lambda delivery: float(delivery.score), reverse=not self.topic.timed)


def _later(taken: Taken, refused: dict[int, int]) -> Taken:
    """Nothing has come; slots that were ``refused`` permits are worth another try."""
    return taken._replace(next_due_ms=taken.now_ms + min(refused.values())) if refused else taken


def _empty(found: _Trip) -> list[int]:
    return [slot for slot, peek in found.peeks.items() if not peek.scores]


def _sign(deliveries: Sequence[Delivery], by: str) -> None:
    """Whoever settles them does so in the name of who took them."""
    for delivery in deliveries:
        if isinstance(delivery, EntryDelivery):
            delivery.signature = by
