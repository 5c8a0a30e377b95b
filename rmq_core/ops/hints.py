"""Which slots a pull consumer turns to: the topic's hint of heads, corrected by looks. Sans-IO.

`shared/hints.lua` writes the hint beside every change of a slot. It may be wrong (its writer died in between, an older
release sent, keys on several nodes are written in two steps), so nothing relies on it: a slot is looked at before it
is taken from, all slots are looked at by a consumer's first call, and some of them again every second.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rmq_core.errors import RMQError
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import NOT_DUE, Each, Operation, Request, on_slot

CANDIDATES_MOST = 128
LOOKS_AT_ONCE = 256
LOOK_EVERY_S = 1.0


class Candidates(NamedTuple):
    """Slots that seem to have something ready, the best first; when the next other one will (`NOT_DUE`: unknown)."""

    slots: list[int]
    now_ms: int
    next_due_ms: int


class Hints:
    """What one consumer knows of the hints of one topic."""

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self._looked_all = False
        self._next_slot = 0
        self._look_at = 0.0
        self._writes: list[Request] = []
        self._doubtful: set[int] = set()

    def candidates(self, topic: Topic, most: int) -> Operation[Candidates]:
        """One round trip: where ``most`` messages may be found."""
        slots = self._slots_to_look_at(topic)
        looks = [on_slot("look", self._keyspace, topic, slot) for slot in slots]
        heads, due = self._keyspace.hints(topic.name)
        wanted = min(most, CANDIDATES_MOST)
        read: list[Request] = [("TIME",), _ranked(heads, wanted, not topic.timed)]
        if not topic.timed:
            read.append(_ranked(due, wanted, False))
        replies = yield [*looks, *read]
        (seconds, micros), *hinted = replies[len(slots) :]
        now_ms = int(seconds) * 1000 + int(micros) // 1000
        known = dict(_pairs(hinted[0]))
        later = known if topic.timed else dict(_pairs(hinted[1]))
        # Whatever the hint says: it may lie on another node, and a server that had to be taught the script has run the
        # looks after the reads.
        for slot, looked in zip(slots, replies, strict=False):
            if self._keyspace.spread:
                self._writes += _as_looked(self._keyspace, topic, slot, looked)
            _, next_due_ms, head = looked
            known.pop(slot, None)
            later.pop(slot, None)
            if topic.timed and next_due_ms != NOT_DUE:
                known[slot] = next_due_ms
            elif not topic.timed and head:
                known[slot] = int(head)
            if not topic.timed and next_due_ms != NOT_DUE:
                later[slot] = next_due_ms
        ready = {slot: at for slot, at in known.items() if not topic.timed or at <= now_ms}
        found = sorted(ready, key=ready.__getitem__, reverse=not topic.timed)[:wanted]
        found += [slot for slot, at_ms in later.items() if at_ms <= now_ms and slot not in ready]
        next_due = min((at_ms for at_ms in later.values() if at_ms > now_ms), default=NOT_DUE)
        return Candidates([slot for slot in found if slot < topic.slots], now_ms, next_due)

    def due_writes(self) -> list[Request]:
        """What the looks of this call found, where the scripts could not write it: for the caller's next round trip.

        Never kept for a later call: a send may have noted something newer by then.
        """
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
        if not self._looked_all:
            self._looked_all = True
            self._look_at = now + LOOK_EVERY_S
            return range(topic.slots)
        if now < self._look_at:
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
    looks = [on_slot("look", keyspace, topic, slot) for slot in looked]
    replies = yield Each([*calls, *looks]) if isinstance(calls, Each) else [*calls, *looks]
    found = replies[len(calls) :]
    if getattr(replies, "reordered", False):  # see `transport.retry.Replies`: the looks may have been done first
        found = yield Each(looks) if isinstance(calls, Each) else looks
    several = [(slot, reply) for slot, reply in zip(looked, found, strict=True) if not isinstance(reply, RMQError)]
    yield [request for slot, reply in several for request in _as_looked(keyspace, topic, slot, reply)]
    return list(replies[: len(calls)])


def _as_looked(keyspace: Keyspace, topic: Topic, slot: int, reply: Sequence[Any]) -> Iterator[Request]:
    _, next_due_ms, head = reply
    look = None if next_due_ms == NOT_DUE else next_due_ms
    if topic.timed:
        yield _hint(keyspace, topic, 0, slot, look)
    else:
        yield _hint(keyspace, topic, 0, slot, head)
        yield _hint(keyspace, topic, 1, slot, look)  # of what is due already, too: a retry shows in no head


def _hint(keyspace: Keyspace, topic: Topic, which: int, slot: int, score: Any) -> Request:
    key = keyspace.hints(topic.name)[which]
    return ("ZREM", key, slot) if score in {None, b"", ""} else ("ZADD", key, score, slot)


def _ranked(key: str, most: int, descending: bool) -> Request:
    return ("ZREVRANGE" if descending else "ZRANGE", key, 0, most, "WITHSCORES")


def _pairs(reply: Sequence[Any]) -> Iterable[tuple[int, int]]:
    """Slots and scores; redis-py gives them as pairs or flat, by protocol."""
    if reply and isinstance(reply[0], (tuple, list)):
        return [(int(slot), int(float(score))) for slot, score in reply]
    return [(int(reply[i]), int(float(reply[i + 1]))) for i in range(0, len(reply), 2)]
