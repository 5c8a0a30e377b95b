"""Which slots a pull consumer turns to: the topic's hint of heads, corrected by looks. Sans-IO.

`shared/hints.lua` writes the hint beside every change of a slot; where keys are on several nodes, the client does, with
what the scripts reply (`hints_note.lua`): what a look saw never takes back what a later send has noted. The hint may
be wrong all the same (its writer died in between, an older release sent), so nothing relies on it: a slot is looked at
before it is taken from, all slots are looked at by a consumer's first call, and some of them again every second.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from rmq_core.errors import RMQError
from rmq_core.model.topic import Topic
from rmq_core.ops.turns import Turns, level_of
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import BATCH_MAX, Call, Each, Operation, Request, batches, script
from rmq_core.protocol.slot_calls import on_slot, reap
from rmq_core.protocol.takes import NOT_DUE

CANDIDATES_MOST = 128
RETRIED_READ = 16
LOOKS_AT_ONCE = 256
READ_LEAST = 16
"""So many heads are read for one message, too: that many equal slots take turns strictly."""
LOOK_EVERY_S = 1.0


class Candidates(NamedTuple):
    """Slots that seem to have something ready, the best first; when the next other one will (`NOT_DUE`: unknown).

    ``levels``: of those whose head is known, what they take turns by; ``retried``: slots that seem to hold retried
    messages only, while others hold fresh ones.
    """

    slots: list[int]
    now_ms: int
    next_due_ms: int
    levels: dict[int, int]
    retried: list[int]


class _Note(NamedTuple):
    """What was found in a slot at a time of its node; ``how``: see `hints_note.lua`."""

    slot: int
    at_ms: int
    head: Any
    due: Any
    how: str


class Hints:
    """What one consumer knows of the hints of one topic. ``looks_again``: at slots every second, not at first only."""

    def __init__(
        self, keyspace: Keyspace, chance: Callable[[], float] = random.random, looks_again: bool = True
    ) -> None:
        self._keyspace = keyspace
        self._chance = chance
        self._looks_again = looks_again
        self.turns = Turns(chance)
        self._looked_all = False
        self._next_slot = 0
        self._look_at = 0.0
        self._writes: list[Call] = []
        self._doubtful: set[int] = set()

    def candidates(self, topic: Topic, most: int, without: Collection[int] = ()) -> Operation[Candidates]:
        """One round trip: where ``most`` messages may be found, not looking at the slots ``without``."""
        slots = self._slots_to_look_at(topic)
        looks = [on_slot("next_due", self._keyspace, topic, slot) for slot in slots]
        wanted = min(most, CANDIDATES_MOST)
        # What is looked at may stand too high in the hint, and must keep no other slot out.
        read = wanted + min(len(slots), LOOKS_AT_ONCE) + len(without)
        *found, (now_ms, heads, dues) = yield [*looks, _read(self._keyspace, topic, read, self._chance())]
        known = dict(_pairs(heads))
        later = known if topic.timed else dict(_pairs(dues))
        # Whatever the hint says: it may lie on another node, and a server that had to be taught the script has run the
        # looks after the reads.
        for slot, (_, next_due_ms, head, event_ms, stepped) in zip(slots, found, strict=True):
            known.pop(slot, None)
            later.pop(slot, None)
            if stepped:  # the clock has stepped back, and nobody has looked yet
                self._writes.append(reap(self._keyspace, topic, slot))
                self.doubt(slot)
                if topic.timed and not head:
                    continue
            if topic.timed and next_due_ms != NOT_DUE:
                known[slot] = next_due_ms
            elif not topic.timed and head:
                known[slot] = int(head)
            if not topic.timed and event_ms != NOT_DUE:
                later[slot] = event_ms
        if self._keyspace.spread:
            self._writes += _noting(self._keyspace, topic, map(partial(_looked, topic), slots, found))
        for slot in without:
            known.pop(slot, None)
            later.pop(slot, None)
        ready = {slot: at for slot, at in known.items() if not topic.timed or at <= now_ms}
        due = [slot for slot, at_ms in later.items() if at_ms <= now_ms and slot not in ready and slot < topic.slots]
        next_due = min((at_ms for at_ms in later.values() if at_ms > now_ms), default=NOT_DUE)
        levels = {slot: level_of(at, topic.timed) for slot, at in ready.items() if slot < topic.slots}
        best = self._in_turn(levels, topic.timed)
        retried: list[int] = []
        if not topic.timed and best and levels[best[0]]:
            retried = self._in_turn(dict.fromkeys([*(slot for slot in best if not levels[slot]), *due], 0), topic.timed)
        return Candidates(best[:wanted] + due, now_ms, next_due, levels, retried)

    def _in_turn(self, levels: dict[int, int], timed: bool) -> list[int]:
        """The best first, and of equals who is next."""
        sign, order = 1 if timed else -1, self.turns.order
        return sorted(sorted(levels), key=lambda slot: (sign * levels[slot], order(levels[slot], slot)))

    def due_writes(self) -> list[Call]:
        """For the caller's next round trip: what is to be done about what the looks of this call found."""
        writes, self._writes = self._writes, []
        return writes

    def doubt(self, slot: int) -> None:
        """The slot's hint may be wrong: where the scripts cannot write it, the next call looks at the slot itself."""
        if self._keyspace.spread:
            self._doubtful.add(slot)

    def _slots_to_look_at(self, topic: Topic) -> Sequence[int]:
        doubtful, self._doubtful = self._doubtful, set()
        return sorted(doubtful.union(self._next_slots(topic)))

    def _next_slots(self, topic: Topic) -> Iterable[int]:
        now = time.monotonic()
        if topic.is_group:  # additions to the stream write no hint of its groups
            first, self._next_slot = self._next_slot, (self._next_slot + LOOKS_AT_ONCE) % topic.slots
            return [slot % topic.slots for slot in range(first, first + min(LOOKS_AT_ONCE, topic.slots))]
        if not self._looked_all:
            self._looked_all = True
            self._look_at = now + LOOK_EVERY_S
            return range(topic.slots)
        if now < self._look_at or not self._looks_again:
            return ()
        self._look_at = now + LOOK_EVERY_S
        first, self._next_slot = self._next_slot, (self._next_slot + LOOKS_AT_ONCE) % topic.slots
        return [slot % topic.slots for slot in range(first, first + min(LOOKS_AT_ONCE, topic.slots))]


