"""Versions of a key in their order: what waits for what (``lua/shared/order.lua``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from rmq_core.model.bounds import whole
from rmq_core.model.ids import id_to_text, raw_id
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation, batches
from rmq_core.queries.present import now_of

LISTED_MOST = 1_000
SLOTS_AT_ONCE = 128

Awaited: TypeAlias = Literal["pending", "in_flight", "dead", "removed", "missing"]
"""Where the version is that the others wait for: it waits itself, or is handled; or it blocks them: it is dead, in the
trash, or nowhere, for it expired, or has not come."""


class Waiting(NamedTuple):
    """A key of which versions wait. ``next``: the version whose turn it is; ``awaited``: where that is.

    ``lowest``: the first that waits, ``held``: how many do; ``since_ms``: since when the order has not moved.
    """

    slot: int
    raw_key: bytes
    next: int
    awaited: Awaited
    lowest: int
    held: int
    since_ms: int

    @property
    def key(self) -> str:
        """In a printable form (`ids.id_to_text`)."""
        return id_to_text(self.raw_key)

    @property
    def blocked(self) -> bool:
        """Whether it goes on only when somebody does something, or after the topic's ``skip_after_ms``."""
        return self.awaited in {"dead", "removed", "missing"}

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""
        shown = {"slot": self.slot, "key": self.key, "next": self.next, "awaited": self.awaited}
        return shown | {
            "blocked": self.blocked,
            "lowest": self.lowest,
            "held": self.held,
            "since_ms": self.since_ms,
        }


class Order(NamedTuple):
    """``keys``: of how many versions wait; ``waiting``: those whose order has not moved for longest."""

    keys: int
    waiting: list[Waiting]


def order(keyspace: Keyspace, topic: Topic, most: int = 100, key: str | bytes | None = None) -> Operation[Order]:
    """What waits for what, longest first, at most so many keys; or of one key."""
    whole("most", most, 1, LISTED_MOST)
    yield from now_of(keyspace, topic)
    keys, found = 0, list[tuple[float, int, bytes]]()
    wanted = None if key is None else raw_id(key)
    for slots in batches(range(topic.slots if topic.in_order else 0), SLOTS_AT_ONCE):
        names = [keyspace.slot(topic.name, slot).order_since for slot in slots]
        if wanted is None:
            counts = yield [("ZCARD", name) for name in names]
            some = [(slot, name) for slot, name, count in zip(slots, names, counts, strict=True) if count]
            listed = yield [("ZRANGE", name, 0, most - 1) for _, name in some]
            scores = yield [("ZMSCORE", name, *each, b"") for (_, name), each in zip(some, listed, strict=True)]
            keys += sum(counts)
            for (slot, _), raw, since in zip(some, listed, scores, strict=True):
                found += [(float(at), slot, each) for each, at in zip(raw, since, strict=False) if at is not None]
        else:
            scores = yield [("ZSCORE", name, wanted) for name in names]
            each = [
                (float(score), slot, wanted) for slot, score in zip(slots, scores, strict=True) if score is not None
            ]
            keys += len(each)
            found += each
    return Order(keys, (yield from _waiting(keyspace, topic, sorted(found)[:most])))


def _waiting(keyspace: Keyspace, topic: Topic, found: Sequence[tuple[float, int, bytes]]) -> Operation[list[Waiting]]:
    places = [(keyspace.slot(topic.name, slot), key) for _, slot, key in found]
    marks = [b"%d:%b:" % (len(key), key) for _, key in places]
    lasts = yield [("HGET", keys.order_last, key) for keys, key in places]
    spans = [(b"[" + mark, b"[" + mark + b"\xff") for mark in marks]
    counts = yield [("ZLEXCOUNT", keys.order_waits, *span) for (keys, _), span in zip(places, spans, strict=True)]
    firsts = yield [
        ("ZRANGEBYLEX", keys.order_waits, *span, "LIMIT", 0, 1) for (keys, _), span in zip(places, spans, strict=True)
    ]
    nexts = [int(last or max(0, topic.first_version - 1)) + 1 for last in lasts]
    ids = [b"%b#%d" % (key, version) for (_, key), version in zip(places, nexts, strict=True)]
    scores = yield [
        ("ZSCORE", queue, ident)
        for (keys, _), ident in zip(places, ids, strict=True)
        for queue in (keys.store, keys.retry, keys.prepare, keys.dead, keys.trash)
    ]
    waiting = []
    for at, (since, slot, key) in enumerate(found):
        if firsts[at]:
            lowest, awaited = int(firsts[at][0][-16:]), _awaited(scores[at * 5 : at * 5 + 5])
            # A key that begins elsewhere by now: its first version has been set aside, and nobody will call it.
            awaited = "missing" if lowest == nexts[at] else awaited
            waiting.append(Waiting(slot, key, nexts[at], awaited, lowest, counts[at], int(since)))
    return waiting


def _awaited(scores: Sequence[Any]) -> Awaited:
    store, retry, prepare, dead, trash = (score is not None for score in scores)
    if prepare:
        return "in_flight"
    return "pending" if store or retry else "dead" if dead else "removed" if trash else "missing"
