"""Repairs of what should never happen, as sans-IO operations: for what a reconciliation finds.

All of them look again before they change anything, so a finding that is out of date does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from rmq_core.model.ids import MessageRef, id_from_text
from rmq_core.model.scores import SHIFT
from rmq_core.model.stats import ENDED
from rmq_core.model.topic import Topic
from rmq_core.ops.actions import ActionResult, ActionStatus
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, Request, batches, script
from rmq_core.protocol.slot_calls import reap
from rmq_core.protocol.takes import policy

MOVED_AT_ONCE = 500
ROUNDS_MOST = 1_000
REPAIRED_AT_ONCE = 250
_POOLS = ("body", "failed", "priority", "replaced", "dead_record")
_STATUSES: dict[int, ActionStatus] = {0: "not_found", 1: "done", 2: "in_flight"}


class Repair(NamedTuple):
    """What a message must be. ``seen``: its scores in store, retry, prepare and dead when it was found otherwise.
    ``copies``: packed as ``shared/records.lua`` has it. ``counts_lost``: the counters were lost with it.
    """

    ref: MessageRef
    seen: tuple[float | None, ...]
    copies: tuple[bytes, ...]
    counts_lost: bool = False


class Lost(NamedTuple):
    """A message to put back: ``score`` is its due time (ms) or priority, ``body`` as in the body pool (``b""``: none,
    the content is the id)."""

    ref: MessageRef
    score: int
    body: bytes


def drop_orphans(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Operation[list[ActionResult]]:
    """Bodies and failure records without a message go. ``in_flight``: a queue holds the message after all."""
    results: list[ActionResult] = []
    for slot in sorted({ref.slot for ref in refs}):
        for some in batches(ref for ref in refs if ref.slot == slot):
            ids = [id_from_text(ref.id) for ref in some]
            (statuses,) = yield [Call(script("drop_orphan"), keyspace.slot_keys(topic.name, slot), [topic.shape, *ids])]
            results += [ActionResult(ref, _STATUSES[status]) for ref, status in zip(some, statuses, strict=True)]
    return results


def roll_back(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Operation[list[ActionResult]]:
    """Deliveries beyond their visibility timeout go back, as every look at their slots would do.

    ``in_flight``: its time is not over; ``not_found``: it was not in flight.
    """
    before = yield from _taken(keyspace, topic, refs)
    for slot in {ref.slot for ref, score in zip(refs, before, strict=True) if score is not None}:
        for _ in range(ROUNDS_MOST):
            ((_, _, expired, *_),) = yield [reap(keyspace, topic, slot, MOVED_AT_ONCE)]
            if expired < MOVED_AT_ONCE:
                break
    after = yield from _taken(keyspace, topic, refs)
    return [ActionResult(ref, _became(old, new)) for ref, old, new in zip(refs, before, after, strict=True)]


def set_right(
    keyspace: Keyspace, topic: Topic, wanted: Sequence[Repair], *, untrue: bool = False
) -> Operation[list[ActionResult]]:
    """Makes messages what they must be, and has the journal take stock of them. ``in_flight``: it has moved since.
    ``untrue``: the journal has told of them what never was, so its slot's counters are not held against it any more."""
    results = {each.ref: ActionResult(each.ref, "in_flight") for each in wanted}
    groups: dict[tuple[int, bool], list[Repair]] = {}
    for each in wanted:
        groups.setdefault((each.ref.slot, each.counts_lost), []).append(each)
    for (slot, counts_lost), group in groups.items():
        for some in batches(group, REPAIRED_AT_ONCE):
            args: list[object] = [*policy(topic), keyspace.wake(topic.name), slot, 2 if untrue else int(counts_lost)]
            for each in some:
                seen = " ".join("-" if score is None else repr(float(score)) for score in each.seen)
                args += (id_from_text(each.ref.id), seen, len(each.copies), *each.copies)
            (statuses,) = yield [Call(script("repair"), keyspace.slot_keys(topic.name, slot), args)]
            for each, status in zip(some, statuses, strict=True):
                results[each.ref] = ActionResult(each.ref, _STATUSES[status])
    return [results[each.ref] for each in wanted]


