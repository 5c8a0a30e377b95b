"""Changes of topic definitions: versioned, by compare-and-set, the same for every client."""

from __future__ import annotations

from dataclasses import replace

from rmq_core.errors import (
    InvalidTopic,
    TopicConflict,
    TopicNotEmpty,
    VersionConflict,
)
from rmq_core.figures import digits
from rmq_core.model import formats
from rmq_core.model.group import Group
from rmq_core.model.route import Route
from rmq_core.model.tenants import with_limit
from rmq_core.model.topic import Journal, Topic
from rmq_core.ops import bands, fair_marks, journal_marks, on_its_way, order, placement, quotas, reporting
from rmq_core.protocol.keys import QUEUES, Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script
from rmq_core.queries import definitions, owners
from rmq_core.queries.definitions import parsed
from rmq_core.queries.namespace_format import ask

SLOTS_AT_ONCE = 64
REFUSED_MS = 3_600_000
"""So long after its deletion a topic's slots refuse clients that have not heard of it."""


def put(keyspace: Keyspace, topic: Topic, expected_version: int) -> Operation[Topic]:
    """Creates (0) or replaces (its version) a definition. Raises `VersionConflict`, `TopicConflict`.

    A topic that was deleted and made again has the same versions again: where ``topic`` says when the one that is meant
    was created, as every definition that was read does, no other is replaced.
    """
    before = None
    if why := fair_marks.refused(keyspace, topic):
        raise InvalidTopic(f"tenant_limits: {why}")
    if expected_version:
        before = yield from definitions.read(keyspace, topic.name)
        _same_shape(topic, before)
    args = [topic.name, expected_version, topic.to_json(), keyspace.changes, topic.created_ms, formats.NAMESPACE]
    if not expected_version:
        args += yield from _surviving(keyspace, topic)
    (reply,) = yield [Call(script("topic_put"), _keys(keyspace), args)]
    stored = Topic.from_stored(reply)
    if before is None:
        # Should this process die in between, whoever defines the topic or is refused does it: see `mark_shape`.
        yield from mark_shape(keyspace, stored)
    known = (Journal.OFF, stored.journal_max) if before is None else (before.journal, before.journal_max)
    if known != (stored.journal, stored.journal_max):
        # Should this process die in between, whoever keeps the slots does it: see `rmq_core.ops.reaper`.
        yield from journal_marks.set_marks(keyspace, stored)
    if fair_marks.turns_of(stored) != fair_marks.turns_of(before):
        yield from fair_marks.set_marks(keyspace, stored)
    if before is not None and before.in_order and not stored.in_order:
        yield from order.switch_off(keyspace, stored)
    return stored


def _surviving(keyspace: Keyspace, topic: Topic) -> Operation[list[int]]:
    """When the life began that a topic's slots know, and the highest version; zeros: none, or it was deleted.

    The registry may be lost and slots not: a shard of a Cluster that came back empty, a key that was deleted. A new
    life would take away all they hold. Raises `TopicConflict` where they are of another shape.
    """
    marks = yield [
        ("HMGET", keyspace.slot(topic.name, slot).stats, "shape", "journal", "fair") for slot in range(topic.slots)
    ]
    (deleted,) = yield [("HGET", keyspace.deleted, topic.name)]
    life = version = 0
    for shape, *others in marks:
        kind, _, rest = (formats.shape_of(topic.name, shape) or "gone").partition(" ")
        if kind == "gone":
            continue
        slots, _, created_ms = rest.partition(" ")
        if int(created_ms) <= int(deleted or 0):
            continue
        if (kind, int(slots)) != (topic.kind.value, topic.slots):
            raise TopicConflict(
                f"topic {topic.name!r} is not defined (any more), and its slots are of kind={kind}, slots={slots}; this"
                f" client says kind={topic.kind.value}, slots={topic.slots}: use that shape, then delete the topic, or"
                " take another name"
            )
        life = max(life, int(created_ms))
        version = max(version, *map(journal_marks.version_of, others))
    return [life, version]


def _keys(keyspace: Keyspace) -> list[str]:
    """Those of the scripts that change a definition."""
    return [keyspace.topics, keyspace.deleted, keyspace.format]


def define(keyspace: Keyspace, topic: Topic) -> Operation[Topic]:
    """What an application declares: creates the topic, or takes over the stored settings of the same shape.

    A stored definition is never overwritten: it may hold an operator's edit. Raises `TopicConflict` when its kind
    or slot amount differs.
    """
    while True:
        stored = yield from ask(keyspace, ("HGET", keyspace.topics, topic.name))
        if stored is not None:
            known = parsed(keyspace, topic.name, stored)
            _same_shape(topic, known)
            yield from _mark_left_out(keyspace, known)
            return known
        try:
            return (yield from put(keyspace, topic, 0))
        except VersionConflict:
            continue  # somebody else defined it between our two steps


def mark_shape(keyspace: Keyspace, topic: Topic) -> Operation[None]:
    """Makes every slot refuse callers that know another life of the topic, but for slots of a later one.

    Slots that get the mark write a journal from that moment on; those of groups only when they have a place.
    """
    args: list[object] = [topic.shape, topic.created_ms]
    if not isinstance(topic, Group):
        args += journal_marks.mark_text(topic).split()
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        yield [Call(script("shape_set"), keyspace.slot_keys(topic.name, slot), args) for slot in slots]


def _mark_left_out(keyspace: Keyspace, topic: Topic) -> Operation[None]:
    """Goes on where whoever created the topic died before all slots were marked, or slots have lost all they had."""
    marks = yield from _shapes(keyspace, topic)
    if any(mark != topic.shape for mark in marks):
        yield from mark_shape(keyspace, topic)


