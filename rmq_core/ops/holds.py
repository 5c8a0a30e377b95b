"""Holding one key: its messages wait, others of its slot go on."""

from __future__ import annotations

import re
from typing import NamedTuple

from rmq_core.errors import InvalidMessage, TooManyHolds, WrongKind
from rmq_core.model.bounds import slot_of, whole
from rmq_core.model.holds import (
    BY_THEMSELVES,
    FOR_MAX_MS,
    HOLDS_MAX,
    KEY_MAX,
    LETTERS,
    NOTE_MAX,
    Hold,
    HoldOf,
    read_holds,
)
from rmq_core.model.ids import raw_id
from rmq_core.model.message import as_bytes
from rmq_core.model.text import NotText, check_unicode
from rmq_core.model.topic import Topic
from rmq_core.ops.hints import with_looks
from rmq_core.protocol.keys import Keyspace, slot_for
from rmq_core.protocol.scripts import Operation, batches
from rmq_core.protocol.slot_calls import on_hold
from rmq_core.queries import by_id
from rmq_core.queries.present import now_of

SLOTS_AT_ONCE = 128
LIFTED_AT_ONCE = 500
_REF = re.compile(r"([0-9]{1,5})-([0-9]{1,16})")


class Lifted(NamedTuple):
    """What lifting a hold did: whether it was there, and how many messages came back to their places."""

    found: bool
    messages: int


def holds(keyspace: Keyspace, topic: Topic) -> Operation[list[Hold]]:
    """Those of a topic, by slot, each with how many messages it keeps back. What waits for its turn: `order.order`."""
    yield from now_of(keyspace, topic)
    found: list[Hold] = []
    for slots in batches(range(topic.slots), SLOTS_AT_ONCE):
        marks = yield [("HGET", keyspace.slot(topic.name, slot).stats, "holds") for slot in slots]
        found += [hold for slot, mark in zip(slots, marks, strict=True) for hold in read_holds(slot, mark)]
    found = [hold for hold in found if hold.of not in BY_THEMSELVES]
    counts = yield [("ZCOUNT", keyspace.slot(topic.name, hold.slot).retry, *hold.scores) for hold in found]
    return [_with(hold, held) for hold, held in zip(found, counts, strict=True)]


def _with(hold: Hold, held: int) -> Hold:
    values = (hold.slot, hold.of, hold.raw_key, hold.since_ms, hold.until_ms, hold.note, hold.number)
    return Hold(*values, held)


def hold(
    keyspace: Keyspace,
    topic: Topic,
    *,
    id: str | bytes | None = None,
    slot_basis: str | bytes | None = None,
    slot: int | None = None,
    for_ms: int | None = None,
    note: str = "",
) -> Operation[list[Hold]]:
    """Keeps back the messages of an id, or of a slot basis; one that is held already is from now on so long.

    A slot basis is held in its slot. An id is held in ``slot``, else wherever there is a message of it, else in the
    slot that it leads to. Raises `InvalidMessage`, `TooManyHolds`, `WrongKind`.
    """
    if topic.is_stream or topic.is_group:
        raise WrongKind("keys of a stream are not held: pause the group, or give it a back-off")
    of, key = _key(id, slot_basis)
    if for_ms is not None:
        whole("for_ms", for_ms, 1, FOR_MAX_MS)
    _check_note(note)
    if of == "slot_basis":
        slots = [slot_for(key, topic.slots)]
    elif slot is not None:
        slots = [slot_of(topic, slot)]
    else:
        slots = [view.row.slot for view in (yield from by_id.find(keyspace, topic, key))]
        slots = slots or [slot_for(key, topic.slots)]
    known = yield from holds(keyspace, topic)
    known = [each for each in known if each.of != "failure"]
    others = [each for each in known if (each.of, each.raw_key) != (of, key)]
    if len(others) + len(slots) > HOLDS_MAX:
        raise TooManyHolds(f"the topic has {len(known)} holds, and at most {HOLDS_MAX} are kept: lift one first")
    values = (LETTERS[of], key, "" if for_ms is None else for_ms, note, HOLDS_MAX)
    calls = [on_hold("hold", keyspace, topic, each, *values) for each in slots]
    replies = yield from with_looks(keyspace, topic, slots, calls)
    made = {(each, since_ms) for each, (_, since_ms, _) in zip(slots, replies, strict=True)}
    return [each for each in (yield from holds(keyspace, topic)) if (each.slot, each.since_ms) in made]


def lift(keyspace: Keyspace, topic: Topic, ref: str | Hold) -> Operation[Lifted]:
    """Lifts a hold (or the one named so: `Hold.ref`): what it kept back goes on from its place.

    Should this process die meanwhile, whoever takes from the slot does the rest.
    """
    named = ref.ref if isinstance(ref, Hold) else ref
    match = _REF.fullmatch(named) if isinstance(named, str) else None
    if match is None:
        raise InvalidMessage(f"a hold is named as in a list of holds, '<slot>-<time>', not {named!r:.80}")
    slot, since_ms = slot_of(topic, int(match[1])), int(match[2])
    moved, found = 0, False
    while True:
        calls = [on_hold("lift", keyspace, topic, slot, since_ms, LIFTED_AT_ONCE)]
        ((there, some, more),) = yield from with_looks(keyspace, topic, [slot], calls)
        found = found or bool(there)
        moved += some
        if not more:
            return Lifted(found, moved)


def _key(id: str | bytes | None, slot_basis: str | bytes | None) -> tuple[HoldOf, bytes]:
    if (id is None) == (slot_basis is None):
        raise InvalidMessage("a hold is of an id or of a slot basis: give one of them")
    of: HoldOf = "id" if id is not None else "slot_basis"
    key = raw_id(id) if id is not None else as_bytes(slot_basis or b"", "slot_basis")
    if not 1 <= len(key) <= KEY_MAX:
        raise InvalidMessage(f"{of} must have 1 to {KEY_MAX} bytes, not {len(key)}")
    return of, key


def _check_note(note: str) -> None:
    if not isinstance(note, str) or len(note) > NOTE_MAX:
        raise InvalidMessage(f"note must be text of at most {NOTE_MAX} characters")
    try:
        check_unicode(note)
    except NotText as error:
        raise InvalidMessage(f"note {error}") from None