def take_stock(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Operation[list[ActionResult]]:
    """Has the journal start again with what the queues hold of messages; nothing else changes."""
    wanted = []
    for ref, seen in zip(refs, (yield from scores(keyspace, topic, refs)), strict=True):
        wanted.append(Repair(ref, seen, as_it_is(seen)))
    return (yield from set_right(keyspace, topic, wanted, untrue=True))


def as_it_is(seen: Sequence[float | None]) -> tuple[bytes, ...]:
    """Copies that are to stay as they are, packed; ``seen``: the scores in store, retry, prepare and dead."""
    return tuple(
        b"%c %b - - ? ? " % (letter, repr(float(score)).encode())
        for letter, score in zip(b"srpd", seen, strict=True)
        if score is not None
    )


def unchanged(keyspace: Keyspace, topic: Topic, wanted: Sequence[Repair]) -> Operation[list[bool]]:
    """Whether each message is still where it was when it was found."""
    now = yield from scores(keyspace, topic, [each.ref for each in wanted])
    return [each.seen == scores for each, scores in zip(wanted, now, strict=True)]


class Miscount(NamedTuple):
    """What is wrong with a slot's counters. ``gap``: of its ledger; ``by``: what of that no message explains;
    ``counters``: what each counts more than the journal tells; ``corrected``: how often they had been corrected then
    (None: nobody knows)."""

    gap: int
    by: int
    counters: Mapping[str, int] = MappingProxyType({})
    corrected: int | None = None


def correct_counters(keyspace: Keyspace, topic: Topic, slot: int, wrong: Miscount) -> Operation[bool]:
    """Corrects a slot's counters; False: the gap is another one by now, or they were corrected since."""
    rest = wrong.by + sum(more for name, more in wrong.counters.items() if name in ENDED)
    args: list[object] = [topic.shape, wrong.gap, wrong.by, rest]
    args.append("" if wrong.corrected is None else wrong.corrected)
    for name, more in wrong.counters.items():
        args += (name, more)
    (done,) = yield [Call(script("repair_counters"), keyspace.slot_keys(topic.name, slot), args)]
    return bool(done)


def scores(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Operation[list[tuple[float | None, ...]]]:
    """Of each message, those in store, retry, prepare and dead."""
    found: list[tuple[float | None, ...]] = []
    for some in batches(refs):
        requests: list[Request] = []
        for ref in some:
            keys, raw = keyspace.slot(topic.name, ref.slot), id_from_text(ref.id)
            requests += [("ZSCORE", key, raw) for key in (keys.store, keys.retry, keys.prepare, keys.dead)]
        replies = yield requests
        known = [None if score is None else float(score) for score in replies]
        found += [tuple(known[at : at + 4]) for at in range(0, len(known), 4)]
    return found


def put_back(keyspace: Keyspace, topic: Topic, lost: Iterable[Lost]) -> Operation[list[ActionResult]]:
    """Messages that were accepted and are nowhere wait again; the counters count them still. ``in_flight``: a queue
    holds it after all."""
    wanted = [Repair(each.ref, (None,) * 4, (_waiting(each),)) for each in lost]
    return (yield from set_right(keyspace, topic, wanted))


def in_a_queue(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Operation[list[bool]]:
    """Whether any queue of its slot holds each message."""
    found: list[bool] = []
    for some in batches(refs):
        requests: list[Request] = []
        for ref in some:
            keys, raw = keyspace.slot(topic.name, ref.slot), id_from_text(ref.id)
            requests += [("ZSCORE", key, raw) for key in (keys.store, keys.retry, keys.prepare, keys.dead)]
        replies = yield requests
        found += [any(score is not None for score in replies[at : at + 4]) for at in range(0, len(replies), 4)]
    return found


def overdue(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Operation[list[bool]]:
    """Whether each message is in flight beyond its visibility timeout."""
    ((seconds, _),) = yield [("TIME",)]
    limit = int(seconds) * 1000 - topic.visibility_timeout_ms
    scores = yield from _taken(keyspace, topic, refs)
    return [score is not None and score // SHIFT <= limit for score in scores]


def dead(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Operation[list[bool]]:
    """Whether each message is a dead letter."""
    found: list[bool] = []
    for some in batches(refs):
        replies = yield [("ZSCORE", keyspace.slot(topic.name, ref.slot).dead, id_from_text(ref.id)) for ref in some]
        found += [score is not None for score in replies]
    return found


def pooled(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Operation[list[bool]]:
    """Whether the pools know anything of each message."""
    found: list[bool] = []
    for some in batches(refs):
        requests: list[Request] = []
        for ref in some:
            keys, raw = keyspace.slot(topic.name, ref.slot), id_from_text(ref.id)
            requests += [("HEXISTS", getattr(keys, pool), raw) for pool in _POOLS]
        replies = yield requests
        each = len(_POOLS)
        found += [any(replies[at : at + each]) for at in range(0, len(replies), each)]
    return found


def _taken(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Operation[list[int | None]]:
    scores: list[int | None] = []
    for some in batches(refs):
        replies = yield [("ZSCORE", keyspace.slot(topic.name, ref.slot).prepare, id_from_text(ref.id)) for ref in some]
        scores += [None if score is None else int(float(score)) for score in replies]
    return scores


def _became(old: int | None, new: int | None) -> ActionStatus:
    if old is None:
        return "not_found"
    return "in_flight" if new == old else "done"


def _waiting(message: Lost) -> bytes:
    """A copy in store, packed as ``shared/records.lua`` has it."""
    size = str(len(message.body)) if message.body else "-"
    return f"s {message.score} - - - {size} ".encode() + message.body
