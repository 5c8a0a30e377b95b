"""What a stored message says of others: those that were to follow it, with their contents, and the one that it follows.

Where one of these was erased, its part of the body goes, too: what was to follow becomes its topic and ``erased``, with
all that was to follow that; of what it followed the id becomes that of an erased message. All else stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from rmq_core.errors import InvalidMessage
from rmq_core.model.bodies import BODY_FORMAT, LIMITED_FORMAT, decode_body, digest
from rmq_core.model.composing import composed
from rmq_core.model.entry import StreamMessage, encode_entry
from rmq_core.model.entry_form import BASIS, ENTRY_FORMAT, HEADERS, from_body, to_body
from rmq_core.model.follow_ups import AFTER_HEADER, ERASED, THEN_HEADER, Addressed, after_text, is_erased, own_id
from rmq_core.model.ids import id_from_text, id_to_text
from rmq_core.model.message import encode
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import slot_for

MARKS = tuple(f'"{name}"'.encode() for name in (THEN_HEADER, AFTER_HEADER))
"""One of them is in every body that mentions another message (and in some that do not)."""
NO_ID = b""
"""The id of what was erased."""


class Mentioned(NamedTuple):
    """A message that another one tells of."""

    topic: str
    id: bytes


class Told(NamedTuple):
    """A message by what it followed (`after_text`) and a digest of its content, where nobody can foretell its id."""

    topic: str
    after: str
    content: bytes


@dataclass(frozen=True)
class Gone:
    """What is to be erased: ``messages``; of all topics in ``scope`` (None: of all) these ``ids`` and slot ``bases``,
    but not what is ``kept``. ``told``: by what is known of some of the messages beside their ids. ``topics``: every
    definition there was of each topic, by which its messages have their ids."""

    messages: frozenset[tuple[str, bytes]] = frozenset()
    ids: frozenset[bytes] = frozenset()
    bases: frozenset[bytes] = frozenset()
    scope: frozenset[str] | None = None
    kept: frozenset[tuple[str, bytes]] = frozenset()
    told: Mapping[Told, bytes] = field(default_factory=dict)
    topics: Mapping[str, tuple[Topic, ...]] = field(default_factory=dict)

    @cached_property
    def _afters(self) -> dict[bytes, set[str]]:
        found: dict[bytes, set[str]] = {}
        for each in self.told:
            if before := followed(each.after):
                found.setdefault(before.id, set()).add(each.after)
        return found

    def afters(self, topic: str, slots: Collection[int], id: bytes) -> set[str]:
        """What `AFTER_HEADER` may say of what follows a message: a route takes it, with what is to follow it, to
        another topic, where it mostly keeps its id."""
        return {after_text(topic, slot, id) for slot in slots} | self._afters.get(id, set())

    def has(self, topic: str, id: bytes) -> bool:
        """Whether this message is erased; of one of which only the id is known, that may be its slot basis, too."""
        if (topic, id) in self.kept or (self.scope is not None and topic not in self.scope):
            return False
        return id in self.ids or id in self.bases or (topic, id) in self.messages

    def of(self, topic: str, ids: Collection[bytes], bases: Collection[bytes]) -> bytes | None:
        """The id under which a message with one of these ids, or slot bases, is erased; None: it is not."""
        if any((topic, id) in self.kept for id in ids) or (self.scope is not None and topic not in self.scope):
            return None
        named = next((id for id in ids if id in self.ids or (topic, id) in self.messages), None)
        if named is None and any(base in self.bases for base in bases):
            return next(iter(ids), NO_ID)
        return named


def redacted(topic: str, slot: int, id: bytes, body: bytes, gone: Gone) -> tuple[bytes, list[Mentioned]]:
    """A body without what it says of what is gone, and what that was. What cannot be read says nothing of anybody."""
    found: list[Mentioned] = []

    def changed(headers: bytes) -> bytes:
        try:
            told = json.loads(headers)
        except (ValueError, RecursionError):
            return headers
        if not isinstance(told, dict):
            return headers
        after, then = told.get(AFTER_HEADER), told.get(THEN_HEADER)
        known = len(found)
        if isinstance(after, str) and (one := followed(after)) and gone.has(*one):
            found.append(one)
            told[AFTER_HEADER] = " ".join((*after.split(" ", 2)[:2], id_to_text(NO_ID)))
        if isinstance(then, str):
            told[THEN_HEADER] = _plan(then, gone.afters(topic, (slot,), id), gone, found)
        return json.dumps(told, separators=(",", ":")).encode() if len(found) > known else headers

    if not any(mark in body for mark in MARKS):
        return body, []
    return _with_headers(body, changed), found


def followed(after: str) -> Mentioned | None:
    """The message that the header names; None: it names none."""
    parts = after.split(" ", 2)
    try:
        return Mentioned(parts[0], id_from_text(parts[2])) if len(parts) == 3 else None
    except InvalidMessage:
        return None


def told_of(topic: str, body: bytes) -> Told | None:
    """What is known of a message that followed another, beside its id; None: it followed none."""
    try:
        known = decode_body(body)
        after = known.headers.get(AFTER_HEADER)
        return Told(topic, after, _content(body, known.content)) if isinstance(after, str) else None
    except (InvalidMessage, ValueError, RecursionError):
        return None


def _content(body: bytes, content: bytes) -> bytes:
    """A digest of a content; of an entry of a stream, of its fields."""
    if body[:1] != ENTRY_FORMAT:
        return digest(content)
    return _of_pairs(from_body(body))


def _of_pairs(pairs: list[bytes]) -> bytes:
    named = zip(pairs[::2], pairs[1::2], strict=True)
    return digest(to_body([part for name, value in named if name not in (HEADERS, BASIS) for part in (name, value)]))


def _plan(then: str, parents: set[str], gone: Gone, found: list[Mentioned]) -> str:
    try:
        plan = json.loads(then)
    except (ValueError, RecursionError):
        return then
    if not isinstance(plan, dict):
        return then
    known = len(found)
    changed = _followers(plan, parents, gone, found)
    return json.dumps(changed, separators=(",", ":"), ensure_ascii=False) if len(found) > known else then


def _followers(value: dict[str, Any], parents: set[str], gone: Gone, found: list[Mentioned]) -> dict[str, Any]:
    """``parents``: what the header `AFTER_HEADER` of what follows may say."""
    names = [name for name in ("if_done", "if_dead") if isinstance(value.get(name), dict)]
    return value | {name: _node(value[name], parents, gone, found) for name in names}


def _node(value: dict[str, Any], parents: set[str], gone: Gone, found: list[Mentioned]) -> dict[str, Any]:
    if is_erased(value):
        return value
    try:
        given = Addressed.from_value(value)
        forms = list(_forms(given, parents, gone))
    except (InvalidMessage, ValueError, TypeError, RecursionError):  # somebody else has written it
        return value
    ids = {form.id: None for form in forms}
    bases = {base for form in forms for base in form.bases}
    id = gone.of(given.topic, ids, bases)
    if id is not None:
        found.append(Mentioned(given.topic, id))
        return {"topic": given.topic, ERASED: True}
    own = {after for form in forms for after in gone.afters(given.topic, form.slots, form.id)}
    return _followers(value, own, gone, found)


class _Form(NamedTuple):
    """A message as it may have been sent: what ids it has depends on its topic, and on what it follows."""

    id: bytes
    bases: list[bytes]
    slots: frozenset[int]


def _forms(given: Addressed, parents: set[str], gone: Gone) -> Iterator[_Form]:
    message = composed(given)
    if isinstance(message, StreamMessage):
        entry = encode_entry(message)
        bases = [entry.basis] if message.slot_basis is not None else []
        found = [gone.told.get(Told(given.topic, after, _of_pairs(entry.pairs))) for after in sorted(parents)]
        ids = [id for id in (message.id and message.id.encode(), *found) if id]
        yield from (_Form(id, bases, frozenset()) for id in ids or [NO_ID])
        return
    content = message.content if isinstance(message.content, bytes) else message.content.encode()
    for topic in gone.topics.get(given.topic) or (None,):
        for after in sorted(parents):
            made = encode(replace(message, own_id=own_id(after, given)), topic)
            slots = frozenset({slot_for(made.basis, topic.slots)} if topic else ())
            yield _Form(made.id, [made.basis], slots)
            if id := gone.told.get(Told(given.topic, after, digest(content))):
                yield _Form(id, [made.basis], slots)


def _with_headers(body: bytes, changed: Callable[[bytes], bytes]) -> bytes:
    """The same body with other headers, byte for byte."""
    try:
        if body[:1] == ENTRY_FORMAT:
            pairs = from_body(body)
            several = zip(pairs[::2], pairs[1::2], strict=True)
            made = [part for name, value in several for part in (name, changed(value) if name == HEADERS else value)]
            return to_body(made) if made != pairs else body
        front, rest = b"", body
        if body[:1] == LIMITED_FORMAT:
            marks, _, rest = body.partition(b" ")
            front = marks + b" "
        elif body[:1] == BODY_FORMAT:
            front, rest = BODY_FORMAT, body[1:]
        if not front:  # older than formats
            version, size, rest = rest.split(b" ", 2)
            basis, headers = b"", rest[: int(size)]
            start, content = version, rest[int(size) :]
        else:
            version, basis_size, size, rest = rest.split(b" ", 3)
            end = int(basis_size) + int(size)
            basis, headers, content = rest[: int(basis_size)], rest[int(basis_size) : end], rest[end:]
            start = b"%b %b" % (version, basis_size)
        if not headers or (new := changed(headers)) == headers:
            return body
    except (ValueError, InvalidMessage):  # another release wrote it, or nobody did
        return body
    return b"%b%b %d %b%b%b" % (front, start, len(new), basis, new, content)
