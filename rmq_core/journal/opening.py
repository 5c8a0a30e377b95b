"""Whether the engine has written an entry of a journal, and what is in it: see `entries` for the layout.

Anybody who has a client of Redis can add entries to a stream. What is none of ours says nothing of messages, and may
neither stop whoever reads nor count for anything; so all that readers rely on is looked at here, once.
"""

from __future__ import annotations

import math
import re
from typing import Any

import msgpack

from rmq_core.model import formats
from rmq_core.model.formats import JOURNAL, JOURNAL_FIELD
from rmq_core.model.text import shown

PLACES = {
    "n": "new",
    "s": "store",
    "r": "retry",
    "p": "prepare",
    "d": "dead",
    "t": "trash",
    "-": "gone",
}
"""What the letters of a route stand for; the queues by the names of their keys."""
_ROUTES = {f"{origin}{target}".encode() for origin in PLACES for target in PLACES}
_NUMBERS = {int, float}
_DETAILS = {*_NUMBERS, bytes, list}
_PARTS_OF_A_FAILURE = 6
NUMBER_DIGITS = 16
"""Of running numbers, at most: Lua counts exactly no farther."""
LATEST_MS = 253_402_300_799_999
"""The end of the year 9999: no later moment can be shown."""
FAILURES_MOST = 2**31 - 1
FARTHEST = 2**62
"""A score beyond that is a person's; a column of whole numbers has room for no more."""
_LATER_FIELD = re.compile(rb"[a-z]+[0-9]+")


def pairs_of(fields: Any) -> dict[bytes, bytes]:
    """The fields of an entry, as the server replies them (a flat list) or a mapping already."""
    return fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))


def number_of(fields: Any) -> int | None:
    """The running number of an entry; None: the engine has not written it. That of a later format counts: who opens it
    is told."""
    pairs = pairs_of(fields)
    n = _number(pairs)
    return n if n is not None and (_values(pairs) or _is_later(pairs)) else None


def opened(topic: str, slot: int, fields: Any) -> tuple[int, list[Any]] | None:
    """The running number of an entry, and what it says: ``[now_ms, group, …]``. None: the engine has not written it,
    and what somebody has added to a journal by hand says nothing of messages. Raises `UnknownFormat`."""
    pairs = pairs_of(fields)
    n = _number(pairs)
    if n is None:
        return None
    if values := _values(pairs):
        return n, values
    if _is_later(pairs):
        found = ", ".join(sorted(shown(name, 20) for name in pairs))
        formats.check(f"the journal of topic {topic!r}, slot {slot}, whose entries hold {found},", "unknown", JOURNAL)
    return None


def _number(pairs: dict[bytes, bytes]) -> int | None:
    text = pairs.get(b"n", b"")
    return int(text) or None if len(text) <= NUMBER_DIGITS and text.isdigit() else None


def _is_later(pairs: dict[bytes, bytes]) -> bool:
    """Whether one that has a number is of a later format, whose content stands under another name: see `formats`."""
    return JOURNAL_FIELD not in pairs and any(map(_LATER_FIELD.fullmatch, pairs))


def _values(pairs: dict[bytes, bytes]) -> list[Any] | None:
    try:
        values = msgpack.unpackb(pairs[JOURNAL_FIELD], raw=True, strict_map_key=False)
    except (KeyError, ValueError, TypeError, msgpack.UnpackException):
        return None
    if type(values) is not list or len(values) < 2 or type(values[0]) is not int or not 0 <= values[0] <= LATEST_MS:
        return None
    groups = iter(values)
    next(groups)
    for group in groups:
        if not _is_group(group):
            return None
    return values


def _is_group(group: Any) -> bool:
    if type(group) is not list or not 3 <= len(group) <= 6:
        return False
    event, route, items, *more = group
    if type(items) is list and len(items) == 2 and not more:  # most are of one message: what follows, without sets
        id, detail = items
        if type(id) is type(event) is type(route) is bytes and type(detail) in _NUMBERS and route in _ROUTES:
            return event.isascii() and event != b""
    return bool(
        type(event) is type(route) is bytes
        and event
        and event.isascii()
        and route in _ROUTES
        and type(items) is list
        and not len(items) % 2
        and {*map(type, items[::2])} == {bytes}
        and _are_details(items[1::2])
        and _are_contents(len(items) // 2, *more)
    )


def _are_details(details: list[Any]) -> bool:
    kinds = {*map(type, details)}
    return kinds <= _NUMBERS or (kinds <= _DETAILS and all(map(_is_detail, details)))


def _is_detail(detail: Any) -> bool:
    if type(detail) is not list:
        return _is_score(detail)
    if len(detail) != _PARTS_OF_A_FAILURE or {*map(type, detail[2:])} != {bytes}:
        return False
    return all(map(_is_score, detail[:2]))


def _is_score(value: Any) -> bool:
    """A number, or its text. It may be infinite: what a person has written into a queue becomes the engine's."""
    if type(value) is bytes:
        try:
            float(value or b"0")
        except ValueError:
            return False
    return type(value) in (int, float, bytes)


def _are_contents(many: int, bodies: Any = None, bases: Any = (), with_body: Any = 0) -> bool:
    """What follows the items of a group of so many ids."""
    if type(bodies) is list:
        are_bodies = len(bodies) <= many and {*map(type, bodies)} <= {bytes, bool}
    elif type(bodies) is dict:  # Lua's arrays with holes come as maps that count from 1
        are_bodies = all(_is_place(at, many) for at in bodies) and {*map(type, bodies.values())} <= {bytes, bool}
    else:
        are_bodies = bodies is None or bodies is False
    if not are_bodies or type(bases) not in (list, tuple) or len(bases) % 2:
        return False
    are_bases = all(_is_place(at, many) for at in bases[::2]) and {*map(type, bases[1::2])} <= {bytes}
    return are_bases and type(with_body) is int


def _is_place(at: Any, many: int) -> bool:
    return type(at) is int and 1 <= at <= many


def bodies_of(said: Any) -> dict[int, bytes]:
    """The contents that a group tells, by the place of the id in it, from 1."""
    if not said:
        return {}
    numbered = said.items() if type(said) is dict else enumerate(said, start=1)
    return {at: body for at, body in numbered if type(body) is bytes}


def clamped(score: float) -> float:
    """A score with which whole numbers can be made: what is infinite, or none at all, is very far."""
    if abs(score) < FARTHEST:
        return score
    return round(math.copysign(FARTHEST, score))


def failures_of(value: Any) -> int:
    """How often a message has failed, of what a group says; of scores that a person has written it may be anything."""
    return int(min(max(0, clamped(float(value or 0))), FAILURES_MOST))
