"""Timeouts and due retries of slots that nobody looks after: their owner is gone, or they never had one; old trash.

Whoever takes from a slot does this on the way, at the latest a second after it is due. So what has been overdue for
longer shows by itself that nobody does, whatever heartbeats and owner nodes say. It needs no epoch and is safe to do
at any time, by any number of keepers.
"""

from __future__ import annotations

from collections.abc import Iterable

from rmq_core.model.entry import EntryId
from rmq_core.model.samples import SlotSample, TopicSample
from rmq_core.model.topic import Topic, Trim
from rmq_core.ops import fair_marks, journal_marks
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation, batches
from rmq_core.protocol.slot_calls import reap
from rmq_core.protocol.streams import slot_length, trim

OVERDUE_MS = 2_000
AHEAD_MS = 2_000
"""Receipts run ahead of the clock by less than this; see `shared/stepping.lua`."""
MOVED_AT_ONCE = 500
SLOTS_AT_ONCE = 64
NEARLY = 10_000
"""Entries that a slot trimmed nearly may hold beside its share before somebody looks after it."""


def overdue_ms(topic: Topic, slot: SlotSample, now_ms: int) -> int:
    """For how long a timeout, a retry, the end of a hold or of an order of a slot has been due; 0 when none is."""
    due = []
    if slot.oldest_taken_ms is not None:
        due.append(slot.oldest_taken_ms + topic.visibility_timeout_ms)
    if slot.next_retry_ms is not None:
        due.append(slot.next_retry_ms)
    if slot.hold_mark is not None and slot.hold_ends_ms is not None:
        due.append(slot.hold_ends_ms)
    if slot.waits_since_ms is not None and not topic.in_order:
        due.append(slot.waits_since_ms)  # it was switched off since
    return max(0, now_ms - min(due)) if due else 0


def stepped(slot: SlotSample, now_ms: int) -> bool:
    """Whether something was taken, or began to wait, in the future: the clock has stepped back. The slot is to be
    visited at once, and again until its script has seen that for one timeout and walked through all that waits.
    """
    ahead_ms = now_ms + AHEAD_MS
    if slot.oldest_taken_ms is not None and slot.oldest_taken_ms > ahead_ms:
        return True
    return slot.retrying > 0 and (slot.walked or slot.waits_given_ms > ahead_ms)


def trash_overdue_ms(topic: Topic, slot: SlotSample, now_ms: int) -> int:
    """For how long the oldest of a slot's trash has been past restoring; 0 when none is."""
    oldest = slot.oldest_trash_ms
    return 0 if oldest is None else max(0, now_ms - oldest - topic.undo_ms)


def reap_overdue(
    keyspace: Keyspace, samples: Iterable[TopicSample], overdue_by_ms: int = OVERDUE_MS
) -> Operation[dict[str, int]]:
    """Moves what is overdue by more than ``overdue_by_ms``; how many messages, by topic. Empties old trash and trims
    streams, unreported; switches journals and turns where that was left half done.

    For the keeper, which samples anyway.
    """
    samples = list(samples)
    overdue = [
        (sample.topic, slot.slot)
        for sample in samples
        for slot in sample.with_deadlines
        if stepped(slot, sample.at_ms)
        or overdue_ms(sample.topic, slot, sample.at_ms) > overdue_by_ms
        or trash_overdue_ms(sample.topic, slot, sample.at_ms) > overdue_by_ms
    ]
    for sample in samples:
        # Of all slots only where one of the marks is old: this is asked of every topic each second.
        if any(fair_marks.outdated(sample.topic, mark) for mark in sample.fair_marks):
            unfair = [slot.slot for slot in sample.slots if fair_marks.outdated(sample.topic, slot.fair_mark)]
            yield from fair_marks.set_marks(keyspace, sample.topic, unfair)
        if not any(journal_marks.outdated(sample.topic, mark) for mark in sample.journal_marks):
            continue
        unmarked = [slot.slot for slot in sample.slots if journal_marks.outdated(sample.topic, slot.journal_mark)]
        yield from journal_marks.set_marks(keyspace, sample.topic, unmarked)
    yield from _trim(keyspace, samples)
    moved: dict[str, int] = {}
    for some in batches(overdue, SLOTS_AT_ONCE):
        replies = yield [reap(keyspace, topic, slot, MOVED_AT_ONCE) for topic, slot in some]
        for (topic, _), (_, _, expired, promoted, _) in zip(some, replies, strict=True):
            moved[topic.name] = moved.get(topic.name, 0) + expired + promoted
    return {name: count for name, count in moved.items() if count}


def untrimmed(topic: Topic, slot: SlotSample, now_ms: int) -> bool:
    """Whether a stream's slot is past its bounds by more than what sending leaves."""
    if slot.first_entry is None:
        return False
    length = slot_length(topic)
    too_long = length > 0 and slot.length > length + (0 if topic.trim is Trim.EXACT else length // 10 + NEARLY)
    oldest_ms = EntryId.parse(slot.first_entry).ms
    return too_long or (topic.max_age_ms > 0 and oldest_ms + topic.max_age_ms + OVERDUE_MS < now_ms)


def _trim(keyspace: Keyspace, samples: Iterable[TopicSample]) -> Operation[None]:
    """Cuts streams to which nobody sends, and those that were given other bounds."""
    long = [
        (sample.topic, slot.slot)
        for sample in samples
        if sample.topic.is_stream
        for slot in sample.slots
        if untrimmed(sample.topic, slot, sample.at_ms)
    ]
    for some in batches(long, SLOTS_AT_ONCE):
        yield [trim(keyspace, topic, slot) for topic, slot in some]
