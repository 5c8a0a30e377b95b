"""Topic definitions as they are stored in Redis."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from rmq_core.errors import (
    InvalidTopic,
    UnknownTopic,
    UnreadableTopic,
)
from rmq_core.model.group import is_group_name, split
from rmq_core.model.text import shown
from rmq_core.model.topic import Topic
from rmq_core.model.views import Unreadable
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, script
from rmq_core.queries import stored_groups
from rmq_core.queries.namespace_format import ask, check


class Definitions(NamedTuple):
    """Every stored definition, by name; and those that this release cannot read."""

    topics: list[Topic]
    unreadable: list[Unreadable]


_newest: dict[str, tuple[Any, Definitions]] = {}
"""What the last reply said, by the key that was read; the next one, of a thousand definitions, says the same."""


def read(keyspace: Keyspace, name: str) -> Operation[Topic]:
    """The stored definition, also of a group (``<topic>@<group>``); raises `UnknownTopic`, `UnreadableTopic`."""
    if is_group_name(name):
        of, group = split(name)
        topic = yield from read(keyspace, of)
        return (yield from stored_groups.read(keyspace, topic, group))
    ((number, stored),) = yield [Call(script("definition"), (keyspace.format, keyspace.topics), (name,))]
    check(keyspace, number)
    if stored is None:
        raise UnknownTopic(
            f"topic {name!r} is not defined; define it first: client.define(Topic({name!r}, kind=…)), or"
            " rmq topics NAME --kind KIND"
        )
    return parsed(keyspace, name, stored)


def read_all(keyspace: Keyspace) -> Operation[list[Topic]]:
    """Every stored definition that can be read, by name: one bad row hides no other."""
    return (yield from read_everything(keyspace)).topics


def read_queues(keyspace: Keyspace) -> Operation[list[Topic]]:
    """What is taken from and settled: topics that are no streams, and the consumer groups of those that are."""
    topics = yield from read_all(keyspace)
    return (yield from stored_groups.read_queues(keyspace, topics))


def read_everything(keyspace: Keyspace) -> Operation[Definitions]:
    """Every stored definition, those that cannot be read among them."""
    stored = yield from ask(keyspace, ("HGETALL", keyspace.topics))
    before = _newest.get(keyspace.topics)
    if before is None or before[0] != stored:
        before = stored, _understood(keyspace, stored)
        _newest.clear()
        _newest[keyspace.topics] = before
    return Definitions([*before[1].topics], [*before[1].unreadable])


def _understood(keyspace: Keyspace, stored: Any) -> Definitions:
    pairs = stored.items() if isinstance(stored, dict) else zip(stored[::2], stored[1::2], strict=True)
    found = Definitions([], [])
    for raw_name, value in pairs:
        name = _name_of(bytes(raw_name))
        try:
            found.topics.append(parsed(keyspace, name, value))
        except UnreadableTopic as error:
            found.unreadable.append(Unreadable("topic", name, str(error)))
    found.topics.sort(key=lambda topic: topic.name)
    return found


def parsed(keyspace: Keyspace, name: str, stored: bytes) -> Topic:
    """A stored definition; raises `UnreadableTopic`."""
    try:
        topic = _topic_of(bytes(stored))
    except InvalidTopic as error:
        problem = str(error)
    else:
        if topic.name == name:
            return topic
        problem = f"it names another topic, {topic.name!r}"
    raise UnreadableTopic(
        f"the stored definition of topic {name!r} cannot be read: {shown(problem, 300)}. Until field {name!r} of the"
        f" hash {keyspace.topics} is put right or removed, or read by a newer release, the topic is left out"
    )


@lru_cache(maxsize=4_096)
def _name_of(raw: bytes) -> str:
    return shown(raw, 100)


@lru_cache(maxsize=4_096)
def _topic_of(stored: bytes) -> Topic:
    """Read once, however often it is looked at: a keeper looks at all definitions several times a second."""
    return Topic.from_stored(stored)


def deletions(keyspace: Keyspace) -> Operation[dict[str, int]]:
    """Which topics were deleted on purpose, and when last (ms)."""
    (stored,) = yield [("HGETALL", keyspace.deleted)]
    pairs = stored.items() if isinstance(stored, dict) else zip(stored[::2], stored[1::2], strict=True)
    return {name.decode(): int(deleted_ms) for name, deleted_ms in pairs}
