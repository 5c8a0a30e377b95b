"""Which slots write a journal: a mark in each of them, so that a change is journaled whoever makes it.

Clients know a definition for a moment longer than it holds. Were they the ones to say whether a change is journaled,
a message could be sent with a journal and acknowledged without. See ``docs/decisions/044-marks-switch-journals.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rmq_core.model.topic import Journal, Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script

SLOTS_AT_ONCE = 128
_MARK = re.compile(rb"([oef]) (\d{1,15}) (\d{1,15})")
_LETTERS = {Journal.OFF: "o", Journal.EVENTS: "e", Journal.FULL: "f"}


def slot_limit(topic: Topic) -> int:
    """A slot's share of ``journal_max``; 0: no limit."""
    return -(-topic.journal_max // topic.slots)


def mark_text(topic: Topic) -> str:
    """What a slot's mark says under a definition: mode, version, limit."""
    return f"{_LETTERS[topic.journal]} {topic.version} {slot_limit(topic)}"


def outdated(topic: Topic, mark: bytes | None) -> bool:
    """Whether a slot's mark (None: it has none) says something else than its topic's definition."""
    if mark is None and topic.journal is Journal.OFF:  # as of most: this is asked of every topic each second
        return False
    said = _MARK.fullmatch(b"o 0 0" if mark is None else mark)
    if said is None:  # somebody has overwritten it, and until it is set anew nothing can be sent there
        return True
    mode, version, limit = said.groups()
    if int(version) >= topic.version:
        return False
    wanted = _LETTERS[topic.journal].encode()
    return mode != wanted or (topic.journal is not Journal.OFF and int(limit) != slot_limit(topic))


def version_of(mark: bytes | None) -> int:
    """Of which version of a definition a slot's mark is, also one of turns; 0: of none, or nobody can read it."""
    said = re.match(rb"\w (\d{1,15})(?: |$)", mark or b"")
    return int(said[1]) if said else 0


def set_marks(keyspace: Keyspace, topic: Topic, slots: Iterable[int] | None = None) -> Operation[None]:
    """Makes the slots (None: all) journal as their definition says; a later definition's word stands."""
    args = [topic.shape, *mark_text(topic).split()]
    for some in batches(range(topic.slots) if slots is None else slots, SLOTS_AT_ONCE):
        yield [Call(script("journal_set"), keyspace.slot_keys(topic.name, slot), args) for slot in some]


def forget(keyspace: Keyspace, name: str) -> Operation[None]:
    """Forgets the readers of a topic that is deleted."""
    yield [("DEL", keyspace.journal_readers(name))]
