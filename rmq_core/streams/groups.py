"""Consumer groups, as sans-IO operations: created, changed, deleted. What they do is what every queue does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rmq_core.errors import InvalidTopic, TopicConflict, TopicNotEmpty, VersionConflict
from rmq_core.figures import digits
from rmq_core.model import formats
from rmq_core.model.group import CHANGEABLE, OWN_SETTINGS, STORED_WITH_EACH, Group, is_group_name, split
from rmq_core.model.text import worded
from rmq_core.model.topic import Topic
from rmq_core.ops import journal_marks, registry
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, script
from rmq_core.queries import definitions
from rmq_core.queries.stored_groups import find, read, read_all
from rmq_core.streams import positions
from rmq_core.streams.positions import Where

LAST = "@"
"""No group's name: when one was created last, or how far the journals were of one that is gone; see `group_put.lua`."""

GOING_MS = 60_000
"""As long as `topic_put.lua` refuses changes: whoever deletes a topic for longer than that has died."""


def define(
    keyspace: Keyspace, topic: Topic, group: str, start: Where = "start", settings: Mapping[str, Any] | None = None
) -> Operation[Group]:
    """What an application declares: makes the group, or takes over the one there is, with its settings and position.

    Raises `TopicConflict` where that one's ``acks``, ``durable`` or ``waits`` differs.
    """
    wanted = _wanted(topic, group, start, settings or {})
    while True:
        found = yield from find(keyspace, topic, group)
        if found is not None:
            if _fixed(found) != _fixed(wanted):
                raise TopicConflict(
                    f"group {found.name!r} is defined with {_fixed(found)}; this client says {_fixed(wanted)}. Use what"
                    " is stored, or another name"
                )
            yield from complete(keyspace, found)
            return found
        try:
            return (yield from make(keyspace, topic, group, start, settings))
        except VersionConflict:
            continue  # somebody else made it between our two steps


def make(
    keyspace: Keyspace, topic: Topic, group: str, start: Where = "start", settings: Mapping[str, Any] | None = None
) -> Operation[Group]:
    """Makes the group. Raises `VersionConflict` where there is one."""
    wanted = _wanted(topic, group, start, settings or {})
    made = yield from _put(keyspace, topic, wanted, 0, (*STORED_WITH_EACH, *(settings or {})))
    # Should this process die in between, whoever defines it or is refused does it.
    yield from complete(keyspace, made, fresh=True)
    return made


def _wanted(topic: Topic, group: str, start: Where, settings: Mapping[str, Any]) -> Group:
    wanted = Group.of(topic, group, dict(settings) | {"start": positions.start_text(start)})
    unknown = sorted(set(settings) - {*OWN_SETTINGS, *STORED_WITH_EACH})
    if unknown:
        known = ", ".join((*OWN_SETTINGS, "durable", "acks", "waits"))
        raise InvalidTopic(f"a group has no {', '.join(unknown)}; it has {known}")
    return wanted


def _fixed(group: Group) -> str:
    """What never changes, in words."""
    return f"acks={group.acks.value}, durable={group.durable}, waits={group.waits}"


def _put(
    keyspace: Keyspace, topic: Topic, group: Group, expected: int, own: Sequence[str], born_ms: int = 0
) -> Operation[Group]:
    args: list[Any] = [
        group.group,
        expected,
        group.to_json(dict.fromkeys(own)),
        keyspace.changes,
        topic.name,
        topic.created_ms,
    ]
    args += (formats.NAMESPACE, born_ms)
    registry_key, *rest = _keys(keyspace, topic)
    (reply,) = yield [Call(script("group_put"), [registry_key, keyspace.groups_end(topic.name), *rest], args)]
    return Group.from_stored(topic, group.group, reply)


def _keys(keyspace: Keyspace, topic: Topic) -> list[str]:
    """Those of the scripts that change a definition; on Cluster the format was only compared when that was read."""
    groups = keyspace.groups(topic.name)
    return [groups] if keyspace.spread else [groups, keyspace.format]


def complete(keyspace: Keyspace, group: Group, *, fresh: bool = False) -> Operation[None]:
    """Makes every slot know the group: its life, its place, its journal. Slots that do already stay as they are."""
    yield from registry.mark_shape(keyspace, group)
    # What was the end when it was made need not be the end of a slot that is come to only now.
    start = group.created_ms if group.start == positions.END and not fresh else group.start
    yield from positions.place(keyspace, group, "new", start)
    yield from journal_marks.set_marks(keyspace, group)


