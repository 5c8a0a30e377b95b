"""The definitions of consumer groups in Redis, as they are read; `rmq_core.streams.groups` changes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rmq_core.errors import InvalidTopic, ScriptFailed, UnknownGroup, UnreadableTopic
from rmq_core.model.group import AT, OWN_SETTINGS, Group
from rmq_core.model.text import shown
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Each, Operation
from rmq_core.queries.namespace_format import ask


def read(keyspace: Keyspace, topic: Topic, group: str) -> Operation[Group]:
    """A group of a topic. Raises `UnknownGroup`."""
    found = yield from find(keyspace, topic, group)
    if found is None:
        raise UnknownGroup(
            f"topic {topic.name!r} has no group {group!r}; make it first: client.define_group({topic.name!r},"
            f" {group!r}, start='start')"
        )
    return found


def read_all(keyspace: Keyspace, topic: Topic) -> Operation[list[Group]]:
    """Every group of a topic that can be read, by name."""
    (stored,) = yield [("HGETALL", keyspace.groups(topic.name))]
    return _groups(topic, stored)


def read_each(keyspace: Keyspace, streams: Sequence[Topic]) -> Operation[dict[str, list[Group]]]:
    """The same of several topics, by topic, with one look."""
    if not streams:
        return {}
    stored = yield [("HGETALL", keyspace.groups(topic.name)) for topic in streams]
    return {topic.name: _groups(topic, each) for topic, each in zip(streams, stored, strict=True)}


def _groups(topic: Topic, stored: Any) -> list[Group]:
    pairs = stored.items() if isinstance(stored, dict) else zip(stored[::2], stored[1::2], strict=True)
    found = []
    for raw, text in pairs:
        try:
            group = Group.from_stored(topic, bytes(raw).decode(errors="replace"), text)
        except InvalidTopic:
            continue  # one bad row hides no other; and what counts creations is no group
        if group.created_ms >= topic.created_ms:
            found.append(group)
    return sorted(found, key=lambda group: group.name)


def own_settings(keyspace: Keyspace, topic: Topic, group: str) -> Operation[set[str]]:
    """Which settings are a group's own, and not its topic's; none where there is no group that can be read."""
    stored = yield from ask(keyspace, ("HGET", keyspace.groups(topic.name), group))
    try:
        return {name for name in json.loads(stored or "{}") if name in OWN_SETTINGS}
    except (ValueError, TypeError, RecursionError):
        return set()


def read_queues(keyspace: Keyspace, topics: Sequence[Topic]) -> Operation[list[Topic]]:
    """What is taken from and settled: those of the topics that are no streams, and the groups of those that are."""
    streams = [topic for topic in topics if topic.is_stream]
    replies = (yield Each(("HGETALL", keyspace.groups(topic.name)) for topic in streams)) if streams else []
    stored = dict(zip((topic.name for topic in streams), replies, strict=True))
    found: list[Topic] = []
    for topic in topics:
        reply = stored.get(topic.name)
        if not topic.is_stream:
            found.append(topic)
        elif isinstance(reply, ScriptFailed):  # the key holds something else than groups
            continue
        elif isinstance(reply, Exception):
            raise reply
        else:
            found += _groups(topic, reply)
    return found


def find(keyspace: Keyspace, topic: Topic, group: str) -> Operation[Group | None]:
    """The same; None: there is none."""
    stored = yield from ask(keyspace, ("HGET", keyspace.groups(topic.name), group))
    if stored is None:
        return None
    try:
        found = Group.from_stored(topic, group, stored)
    except InvalidTopic as error:
        name, problem = f"{topic.name}{AT}{group}", shown(str(error), 300)
        raise UnreadableTopic(f"the stored group {name} cannot be read: {problem}") from None
    return found if found.created_ms >= topic.created_ms else None