def _shapes(keyspace: Keyspace, topic: Topic) -> Operation[list[str | None]]:
    """What each slot is marked with. Raises `UnknownFormat`."""
    marks = yield [("HGET", keyspace.slot(topic.name, slot).stats, "shape") for slot in range(topic.slots)]
    return [formats.shape_of(topic.name, mark) for mark in marks]


def _same_shape(topic: Topic, stored: Topic) -> None:
    if (topic.kind, topic.slots) != (stored.kind, stored.slots):
        raise TopicConflict(
            f"topic {topic.name!r} is defined with kind={stored.kind.value}, slots={stored.slots}; this client says"
            f" kind={topic.kind.value}, slots={topic.slots}. Use the stored shape, or another topic name"
        )


def pause(keyspace: Keyspace, name: str, paused: bool) -> Operation[Topic]:
    """Stops or starts the taking of messages; sending goes on."""
    while True:
        topic = yield from definitions.read(keyspace, name)
        if topic.paused == paused:
            return topic
        try:
            return (yield from put(keyspace, replace(topic, paused=paused), topic.version))
        except VersionConflict:
            continue  # somebody else's change was first: keep it and add ours


def limit_tenant(keyspace: Keyspace, name: str, tenant: str, limit: str) -> Operation[Topic]:
    """Caps one tenant of a fair topic, or no longer (""). Raises `InvalidTopic`."""
    while True:
        topic = yield from definitions.read(keyspace, name)
        if limit and not topic.fair:
            raise InvalidTopic(f"tenants of {name!r} take no turns (fair=True), so none can be limited")
        wanted = replace(topic, tenant_limits=with_limit(topic.tenant_limits, tenant, limit))
        if topic.same_definition(wanted):
            return topic
        try:
            return (yield from put(keyspace, wanted, topic.version))
        except VersionConflict:
            continue  # somebody else's change was first: keep it and add ours


def delete(
    keyspace: Keyspace, name: str, force: bool = False, groups_written_ms: int = 0, seen: Topic | None = None
) -> Operation[int]:
    """Deletes a topic and every key it has; returns how many messages went with it.

    ``groups_written_ms``: how far the journals were of its groups. Raises `TopicNotEmpty` while it holds messages,
    unless ``force``; `VersionConflict` where it is not ``seen`` any more.
    """
    topic = yield from definitions.read(keyspace, name)
    check_seen(topic, seen)
    yield from _shapes(keyspace, topic)
    yield from check_empty(keyspace, topic, force)
    written_ms = max(groups_written_ms, (yield from last_written_ms(keyspace, topic)))
    args = [name, topic.version, keyspace.changes, topic.created_ms, formats.NAMESPACE, written_ms]
    yield [Call(script("topic_delete"), _keys(keyspace), args)]
    return (yield from purge(keyspace, topic))


def begin_deletion(keyspace: Keyspace, topic: Topic) -> Operation[None]:
    """Nobody changes the topic for a minute, while what goes before it does. Raises `VersionConflict`."""
    yield from _shapes(keyspace, topic)
    args = [topic.name, topic.version, topic.created_ms, formats.NAMESPACE]
    yield [Call(script("topic_going"), [keyspace.topics, keyspace.format], args)]


def check_seen(now: Topic | Route, seen: Topic | Route | None) -> None:
    """Whoever deletes what was seen deletes no later version of it. Raises `VersionConflict`."""
    if seen is not None and (now.version, now.created_ms) != (seen.version, seen.created_ms):
        raise VersionConflict(f"{now.name!r} is not as it was seen any more: its stored version is {now.version}")


def last_written_ms(keyspace: Keyspace, topic: Topic) -> Operation[int]:
    """By its journals, which are ahead of a clock that was set back; 0: nothing ever was."""
    found = 0
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        ends = yield [Call(script("journal_end"), (keyspace.slot(topic.name, slot).journal,), ()) for slot in slots]
        found = max(found, *(int(end.partition(b"-")[0]) for end in ends))
    return found


def purge(keyspace: Keyspace, topic: Topic) -> Operation[int]:
    """Removes every key of a topic, or of a group, whose definition is gone; how many messages went with it."""
    name, gone, args = topic.name, 0, [topic.shape, topic.created_ms, REFUSED_MS]
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        gone += sum((yield [Call(script("purge"), keyspace.slot_keys(name, slot), args) for slot in slots]))
    yield from owners.forget(keyspace, name)
    yield from placement.forget(keyspace, name)
    yield from quotas.forget(keyspace, name)
    yield from on_its_way.forget(keyspace, topic)
    yield from reporting.forget(keyspace, topic)
    yield from journal_marks.forget(keyspace, name)
    yield from bands.forget(keyspace, topic)
    yield [("DEL", key) for key in (*keyspace.hints(name), keyspace.turns(name))]
    return gone


def check_empty(keyspace: Keyspace, topic: Topic, force: bool) -> Operation[None]:
    """Raises `TopicNotEmpty` where a topic holds messages, unless ``force``."""
    held = 0 if force else (yield from count(keyspace, topic))
    if held:
        raise TopicNotEmpty(
            f"topic {topic.name!r} still holds {digits(held)} message(s); let them drain or drop them, or force the"
            " deletion"
        )


def count(keyspace: Keyspace, topic: Topic) -> Operation[int]:
    """How many messages it holds, or are on their way from it to the targets of a route."""
    held = yield from on_its_way.count(keyspace, topic)
    if topic.is_stream:
        stores = [("XLEN", keyspace.slot(topic.name, slot).store) for slot in range(topic.slots)]
        return sum((yield stores))
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        queues = [key for slot in slots for key in keyspace.slot_keys(topic.name, slot)[:QUEUES]]
        held += sum((yield [("ZCARD", key) for key in queues]))
    return held
