"""Lists over all slots of a topic, merged by score, a bounded page at a time, with a cursor that survives changes."""

from __future__ import annotations

import base64
import json
from typing import NamedTuple

from rmq_core.errors import InvalidMessage
from rmq_core.model.bounds import whole
from rmq_core.model.holds import HELD_FROM
from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.model.scores import RETRIED_MAX, SHIFT, due_of, exact
from rmq_core.model.states import STATES, State
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import QUEUE_KEYS, Keyspace
from rmq_core.protocol.scripts import Call, Operation, script

PAGE_MAX = 500
BULK_MAX = 5_000
"""For those who ask for nothing but addresses."""
STATES_IN_CURSORS: dict[State, str] = {"retrying": "waiting"}
"""Cursors say what they always said: an operation goes on over an upgrade."""
TRASH = QUEUE_KEYS.index("trash")


class Entry(NamedTuple):
    """A member of a queue, in the order of the merged list."""

    score: float
    slot: int
    id: bytes

    @property
    def ref(self) -> MessageRef:
        """The message's full address."""
        return MessageRef(self.slot, id_to_text(self.id))


class Cursor(NamedTuple):
    """A position: everything up to and including this entry was shown. The rest says which list it belongs to."""

    list: str
    entry: Entry

    def encode(self) -> str:
        """Opaque text for a URL."""
        score, slot, raw = self.entry
        return base64.urlsafe_b64encode(json.dumps([self.list, score, slot, raw.hex()]).encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, expected_list: str) -> Cursor:
        """Inverse of `encode`; raises `InvalidMessage` for a cursor of another list or made up."""
        try:
            name, score, slot, raw = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            cursor = cls(str(name), Entry(exact(score), int(slot), bytes.fromhex(raw)))
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise InvalidMessage("this cursor is not one of ours; begin again without it") from None
        if cursor.list != expected_list:
            raise InvalidMessage("this cursor belongs to another list; begin again without it")
        return cursor


class Window(NamedTuple):
    """Where a state is found: a queue (its position in the slot's keys) and a range of scores."""

    queue: int
    low: str
    high: str


def window(topic: Topic, state: State, now_ms: int) -> Window | None:
    """None: the topic's kind has no such state."""
    if state not in STATES:
        raise InvalidMessage(f"state {state!r} must be one of {', '.join(STATES)}")
    if state == "ready":
        # Behind the whole milliseconds come the places of that time.
        return Window(0, "-inf", f"({now_ms + 1}" if topic.timed else "+inf")
    if state == "delayed":
        return Window(0, str(now_ms + 1), "+inf") if topic.timed else None
    if state == "trash":
        return Window(TRASH, f"({now_ms - topic.undo_ms}", "+inf")
    if state == "held":
        return Window(1, str(HELD_FROM), "+inf")
    if state == "retrying":
        return Window(1, "-inf", f"({HELD_FROM}")
    return Window({"in_flight": 2, "dead": 3}[state], "-inf", "+inf")


def entries(
    keyspace: Keyspace,
    topic: Topic,
    state: State,
    now_ms: int,
    *,
    slots: range | None = None,
    descending: bool = False,
    limit: int = 50,
    most: int = PAGE_MAX,
    cursor: str | None = None,
    span: Window | None = None,
) -> Operation[tuple[list[Entry], str | None]]:
    """One page of the merged list and the cursor of the next one; ``span``: of the state, only these scores.

    Each slot is first asked for its fair share and a little more; only those that were used up are asked again.
    """
    whole("limit", limit, 1, most)
    found = window(topic, state, now_ms)
    if found is not None and span is not None:
        found = span
    slots = range(topic.slots) if slots is None else slots
    name = _list_name(topic, state, slots, descending, span)
    start = Cursor.decode(cursor, name).entry if cursor else None
    if found is None:
        return [], None
    share = min(limit + 1, 2 * limit // len(slots) + 2)
    pending: dict[int, Entry | None] = dict.fromkeys(slots, start)
    merged: list[Entry] = []
    while pending:
        asked = list(pending.items())
        replies = yield [_page(keyspace, topic, slot, found, descending, share, after) for slot, after in asked]
        pending = {}
        fetched: list[Entry] = []
        for (slot, _), reply in zip(asked, replies, strict=True):
            page = [Entry(exact(reply[i + 1]), slot, reply[i]) for i in range(0, len(reply), 2)]
            fetched += page
            if len(page) == share:
                pending[slot] = page[-1]
        # Entries sort by themselves (bytes as Redis compares them): much of the speed of bulk work is here.
        merged = sorted(merged + fetched, reverse=descending)[: limit + 1]
        if len(merged) > limit:
            edge = merged[-1]
            pending = {slot: last for slot, last in pending.items() if last and _before(last, edge, descending)}
        share = min(share * 4, limit + 1)
    page = merged[:limit]
    more = len(merged) > limit
    return page, Cursor(name, page[-1]).encode() if more else None


def _list_name(topic: Topic, state: State, slots: range, descending: bool, span: Window | None) -> str:
    named, way = STATES_IN_CURSORS.get(state, state), "down" if descending else "up"
    name = f"{topic.name}/{named}/{way}/{slots.start}-{slots.stop}"
    return name if span is None else f"{name}/{span.low}..{span.high}"


def cursor_at(topic: Topic, state: State, slots: range, descending: bool, span: Window | None, entry: Entry) -> str:
    """The cursor of a page that ends with that entry."""
    return Cursor(_list_name(topic, state, slots, descending, span), entry).encode()


def _before(entry: Entry, other: Entry, descending: bool) -> bool:
    return entry > other if descending else entry < other


def _page(
    keyspace: Keyspace,
    topic: Topic,
    slot: int,
    found: Window,
    descending: bool,
    limit: int,
    after: Entry | None,
) -> Call:
    key = keyspace.slot_keys(topic.name, slot)[found.queue]
    low, high, position = found.low, found.high, ("", b"")
    if after is not None:
        if after.slot == slot:
            position = (repr(after.score), after.id)
        else:
            # A slot that sorts behind the cursor's may still show that very score.
            shown = (slot < after.slot) != descending
            bound = f"({after.score!r}" if shown else repr(after.score)
            low, high = (low, min(bound, high, key=_value)) if descending else (max(bound, low, key=_value), high)
    args = ["down" if descending else "up", low, high, limit, *position]
    return Call(script("page"), [key], args)


def _value(bound: str) -> float:
    return float(bound.lstrip("("))


def entry_ms(topic: Topic, state: State, entry: Entry) -> int | None:
    """The time an entry's score tells, if it tells one."""
    if state == "held":
        return None
    if state in {"retrying", "in_flight"}:
        return due_of(entry.score) // SHIFT
    if state in {"dead", "trash"}:
        return due_of(entry.score)
    return due_of(entry.score) if topic.timed and entry.score > RETRIED_MAX else None
