"""How large journals are, who holds them back, and trimming them behind every durable reader. Sans-IO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rmq_core.journal import reader
from rmq_core.journal.reader import START, Position
from rmq_core.model.topic import Topic
from rmq_core.ops.journal_marks import slot_limit
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Each, Operation, batches, script

SLOTS_AT_ONCE = 64
LAST_PART = 2**64 - 1
"""Of both parts of an id; behind it comes nothing."""
RESTORE_ROLE = "restore"
"""Who has the lease of it reads in the journals what is sent meanwhile: nothing is trimmed. It ends by itself."""


@dataclass(frozen=True, slots=True)
class ReaderLag:
    """A durable reader: entries it has not committed, and for how long the oldest of them has been waiting."""

    name: str
    behind: int
    behind_ms: int


@dataclass(frozen=True, slots=True)
class JournalState:
    """A topic's journal over all its slots. ``size``: bytes of Redis, about; None: the server does not tell.

    ``written``: entries ever written. ``oldest_ms``: when the oldest kept entry was written; None: none is kept.
    ``fullest``: entries of the slot that has most, of the ``slot_limit`` (0: none) at which sends to it are refused.
    """

    topic: str
    mode: str
    entries: int
    size: int | None
    written: int
    oldest_ms: int | None
    fullest: int
    slot_limit: int
    readers: tuple[ReaderLag, ...]


def trim(keyspace: Keyspace, topic: Topic) -> Operation[int]:
    """Removes what every durable reader has committed; returns how many entries. Without readers, and while something
    is restored, nothing."""
    if (yield from _is_held(keyspace)):
        return 0
    return (yield from _trim_behind(keyspace, topic, (yield from reader.positions(keyspace, topic))))


def trim_each(
    keyspace: Keyspace, topics: Sequence[Topic], also: Mapping[str, str] = MappingProxyType({})
) -> Operation[int]:
    """The same of several topics: who reads is asked of all of them at once, for of most topics nobody does.

    ``also``: by topic, a reader that holds it back even where the server does not know it, as after it lost everything.
    One whose readers cannot be read keeps no other from being trimmed; the first such error is raised at the end.
    """
    gone, failed = 0, None
    if (yield from _is_held(keyspace)):
        return 0
    for some in batches(topics):
        replies = yield Each(("HGETALL", keyspace.journal_readers(topic.name)) for topic in some)
        for topic, reply in zip(some, replies, strict=True):
            if isinstance(reply, Exception):
                failed = failed or reply
            elif reply:
                known = reader.positions_in(reply)
                if topic.name in also:
                    known.setdefault(also[topic.name], {})
                gone += yield from _trim_behind(keyspace, topic, known)
    if failed is not None:
        raise failed
    return gone


def _is_held(keyspace: Keyspace) -> Operation[bool]:
    (leases,) = yield [("EXISTS", keyspace.election(RESTORE_ROLE)[0])]
    return bool(leases)


def _trim_behind(keyspace: Keyspace, topic: Topic, known: dict[str, dict[int, Position]]) -> Operation[int]:
    ends = {slot: _behind_all(known, slot) for slot in range(topic.slots)} if known else {}
    gone = 0
    for some in batches((slot for slot, end in ends.items() if end is not None), SLOTS_AT_ONCE):
        gone += sum(
            (
                yield [
                    ("XTRIM", keyspace.slot(topic.name, slot).journal, "MINID", "=", _next_id(ends[slot]))
                    for slot in some
                ]
            )
        )
    return gone


def _behind_all(known: dict[str, dict[int, Position]], slot: int) -> str | None:
    """The last entry that every reader has committed; None: there is none."""
    ids = [slots.get(slot, START).id for slots in known.values()]
    last = min(ids, key=_parts)
    return None if last == START.id else last


def _parts(entry_id: str) -> tuple[int, int]:
    ms, _, sequence = entry_id.partition("-")
    return int(ms), int(sequence or 0)


def _next_id(entry_id: str | None) -> str:
    ms, sequence = _parts(entry_id or START.id)
    return f"{ms}-{sequence + 1}" if sequence < LAST_PART else f"{min(ms + 1, LAST_PART)}-0"


def state(keyspace: Keyspace, topic: Topic) -> Operation[JournalState]:
    """How large a topic's journal is, and how far behind its readers are."""
    known = yield from reader.positions(keyspace, topic)
    entries = size = written = fullest = 0
    sized = True
    oldest: list[int] = []
    behind = dict.fromkeys(known, 0)
    waiting = dict.fromkeys(known, 0)
    for some in batches(range(topic.slots), SLOTS_AT_ONCE):
        replies = yield [
            Call(
                script("journal_size"),
                keyspace.slot_keys(topic.name, slot),
                [slots.get(slot, START).id for slots in known.values()],
            )
            for slot in some
        ]
        for slot, (now_ms, held, used, last_n, first_id, unread) in zip(some, replies, strict=True):
            entries, written, fullest = entries + held, written + max(0, last_n), max(fullest, held)
            sized, size = sized and used >= 0, size + max(0, used)
            if first_id:
                oldest.append(_parts(first_id.decode())[0])
            for name, first_unread in zip(known, unread, strict=True):
                if first_unread:
                    behind[name] += max(0, last_n - known[name].get(slot, START).n)
                    waiting[name] = max(waiting[name], now_ms - _parts(first_unread.decode())[0])
    return JournalState(
        topic=topic.name,
        mode=topic.journal.value,
        entries=entries,
        size=size if sized else None,
        written=written,
        oldest_ms=min(oldest, default=None),
        fullest=fullest,
        slot_limit=slot_limit(topic),
        readers=tuple(ReaderLag(name, behind[name], waiting[name]) for name in known),
    )
