"""Dead letters somebody has seen and leaves: who, when, and up to which time of death.

Kept in Redis beside what it is about: a hash, topic → JSON. What dies later is news again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from console.engine import AsyncEngine
from console.snapshots.store import with_own_type
from rmq_core.errors import RMQError
from rmq_core.model.views import MessageRow
from rmq_core.protocol.scripts import Operation

LOOKED_AT = 100
"""So many of the newest dead letters are looked at to count the new ones; beyond, all later ones count as new."""


@dataclass(frozen=True)
class Acknowledgement:
    """`until_ms`: what died up to then is known. `count`: how many dead letters that were. `version`: the topic's."""

    until_ms: int
    count: int
    by: str
    at_ms: int
    version: int
    reason: str = ""

    def sound(self) -> bool:
        """Whether every field is what it should be: it may have been stored by anybody."""
        numbers = (self.until_ms, self.count, self.at_ms, self.version)
        return all(type(number) is int and 0 <= number < 2**63 for number in numbers) and all(
            isinstance(words, str) for words in (self.by, self.reason)
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def read(key: str) -> Operation[dict[str, Acknowledgement]]:
    """By topic; what cannot be read counts as never acknowledged."""
    (stored,) = yield from with_own_type(key, [("HGETALL", key)])
    pairs = stored.items() if isinstance(stored, Mapping) else zip(stored[::2], stored[1::2], strict=True)
    found = {}
    for name, text in pairs:
        try:
            one = Acknowledgement(**json.loads(text))
            if one.sound():
                found[name.decode()] = one
        except (TypeError, ValueError, RecursionError):
            continue
    return found


def write(key: str, topic: str, acknowledgement: Acknowledgement) -> Operation[None]:
    yield from with_own_type(key, [("HSET", key, topic, json.dumps(acknowledgement.as_json()))])


def forget(key: str, topics: Iterable[str]) -> Operation[None]:
    """Of topics that are gone: one of the same name would be another."""
    names = list(topics)
    if names:
        yield from with_own_type(key, [("HDEL", key, *names)])


def newer(rows: Iterable[MessageRow], until_ms: int) -> int:
    """How many died after a time."""
    return sum((row.score_ms or 0) > until_ms for row in rows)


class Unacknowledged:
    """Counts a topic's dead letters nobody has acknowledged; asks Redis only when something changed."""

    def __init__(self) -> None:
        self._asked: tuple[Any, ...] | None = None
        self._known = 0

    def all_of(self, dead: int) -> int:
        """Where nobody has acknowledged any, or none is there, every one of them counts."""
        self._asked = None
        return dead

    async def count(self, engine: AsyncEngine, name: str, dead: int, died: int, found: Acknowledgement) -> int:
        """`dead`: there now; `died`: ever. Where it cannot be asked, every one of them counts."""
        question = (dead, died, found)
        if question == self._asked:
            return self._known
        try:
            page = await engine.inspector.messages(name, "dead", newest=True, limit=LOOKED_AT)
        except RMQError:
            return dead
        fresh = newer(page.rows, found.until_ms)
        if fresh == LOOKED_AT:  # there may be more behind them
            fresh = max(fresh, dead - found.count)
        self._asked, self._known = question, min(dead, fresh)
        return self._known