def with_looks(
    keyspace: Keyspace, topic: Topic, slots: Sequence[int], calls: Sequence[Request]
) -> Operation[list[Any]]:
    """The replies to calls that may bring messages of these slots forward.

    Where the scripts cannot write the hint, the slots are looked at behind them, and the client writes it. Errors are
    raised, or are replies where the calls are an `Each`.
    """
    if not keyspace.spread or not calls:
        return (yield calls)
    looked = sorted(set(slots))
    looks = [on_slot("next_due", keyspace, topic, slot) for slot in looked]
    replies = yield Each([*calls, *looks]) if isinstance(calls, Each) else [*calls, *looks]
    found = replies[len(calls) :]
    if getattr(replies, "reordered", False):  # see `transport.retry.Replies`: the looks may have been done first
        found = yield Each(looks) if isinstance(calls, Each) else looks
    seen = [(slot, reply) for slot, reply in zip(looked, found, strict=True) if not isinstance(reply, RMQError)]
    yield _noting(keyspace, topic, [_looked(topic, slot, reply) for slot, reply in seen])
    return list(replies[: len(calls)])


def note_heads(
    keyspace: Keyspace, topic: Topic, calls: Sequence[Call], replies: Sequence[Sequence[Any]]
) -> Operation[None]:
    """Tells the topic's hint what the replies of sends say, where the scripts could not."""
    if not keyspace.spread:
        return
    if getattr(replies, "replayed", False):  # what the first answer would have said is lost
        slots = sorted({call.fixed[2] for call in calls})
        found = yield [on_slot("next_due", keyspace, topic, slot) for slot in slots]
        yield _noting(keyspace, topic, [_looked(topic, slot, reply) for slot, reply in zip(slots, found, strict=True)])
        return
    notes = []
    for call, reply in zip(calls, replies, strict=True):
        if type(reply) is list and reply[2]:
            head, at_ms = reply[2].split()
            notes.append(_Note(call.fixed[2], int(at_ms), head, "", "more"))
    if notes:
        yield _noting(keyspace, topic, notes)


def _looked(topic: Topic, slot: int, reply: Sequence[Any]) -> _Note:
    now_ms, next_due_ms, head, event_ms, _ = reply
    if topic.timed:
        return _Note(slot, now_ms, "" if next_due_ms == NOT_DUE else next_due_ms, "", "whole")
    event = "" if event_ms == NOT_DUE else event_ms  # of what is due already, too: a retry shows in no head
    return _Note(slot, now_ms, head, event, "whole")


def _noting(keyspace: Keyspace, topic: Topic, notes: Iterable[_Note]) -> list[Call]:
    """``notes`` as calls, which may arrive late."""
    keys, timed = keyspace.hints(topic.name), int(topic.timed)
    some = batches(notes, BATCH_MAX)
    return [Call(script("hints_note"), keys, [timed, *(value for note in part for value in note)]) for part in some]


def _read(keyspace: Keyspace, topic: Topic, most: int, chance: float) -> Call:
    args = [int(topic.timed), max(most, READ_LEAST), most, int(chance * 2**31), RETRIED_READ]
    return Call(script("hints_read"), keyspace.hints(topic.name)[:2], args)


def _pairs(flat: Sequence[bytes]) -> Iterable[tuple[int, int]]:
    """Slots and scores."""
    return [(int(flat[i]), int(float(flat[i + 1]))) for i in range(0, len(flat), 2)]
