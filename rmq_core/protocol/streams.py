"""Builds the calls that go to a stream topic's slots; knows no socket. See ``lua/stream_*.lua``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rmq_core.model.group import Group
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Call, script
from rmq_core.protocol.takes import policy_at

SLOTS_AT_ONCE = 64
"""Slots that one call reads, where they are on one node."""

CUT_MOST = 10_000
"""Entries that go at once by either bound, as in ``lua/shared/trimming.lua``."""


class Position(NamedTuple):
    """Where a group stands in a slot, see ``lua/shared/positions.lua``."""

    cursor: str
    number: int
    furthest: str
    first: str
    first_number: int
    missed: int
    durable: bool


_POSITION = re.compile(
    rb"(\d{1,20}-\d{1,20}) (-?\d{1,17}) (\d{1,20}-\d{1,20}) (\d{1,20}-\d{1,20}) (-?\d{1,17}) (\d{1,17}) ([dn])"
)
_PART_MOST = 2**64 - 1
"""Of either number of an entry's id."""


def read_position(text: bytes) -> Position | None:
    """What the slot holds of it; None where it has none, or one that somebody has spoiled by hand."""
    found = _POSITION.fullmatch(text)
    if found is None:
        return None
    cursor, number, furthest, first, first_number, missed, durable = (each.decode() for each in found.groups())
    if any(int(part) > _PART_MOST for id in (cursor, furthest, first) for part in id.split("-")):
        return None
    return Position(cursor, int(number), furthest, first, int(first_number), int(missed), durable == "d")


def slot_length(topic: Topic) -> int:
    """A slot's share of ``max_length``; 0: any."""
    return -(-topic.max_length // topic.slots)


def add(
    keyspace: Keyspace, topic: Topic, slot: int, sender: str, number: int, floor: int, given: Sequence[Any], plain: bool
) -> Call:
    """Adds entries: contents where they are ``plain``, else id, how many names and values, name, value, …"""
    keys = keyspace.slot(topic.name, slot)
    fixed = (keyspace.wake(topic.name), slot, topic.shape, number, floor, slot_length(topic), topic.max_age_ms)
    how = (topic.trim.value, _unfinished(topic), "plain" if plain else "each")
    return Call(script("stream_add"), (*_kept(keyspace, topic, slot), keys.sender(sender)), tuple(given), fixed + how)


def read(keyspace: Keyspace, topic: Topic, ranges: Sequence[tuple[int, str, str]], newest: bool, most: int) -> Call:
    """What some slots hold; ``ranges``: slot, from, to as XRANGE (of ``newest`` XREVRANGE) takes them."""
    keys: list[str] = []
    args: list[Any] = [topic.shape, "XREVRANGE" if newest else "XRANGE", most]
    for slot, start, end in ranges:
        keys += _kept(keyspace, topic, slot)[:2]
        args += (start, end)
    return Call(script("stream_read"), keys, args)


def trim(keyspace: Keyspace, topic: Topic, slot: int) -> Call:
    """Cuts a slot to its bounds; replies how many entries went."""
    return Call(script("stream_trim"), _kept(keyspace, topic, slot), _bounds(topic))


def trim_plan(keyspace: Keyspace, topic: Topic, slot: int, most: int) -> Call:
    """Says what that would take, looking at so many entries at most, see ``lua/stream_trim_plan.lua``."""
    return Call(script("stream_trim_plan"), _kept(keyspace, topic, slot), [*_bounds(topic), most])


def delete(keyspace: Keyspace, topic: Topic, slot: int, ids: Sequence[str]) -> Call:
    """Deletes entries; replies 1 or 0 (not there) for each."""
    return Call(script("stream_delete"), _kept(keyspace, topic, slot), [topic.shape, *ids])


def count(keyspace: Keyspace, group: Group, slot: int, start: str, end: str, most: int) -> Call:
    """How many entries a slot has in a range, at most so many, see ``lua/stream_count.lua``."""
    keys = keyspace.slot(group.topic_name, slot)
    return Call(script("stream_count"), [keys.entries, keys.stats], [start, end, most])


def place(keyspace: Keyspace, group: Group, slot: int, how: str, where: Sequence[Any]) -> Call:
    """Places a group in a slot (``how`` new), or sets its position (set), see ``lua/group_place.lua``."""
    args = [group.shape, how, "d" if group.durable else "n", *where]
    return Call(script("group_place"), keyspace.slot_keys(group.name, slot), args)


def members(keyspace: Keyspace, group: Group, slot: int, first: int, most: int) -> Call:
    """Who has taken, and who has what, see ``lua/group_members.lua``."""
    return Call(script("group_members"), keyspace.slot_keys(group.name, slot), [first, most])


def claim(keyspace: Keyspace, group: Group, slot: int, how: str, of: Sequence[Any]) -> Call:
    """Puts back (``do``) what a member has, or says (``plan``) what that would be, see ``lua/group_claim.lua``."""
    args = [*policy_at(keyspace, group, slot), how, *of]
    return Call(script("group_claim"), keyspace.slot_keys(group.name, slot), args)


def _bounds(topic: Topic) -> list[Any]:
    return [topic.shape, slot_length(topic), topic.max_age_ms, topic.trim.value, _unfinished(topic)]


def _unfinished(topic: Topic) -> str:
    """What a trim does to entries that a durable group has not finished."""
    return "cut" if topic.trim_unread else "kept"


def _kept(keyspace: Keyspace, topic: Topic, slot: int) -> tuple[str, str, str, str]:
    """The keys that a stream's slot has."""
    keys = keyspace.slot_keys(topic.name, slot)
    return keys[0], keys[7], keys[8], keyspace.slot(topic.name, slot).positions
