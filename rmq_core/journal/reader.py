"""Reading journals from where one was, noticing what is missing, and remembering positions durably. Sans-IO.

A position is the last entry that was read: its stream id and its running number. Ids say where to go on, numbers say
whether anything is missing in between. A durable reader's positions live in Redis, where the trimmer finds them; it
is a durable reader from its first `register` or `commit` on, and holds back the trimming of every slot until `forget`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from rmq_core.errors import ConfigurationError
from rmq_core.journal.entries import Transition, decode
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, Operation, batches, script

log = logging.getLogger(__name__)

SLOTS_AT_ONCE = 64
ENTRIES_AT_ONCE = 1_000
READER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")

GapReason: TypeAlias = Literal["missing", "restarted", "off"]


class Position(NamedTuple):
    """The last entry read: its stream id ('0': none yet) and running number."""

    id: str = "0"
    n: int = 0


START = Position()


@dataclass(frozen=True, slots=True)
class Gap:
    """Entries that should be between ``after_n`` and ``before_n`` of a slot, and are not.

    ``missing``: trimmed by hand, or lost with a server. ``restarted``: the numbers started again, as after a flush.
    ``off``: the journal was switched on at ``before_n``, and the slot has a past that nobody wrote down. ``at_ms``:
    when what follows was written; None: nothing follows yet.
    """

    topic: str
    slot: int
    after_n: int
    before_n: int
    at_ms: int | None
    reason: GapReason


@dataclass(slots=True)
class Read:
    """What a read found. ``positions``: from where to go on. ``entries``: how many were read, ``behind``: were not."""

    transitions: list[Transition] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    positions: dict[int, Position] = field(default_factory=dict)
    behind: int = 0
    entries: int = 0

    def in_order(self) -> list[Transition | Gap]:
        """Both in order of time over the slots, each gap before what follows it. Each slot's own order stays."""
        gaps: dict[tuple[int, int], list[Gap]] = {}
        for gap in self.gaps:
            gaps.setdefault((gap.slot, gap.before_n), []).append(gap)
        latest: dict[int, int] = {}
        in_time: list[tuple[int, Transition | Gap]] = []
        for each in self.transitions:
            # A clock that stepped back changes no slot's order.
            at_ms = latest[each.slot] = max(latest.get(each.slot, 0), each.at_ms)
            in_time += [(at_ms, gap) for gap in gaps.pop((each.slot, each.n), ())]
            in_time.append((at_ms, each))
        in_time.sort(key=itemgetter(0))
        return [each for _, each in in_time] + [gap for some in gaps.values() for gap in some]


def read(
    keyspace: Keyspace,
    topic: Topic,
    slots: Iterable[int] | None = None,
    after: Mapping[int, Position] | None = None,
    count: int = ENTRIES_AT_ONCE,
) -> Operation[Read]:
    """Up to ``count`` entries of each slot (None: all) behind its position (none: from the beginning).

    Transitions come slot by slot, in each slot in order.
    """
    found = Read()
    for some in batches(range(topic.slots) if slots is None else slots, SLOTS_AT_ONCE):
        starts = [(after or {}).get(slot, START) for slot in some]
        replies = yield [
            Call(script("journal_read"), keyspace.slot_keys(topic.name, slot), [start.id, count])
            for slot, start in zip(some, starts, strict=True)
        ]
        for slot, start, reply in zip(some, starts, replies, strict=True):
            _add(found, topic, slot, start, reply, count)
    return found


def _add(found: Read, topic: Topic, slot: int, start: Position, reply: list[Any], count: int) -> None:
    written, _, _, entries = reply
    last_id, last_n = start
    known = written >= 0  # else somebody has spoiled it, and nothing is written until that is corrected
    for entry_id, fields in entries:
        transitions = decode(topic, slot, entry_id, fields)
        if not transitions:
            last_id = entry_id.decode()
            log.warning(
                "the journal of topic %s, slot %d: entry %s is none of ours: left out", topic.name, slot, last_id
            )
            continue
        n, at_ms = transitions[0].n, transitions[0].at_ms
        if n != last_n + 1:
            reason: GapReason = "missing" if n > last_n else "restarted"
            found.gaps.append(Gap(topic.name, slot, last_n, n, at_ms, reason))
        for each in transitions:
            if each.event == "began" and (n > 1 or each.score):
                found.gaps.append(Gap(topic.name, slot, n - 1, n, at_ms, "off"))
        found.transitions += transitions
        last_id, last_n = transitions[0].entry_id, n
    if known and len(entries) < count and written != last_n:
        reason = "missing" if written > last_n else "restarted"
        found.gaps.append(Gap(topic.name, slot, last_n, written + 1, None, reason))
        last_n = written
    found.entries += len(entries)
    found.behind += max(0, written - last_n)
    found.positions[slot] = Position(last_id, last_n)


# -- durable readers ---------------------------------------------------------------------------------------------


def checked_name(reader: str) -> str:
    """The name of a durable reader. Raises `ConfigurationError`."""
    if not isinstance(reader, str) or READER.fullmatch(reader) is None:
        raise ConfigurationError(
            f"reader {reader!r} must be 1 to 100 letters, digits, '_', '.', ':' or '-', a letter or digit first"
        )
    return reader


def register(keyspace: Keyspace, topic: Topic, reader: str) -> Operation[None]:
    """From now on nothing is trimmed that this reader has not committed."""
    yield from commit(keyspace, topic, reader, {})


def commit(keyspace: Keyspace, topic: Topic, reader: str, positions: Mapping[int, Position]) -> Operation[None]:
    """Notes what a reader has made durable; a position never goes back."""
    args: list[Any] = [checked_name(reader)]
    for slot, position in positions.items():
        args += (slot, position.id, position.n)
    yield [Call(script("journal_commit"), [keyspace.journal_readers(topic.name)], args)]


def positions(keyspace: Keyspace, topic: Topic) -> Operation[dict[str, dict[int, Position]]]:
    """What each durable reader has committed, by slot."""
    (stored,) = yield [("HGETALL", keyspace.journal_readers(topic.name))]
    return positions_in(stored)


def positions_in(stored: Any) -> dict[str, dict[int, Position]]:
    """The same, of the reply to ``HGETALL``."""
    pairs = stored.items() if isinstance(stored, dict) else zip(stored[::2], stored[1::2], strict=True)
    found: dict[str, dict[int, Position]] = {}
    for name, value in pairs:
        reader, _, slot = name.decode().partition(" ")
        known = found.setdefault(reader, {})
        if slot:
            entry_id, n = value.decode().split(" ")
            known[int(slot)] = Position(entry_id, int(n))
    return dict(sorted(found.items()))


def forget(keyspace: Keyspace, topic: Topic, reader: str) -> Operation[bool]:
    """Ends a durable reader: it holds nothing back any more. Whether there was one."""
    slots = [f"{checked_name(reader)} {slot}" for slot in range(topic.slots)]
    (gone,) = yield [("HDEL", keyspace.journal_readers(topic.name), reader, *slots)]
    return bool(gone)
