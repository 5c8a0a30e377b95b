"""What is stored beside the entries of a page: contents, failure records, and whatever else a slot keeps by id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from rmq_core.model.bodies import decode_body
from rmq_core.model.comparison import Comparison
from rmq_core.model.entry_form import to_body
from rmq_core.model.states import State
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation
from rmq_core.queries.paging import Entry
from rmq_core.queries.trash import OWN_POOL, own_body

FIRST_CONTENTS = 32
CONTENT_BYTES = 8 * 1_048_576
"""So much is read at once, as far as can be told from what was read before."""


Test: TypeAlias = Callable[[bytes, bytes | None], bool]
"""Whether a message is meant, by its id and its stored body; None: its content is the id."""


def with_text(text: str) -> Test:
    """That has it in its id or content."""
    needle = text.encode()
    return lambda raw_id, body: (
        needle in raw_id or bool(body and needle in body and needle in decode_body(body).content)
    )


def that_holds(comparison: Comparison) -> Test:
    """Whose content it holds for."""
    return lambda raw_id, body: comparison.holds(decode_body(body).content if body else raw_id)


def of_tenant(tenant: str) -> Test:
    """Whose it is; what has no body of its own is nobody's (``""``)."""
    return lambda raw_id, body: (decode_body(body).tenant if body else "") == tenant


def fulfilling(keyspace: Keyspace, topic: Topic, state: State, page: list[Entry], test: Test) -> Operation[list[Entry]]:
    """Those of a page that pass, in order."""
    matches: list[Entry] = []
    at, some = 0, FIRST_CONTENTS
    while at < len(page):
        part = page[at : at + some]
        stored = yield from bodies(keyspace, topic, state, part)
        matches += [entry for entry, body in zip(part, stored, strict=True) if test(entry.id, body)]
        at += some
        read = sum(len(body) for body in stored if body)
        some = max(1, min(len(page), CONTENT_BYTES * len(part) // max(1, read)))
    return matches


def bodies(keyspace: Keyspace, topic: Topic, state: State, page: list[Entry]) -> Operation[list[bytes | None]]:
    """The body of each copy in that state, as it is stored; None: its content is the id, or it went away meanwhile."""
    pooled = yield from values(keyspace, topic, "body", page)
    own = (yield from values(keyspace, topic, OWN_POOL[state], page)) if state in OWN_POOL else pooled
    found = [own_body(state, shared, each) for shared, each in zip(pooled, own, strict=True)]
    if topic.is_group and state not in OWN_POOL:
        yield from _from_stream(keyspace, topic, page, found)
    return found


def _from_stream(keyspace: Keyspace, topic: Topic, page: list[Entry], found: list[bytes | None]) -> Operation[None]:
    """Most entries of a group are in its stream alone."""
    left = [position for position, body in enumerate(found) if body is None]
    if not left:
        return
    requests: list[tuple[str, ...]] = []
    for position in left:
        ident = page[position].id.decode()
        requests.append(("XRANGE", keyspace.slot(topic.name, page[position].slot).entries, ident, ident))
    for position, reply in zip(left, (yield requests), strict=True):
        if reply:
            found[position] = to_body(_pairs(reply[0][1]))


def _pairs(told: Any) -> list[bytes]:
    """Names and values, which redis-py gives as a mapping or flat."""
    return [each for pair in told.items() for each in pair] if isinstance(told, dict) else list(told)


def values(keyspace: Keyspace, topic: Topic, pool: str, page: list[Entry]) -> Operation[list[bytes | None]]:
    """What a pool of the slots holds of each entry."""
    by_slot: dict[int, list[int]] = {}
    for position, entry in enumerate(page):
        by_slot.setdefault(entry.slot, []).append(position)
    replies = yield [
        ("HMGET", getattr(keyspace.slot(topic.name, slot), pool), *(page[position].id for position in positions))
        for slot, positions in by_slot.items()
    ]
    found: list[bytes | None] = [None] * len(page)
    for positions, reply in zip(by_slot.values(), replies, strict=True):
        for position, value in zip(positions, reply, strict=True):
            found[position] = value
    return found
