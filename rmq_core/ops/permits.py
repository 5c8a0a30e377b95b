"""What a topic's ``concurrency`` allows, over all its slots and the whole fleet.

Slots live on different nodes, so no script sees all of them. The permits are therefore handed out, as a backlog is
(`rmq_core.ops.quotas`): each slot has some, and has no more than these in flight; so whatever ends a delivery gives its
permit back, and none can be lost or leak. What a slot has holds for a moment, then it asks again: others may have
waited for longer. See ``docs/decisions/402-permits-are-handed-out-to-slots.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script

SLOTS_AT_ONCE = 128
ROUNDS = 4
AGAIN_MS = 5
"""Others took what was found, several times over: it is worth another try soon."""


def widen(
    keyspace: Keyspace, topic: Topic, wanted: Mapping[int, int], chooses: bool = False
) -> Operation[dict[int, int]]:
    """Asks for permits for so many messages of each slot; returns the slots that got none, and ms until another try.
    ``chooses``: who asks has chosen what comes first of all slots, and waits for none of them.
    """
    keys = keyspace.permits(topic.name)
    left = dict(wanted)
    for _ in range(ROUNDS):
        asked = list(left.items())
        replies = yield [
            Call(
                script("permit_ask"),
                keys,
                [topic.generation, topic.concurrency, topic.slots, slot, count, int(chooses)],
            )
            for slot, count in asked
        ]
        given = [(slot, reply[1:]) for (slot, _), reply in zip(asked, replies, strict=True) if reply[0] == 1]
        if given:
            yield [
                Call(script("permit_set"), [keyspace.slot(topic.name, slot).stats], values) for slot, values in given
            ]
        for slot, _ in given:
            del left[slot]
        unmeasured = next((reply[1:] for reply in replies if reply[0] == 2), None)
        if unmeasured is None:
            waits = {slot: reply[1] for (slot, _), reply in zip(asked, replies, strict=True) if reply[0] == 0}
            return {slot: max(1, int(waits[slot])) for slot in left}
        yield from _measure(keyspace, topic, dict(zip(unmeasured[::2], unmeasured[1::2], strict=True)))
    return dict.fromkeys(left, AGAIN_MS)


def _measure(keyspace: Keyspace, topic: Topic, sequences: Mapping[int, int]) -> Operation[None]:
    noted: list[int] = []
    for slots in batches(sequences, SLOTS_AT_ONCE):
        keys = [keyspace.slot(topic.name, slot) for slot in slots]
        limits = yield [
            Call(
                script("permit_measure"),
                [key.prepare, key.stats],
                [topic.generation, sequences[slot], topic.visibility_timeout_ms],
            )
            for slot, key in zip(slots, keys, strict=True)
        ]
        for slot, (limit, sequence) in zip(slots, limits, strict=True):
            if limit >= 0:
                noted += (slot, sequences[slot], limit, sequence)
    yield [Call(script("permit_note"), keyspace.permits(topic.name), [topic.generation, topic.concurrency, *noted])]


def in_flight(keyspace: Keyspace, topic: Topic) -> Operation[int]:
    """How many of a topic's permits are used: what is in flight in all its slots."""
    found = 0
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        found += sum((yield [("ZCARD", keyspace.slot(topic.name, slot).prepare) for slot in slots]))
    return found
