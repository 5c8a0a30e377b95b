"""Topic definitions in Redis: versioned, changed by compare-and-set, the same for every client."""

from __future__ import annotations

from dataclasses import replace

from rmq_core import journaling, limits, ownership_log, wishes
from rmq_core.errors import TopicConflict, TopicNotEmpty, UnknownTopic, VersionConflict
from rmq_core.scripts import Call, Operation, batches, script
from rmq_core.slots import QUEUES, Keyspace
from rmq_core.topic import Journal, Topic

SLOTS_AT_ONCE = 64


def read(keyspace: Keyspace, name: str) -> Operation[Topic]:
    """The stored definition; raises `UnknownTopic`."""
    (stored,) = yield [("HGET", keyspace.topics, name)]
    if stored is None:
        raise UnknownTopic(f"topic {name!r} is not defined; define it first: client.define(Topic({name!r}, kind=…))")
    return Topic.from_stored(stored)


def read_all(keyspace: Keyspace) -> Operation[list[Topic]]:
    """Every stored definition, by name."""
    (stored,) = yield [("HVALS", keyspace.topics)]
    return sorted((Topic.from_stored(value) for value in stored), key=lambda topic: topic.name)


def put(keyspace: Keyspace, topic: Topic, expected_version: int) -> Operation[Topic]:
    """Creates (0) or replaces (its version) a definition. Raises `VersionConflict`, `TopicConflict`."""
    before = None
    if expected_version:
        before = yield from read(keyspace, topic.name)
        _same_shape(topic, before)
    args = [topic.name, expected_version, topic.to_json(), keyspace.changes]
    (reply,) = yield [Call(script("topic_put"), [keyspace.topics], args)]
    stored = Topic.from_stored(reply)
    known = (Journal.OFF, stored.journal_max) if before is None else (before.journal, before.journal_max)
    if known != (stored.journal, stored.journal_max):
        # Should this process die in between, whoever keeps the slots does it: see `rmq_core.upkeep`.
        yield from journaling.set_marks(keyspace, stored)
    return stored


def define(keyspace: Keyspace, topic: Topic) -> Operation[Topic]:
    """What an application declares: creates the topic, or takes over the stored settings of the same shape.

    A stored definition is never overwritten: it may hold an operator's edit. Raises `TopicConflict` when its kind
    or slot amount differs.
    """
    while True:
        (stored,) = yield [("HGET", keyspace.topics, topic.name)]
        if stored is not None:
            known = Topic.from_stored(stored)
            _same_shape(topic, known)
            return known
        try:
            return (yield from put(keyspace, topic, 0))
        except VersionConflict:
            continue  # somebody else defined it between our two steps


def _same_shape(topic: Topic, stored: Topic) -> None:
    if (topic.kind, topic.slots) != (stored.kind, stored.slots):
        raise TopicConflict(
            f"topic {topic.name!r} is defined with kind={stored.kind.value}, slots={stored.slots}; this client says"
            f" kind={topic.kind.value}, slots={topic.slots}. Use the stored shape, or another topic name"
        )


def pause(keyspace: Keyspace, name: str, paused: bool) -> Operation[Topic]:
    """Stops or starts the taking of messages; sending goes on."""
    while True:
        topic = yield from read(keyspace, name)
        if topic.paused == paused:
            return topic
        try:
            return (yield from put(keyspace, replace(topic, paused=paused), topic.version))
        except VersionConflict:
            continue  # somebody else's change was first: keep it and add ours


def delete(keyspace: Keyspace, name: str, force: bool = False) -> Operation[int]:
    """Deletes a topic and every key it has; returns how many messages went with it.

    Raises `TopicNotEmpty` while it holds messages, unless ``force``.
    """
    topic = yield from read(keyspace, name)
    if not force:
        held = yield from _count(keyspace, topic)
        if held:
            raise TopicNotEmpty(
                f"topic {name!r} still holds {held} message(s); let them drain or drop them, or force the deletion"
            )
    yield [Call(script("topic_delete"), [keyspace.topics], [name, topic.version, keyspace.changes])]
    gone = 0
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        gone += sum((yield [Call(script("purge"), keyspace.slot_keys(name, slot), []) for slot in slots]))
    yield from ownership_log.forget(keyspace, name)
    yield from wishes.forget(keyspace, name)
    yield from limits.forget(keyspace, name)
    yield from journaling.forget(keyspace, name)
    return gone


def _count(keyspace: Keyspace, topic: Topic) -> Operation[int]:
    held = 0
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        queues = [key for slot in slots for key in keyspace.slot_keys(topic.name, slot)[:QUEUES]]
        held += sum((yield [("ZCARD", key) for key in queues]))
    return held
