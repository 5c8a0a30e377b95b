"""What a topic's ``max_backlog`` and ``rate_limit`` allow, over all its slots and the whole fleet.

Slots live on different nodes, so no script sees all of them. The topic's backlog is therefore handed out: each slot
has a quota that the sends to it keep to, and all quotas together never exceed ``max_backlog``. A slot that
has used up its own is given more; when nothing is left to give, the slots are measured, and what they do not use is
taken back. Every step of that is one script on one key's node, numbered per slot, so that steps that meet or get lost
on the way leave a quota too small, never too large. See ``docs/decisions/042-backlog-by-quotas.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from rmq_core.errors import RMQError
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script

SLOTS_AT_ONCE = 128
ROUNDS = 4
AGAIN_MS = 20
"""Others took what was found, several times over: it is worth another try soon."""


def widen(keyspace: Keyspace, topic: Topic, wanted: Mapping[int, int]) -> Operation[dict[int, int]]:
    """Asks for room for so many messages in each slot; returns the slots that got none, and ms until another try."""
    hash_key, _ = keyspace.limits(topic.name)
    left = dict(wanted)
    for _ in range(ROUNDS):
        asked = list(left.items())
        replies = yield [
            Call(
                script("quota_ask"),
                [hash_key],
                [topic.version, topic.max_backlog, topic.slots, slot, count],
            )
            for slot, count in asked
        ]
        given = [(slot, reply[1:]) for (slot, _), reply in zip(asked, replies, strict=True) if reply[0] == 1]
        yield [Call(script("quota_set"), [keyspace.slot(topic.name, slot).quota], values) for slot, values in given]
        for slot, _ in given:
            del left[slot]
        unmeasured = next((reply[1:] for reply in replies if reply[0] == 2), None)
        if unmeasured is None:
            waits = {slot: reply[1] for (slot, _), reply in zip(asked, replies, strict=True) if reply[0] == 0}
            return {slot: max(1, int(waits[slot])) for slot in left}
        yield from _measure(keyspace, topic, unmeasured)
    return dict.fromkeys(left, AGAIN_MS)


def _measure(keyspace: Keyspace, topic: Topic, sequences: list[int]) -> Operation[None]:
    hash_key, _ = keyspace.limits(topic.name)
    noted: list[int] = []
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        keys = [keyspace.slot(topic.name, slot) for slot in slots]
        limits = yield [
            Call(
                script("quota_measure"),
                [key.store, key.retry, key.quota],
                [topic.version, sequences[slot]],
            )
            for slot, key in zip(slots, keys, strict=True)
        ]
        for slot, limit in zip(slots, limits, strict=True):
            if limit >= 0:
                noted += (slot, sequences[slot], limit)
    yield [Call(script("quota_note"), [hash_key], [topic.version, topic.max_backlog, *noted])]


class Permit(NamedTuple):
    """How many messages may be taken now; if none, in how many microseconds some may."""

    messages: int
    wait_us: int


def rate(keyspace: Keyspace, topic: Topic, wanted: int, returned: int = 0) -> Call:
    """Asks for takes, or gives some back; the reply is read by `Permit`."""
    _, key = keyspace.limits(topic.name)
    return Call(script("rate"), [key], [topic.rate_limit, wanted, returned])


def ask(keyspace: Keyspace, topic: Topic, wanted: int) -> Operation[Permit]:
    """Asks for takes from a topic with a ``rate_limit``."""
    (reply,) = yield [rate(keyspace, topic, wanted)]
    return Permit(*reply)


def give_back(keyspace: Keyspace, topic: Topic, count: int) -> Operation[None]:
    """Takes that came to nothing may be used by others. Where that cannot be said they are lost, and nothing else."""
    if count > 0:
        with suppress(RMQError):
            yield [rate(keyspace, topic, 0, count)]


def forget(keyspace: Keyspace, name: str) -> Operation[None]:
    """Forgets a topic that is deleted."""
    yield [("DEL", key) for key in (*keyspace.limits(name), *keyspace.permits(name))]