def change(
    keyspace: Keyspace, topic: Topic, group: str, settings: Mapping[str, Any], seen: Group | None = None
) -> Operation[Group]:
    """Gives a group settings of its own; None: its topic's again. ``seen``: only as that version.

    Raises `UnknownGroup`, `InvalidTopic`, `VersionConflict`.
    """
    for name in settings:
        if name not in CHANGEABLE:
            raise InvalidTopic(f"{worded(name)} of a group cannot be changed; {', '.join(CHANGEABLE)} can")
    while True:
        before = yield from read(keyspace, topic, group)
        _check_seen(before, seen)
        (stored,) = yield [("HGET", keyspace.groups(topic.name), group)]
        own = {name: value for name, value in json.loads(stored or b"{}").items() if name in CHANGEABLE}
        own = {name: value for name, value in (own | dict(settings)).items() if value is not None}
        kept = {name: getattr(before, name) for name in STORED_WITH_EACH}
        changed = Group.of(topic, group, kept | own)
        try:
            return (yield from _put(keyspace, topic, changed, before.revision, (*kept, *own), before.created_ms))
        except VersionConflict:
            continue  # somebody else's change was first: keep it and add ours


def _check_seen(now: Group, seen: Group | None) -> None:
    """By its own revision: another version of its topic leaves a group as it is."""
    if seen is not None and (now.revision, now.created_ms) != (seen.revision, seen.created_ms):
        raise VersionConflict(f"{now.name!r} is not as it was seen any more: its stored version is {now.version}")


def delete(
    keyspace: Keyspace, topic: Topic, name: str, force: bool = False, seen: Group | None = None
) -> Operation[int]:
    """Deletes a group; how many unfinished and dead entries it had. The entries themselves stay in the topic. ``seen``:
    only as that version.

    Raises `UnknownGroup`, `VersionConflict`, and `TopicNotEmpty` while it has some, unless ``force``.
    """
    group = yield from read(keyspace, topic, name)
    _check_seen(group, seen)
    if not force:
        held = yield from registry.count(keyspace, group)
        if held:
            raise TopicNotEmpty(
                f"group {group.name!r} has {digits(held)} entries that are unfinished or dead; let it finish, and"
                " requeue or drop them, or force the deletion"
            )
    written_ms = yield from registry.last_written_ms(keyspace, group)
    args = [group.group, group.revision, group.created_ms, keyspace.changes, topic.name, formats.NAMESPACE, written_ms]
    yield [Call(script("group_forget"), _keys(keyspace, topic), args)]
    return (yield from registry.purge(keyspace, group))


def delete_topic(keyspace: Keyspace, name: str, force: bool = False, seen: Topic | None = None) -> Operation[int]:
    """Deletes a topic with its groups, or a group. Raises `TopicNotEmpty` while it holds something, but by force;
    `VersionConflict` where it is not ``seen`` any more."""
    if is_group_name(name):
        of, group = split(name)
        known = seen if isinstance(seen, Group) else None
        return (yield from delete(keyspace, (yield from definitions.read(keyspace, of)), group, force, known))
    topic = yield from definitions.read(keyspace, name)
    if topic.is_stream:
        registry.check_seen(topic, seen)
        yield from registry.check_empty(keyspace, topic, force)
        # First: should this process die in between, the topic is still there, to be deleted again.
        written_ms = yield from _delete_all(keyspace, topic)
        # By force: what is sent meanwhile keeps no topic without its groups.
        held = yield from registry.delete(keyspace, name, True, written_ms, topic)
        yield from _end(keyspace, topic, "gone", registry.REFUSED_MS)
        return held
    return (yield from registry.delete(keyspace, name, force, seen=seen))


def _delete_all(keyspace: Keyspace, topic: Topic) -> Operation[int]:
    """How far (ms) the journals were of the groups that it has had: the next ones begin behind them."""
    yield from _begin(keyspace, topic)
    for group in (yield from read_all(keyspace, topic)):
        yield from _begin(keyspace, topic)
        yield from delete(keyspace, topic, group.group, force=True)
    (last,) = yield [("HGET", keyspace.groups(topic.name), LAST)]
    yield [("DEL", keyspace.groups(topic.name))]
    return int(last or 0)


def _begin(keyspace: Keyspace, topic: Topic) -> Operation[None]:
    """Nobody changes the topic, nor gives it a group, for a minute. Raises `VersionConflict`."""
    yield from registry.begin_deletion(keyspace, topic)
    yield from _end(keyspace, topic, "going", GOING_MS)


def _end(keyspace: Keyspace, topic: Topic, how: str, for_ms: int) -> Operation[None]:
    """No more groups of this life of the topic."""
    yield [("SET", keyspace.groups_end(topic.name), f"{how} {topic.created_ms}", "PX", for_ms)]
