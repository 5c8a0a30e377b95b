"""Reading without a group, as sans-IO operations: pages over all slots of one or several stream topics, by id."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from rmq_core.errors import InvalidMessage
from rmq_core.figures import digits
from rmq_core.model.composing import moment_ms
from rmq_core.model.entry import FIRST_ID, LAST_ID, Entry, EntryId
from rmq_core.model.text import worded
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation, batches
from rmq_core.protocol.streams import SLOTS_AT_ONCE
from rmq_core.protocol.streams import read as read_call
from rmq_core.streams.cursors import Cursor

PAGE_MAX = 1_000
END = "end"

Bound: TypeAlias = datetime | int | str | None
"""A time (a datetime, or epoch milliseconds), which is included; an entry's id, which is not; None: no bound."""


class EntryPage(NamedTuple):
    """Entries in the order of their ids. ``cursor``: goes on behind them, now or when there are more; ``more``: there
    are some already."""

    entries: tuple[Entry, ...]
    cursor: str
    more: bool


class Reading(NamedTuple):
    """What is read: from ``since`` (`END`: only what is still to come) to ``until``, or back; see `Bound`."""

    since: Bound = None
    until: Bound = None
    newest: bool = False
    slot: int | None = None
    limit: int = 100
    cursor: str | None = None


def read(keyspace: Keyspace, topics: Sequence[Topic], asked: Reading) -> Operation[EntryPage]:
    """One page. Raises `InvalidMessage`, `TopicReshaped`."""
    limit = asked.limit
    if type(limit) is not int or not 1 <= limit <= PAGE_MAX:
        raise InvalidMessage(f"limit={worded(limit)} must be a whole number from 1 to {PAGE_MAX}")
    if asked.since == END and asked.newest:
        raise InvalidMessage("since='end' is what is still to come: it cannot be read with the newest first")
    if asked.cursor is not None:
        if (asked.since, asked.until, asked.newest, asked.slot) != (None, None, False, None):
            raise InvalidMessage("a cursor says all of where it goes on: give it without since, until, newest and slot")
        cursor = Cursor.decode(asked.cursor, topics)
    else:
        cursor = Cursor(_bounds(asked), asked.newest, asked.slot, {topic.name: {} for topic in topics})
        if asked.since == END:
            yield from _skip_to_end(keyspace, topics, cursor)
    return (yield from _page(keyspace, {topic.name: topic for topic in topics}, cursor, limit))


def _bounds(asked: Reading) -> tuple[str, str]:
    """As XRANGE takes them."""
    return _bound(asked.since, "since") or "-", _bound(asked.until, "until") or "+"


def _bound(given: Bound, name: str) -> str | None:
    if given is None or (given == END and name == "since"):
        return None
    if isinstance(given, str):
        if not given.isascii() or "-" not in given:
            raise InvalidMessage(f"{name}={worded(given)} must be an entry's id, a datetime or epoch milliseconds")
        parsed = EntryId.parse(given)
        if parsed == (LAST_ID if name == "since" else FIRST_ID):
            raise InvalidMessage(f"{name}={worded(given)}: there is no entry beyond that")
        return f"({parsed}"
    ms = moment_ms(name, given)
    if not 0 <= ms < 2**64:
        raise InvalidMessage(f"{name}={worded(given)} must not be before 1970")
    return str(ms)


def _slots(topic: Topic, cursor: Cursor) -> Sequence[int]:
    slot = cursor.slot
    if slot is None:
        return range(topic.slots)
    if type(slot) is not int or not 0 <= slot < topic.slots:
        raise InvalidMessage(f"slot={worded(slot)} must be a whole number from 0 to {digits(topic.slots - 1)}")
    return (slot,)


def _skip_to_end(keyspace: Keyspace, topics: Sequence[Topic], cursor: Cursor) -> Operation[None]:
    """Goes behind everything there is."""
    for topic in topics:
        ranges = [(slot, "+", "-") for slot in _slots(topic, cursor)]
        found = yield from _fetch(keyspace, topic, ranges, True, 1)
        for slot, rows in found:
            cursor.places[topic.name][slot] = rows[-1].id if rows else FIRST_ID


class _Row(NamedTuple):
    """An entry in the order of a page."""

    id: EntryId
    topic: str
    slot: int
    pairs: list[bytes]


def _page(keyspace: Keyspace, topics: dict[str, Topic], cursor: Cursor, limit: int) -> Operation[EntryPage]:
    """Each slot is first asked for its fair share and a little more; those that were used up are asked again."""
    newest = cursor.newest
    pending = {
        (name, slot): cursor.places[name].get(slot) for name, topic in topics.items() for slot in _slots(topic, cursor)
    }
    share = min(limit + 1, 2 * limit // max(1, len(pending)) + 2)
    merged: list[_Row] = []
    while pending:
        asked, pending = pending, {}
        for name, topic in topics.items():
            ranges = [
                (slot, *span)
                for (of, slot), place in asked.items()
                if of == name and (span := _span(cursor, place)) is not None
            ]
            found = yield from _fetch(keyspace, topic, ranges, newest, share)
            for slot, rows in found:
                merged += rows
                if len(rows) == share:
                    pending[name, slot] = rows[-1].id
        merged.sort(key=_key, reverse=newest)
        del merged[limit + 1 :]
        if len(merged) > limit:
            edge = merged[-1].id
            pending = {at: last for at, last in pending.items() if last and (last >= edge if newest else last <= edge)}
        share = min(share * 4, limit + 1)
    page = merged[:limit]
    places = {name: dict(slots) for name, slots in cursor.places.items()}
    for row in page:
        places[row.topic][row.slot] = row.id
    entries = tuple(Entry(row.topic, row.slot, row.id, row.pairs) for row in page)
    return EntryPage(entries, cursor._replace(places=places).encode(topics.values()), len(merged) > limit)


def _key(row: _Row) -> tuple[EntryId, str, int]:
    return row[:3]


def _span(cursor: Cursor, place: EntryId | None) -> tuple[str, str] | None:
    """From and to of the next look at a slot, as the command takes them; None: there can be nothing."""
    low, high = cursor.bounds
    if place is None:
        return (high, low) if cursor.newest else (low, high)
    if cursor.newest:
        return None if place == FIRST_ID else (f"({place}", low)
    if place == FIRST_ID:  # nothing was read, and what comes is wanted
        return "-", high
    return None if place == LAST_ID else (f"({place}", high)


def _fetch(
    keyspace: Keyspace, topic: Topic, ranges: Sequence[tuple[int, str, str]], newest: bool, most: int
) -> Operation[list[tuple[int, list[_Row]]]]:
    groups = list(batches(ranges, 1 if keyspace.spread else SLOTS_AT_ONCE))
    replies: list[Any] = []
    for some in batches(groups, SLOTS_AT_ONCE):
        replies += yield [read_call(keyspace, topic, group, newest, most) for group in some]
    return [
        (slot, [_Row(EntryId.parse(raw), topic.name, slot, pairs) for raw, pairs in rows])
        for group, reply in zip(groups, replies, strict=True)
        for (slot, _, _), rows in zip(group, reply, strict=True)
    ]
