"""A canary: some messages first, and what became of each of them before the rest follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from console.engine import engine
from console.serializers.operations import canary_stopped
from rmq_core.model.ids import MessageRef, raw_id
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation as Steps
from rmq_core.queries.present import now_ms

WAIT_MOST_MS = 6 * 3_600_000
"""After this long without an end the operation stops: nobody seems to consume."""


Fate: TypeAlias = Literal["well", "died", "under_way", "not_due"]


@dataclass(frozen=True)
class CanaryState:
    """What became of messages that were sent first, in their order. `well`: no longer in the queue; `died`: dead again;
    `not_due`: waits for a time that is still to come; `under_way`: neither."""

    fates: tuple[Fate, ...]

    def count(self, *fates: Fate) -> int:
        return sum(each in fates for each in self.fates)


class Canary:
    """`place`: the operation's saved JSON object, which this reads and writes.

    `phase`: sending, watching, passed. `refs`: those sent; `fates`: what became of each. `sent_ms`: when the last of
    them was. `repairs`: they are back where they belong, and those that are not due are well.
    """

    def __init__(self, size: int, place: dict[str, Any], repairs: bool = False) -> None:
        self._size = size
        self._repairs = repairs
        self._place = place
        if size:
            place.setdefault("phase", "sending")
            place.setdefault("refs", [])

    @property
    def phase(self) -> str:
        return str(self._place["phase"]) if self._size else "passed"

    def most(self, otherwise: int) -> int:
        """How many messages may go next."""
        return min(otherwise, self._size - len(self._place["refs"])) if self.phase == "sending" else otherwise

    def sent(self, refs: Sequence[MessageRef], now_ms: int) -> None:
        """Remember the first messages."""
        if self.phase != "sending":
            return
        self._place["refs"] += [[ref.slot, ref.id] for ref in refs]
        self._place["sent_ms"] = now_ms
        if len(self._place["refs"]) >= self._size:
            self._place["phase"] = "watching"

    def look(self, topic: str, now_ms: int) -> str | None:
        """See what became of them: the reason to stop, or None. Moves on to `passed` when all ended well."""
        refs = [MessageRef(slot, ident) for slot, ident in self._place["refs"]]
        found = engine().client.run(canary_state(engine().client.keyspace, engine().client.topic(topic), refs))
        died = found.count("died")
        well = found.count("well", "not_due") if self._repairs else found.count("well")
        under_way = len(refs) - died - well
        self._place.update(well=well, died=died, under_way=under_way, fates=list(found.fates))
        if under_way and not died and now_ms - self._place["sent_ms"] < WAIT_MOST_MS:
            return None
        if under_way or died:
            self._place["stopped"] = "died" if died else "late"
            return canary_stopped(self._place)
        self._place["phase"] = "passed"
        return None

    def overrule(self) -> None:
        """Go on without it: somebody has looked."""
        if self._size:
            self._place["phase"] = "passed"
            self._place.pop("stopped", None)


def canary_state(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Steps[CanaryState]:
    """Where messages are now, by asking the slots they belong to."""
    now = yield from now_ms(keyspace)
    by_slot: dict[int, list[int]] = {}
    for position, ref in enumerate(refs):
        by_slot.setdefault(ref.slot, []).append(position)
    commands = []
    for slot, positions in by_slot.items():
        keys = keyspace.slot(topic.name, slot)
        ids = [raw_id(refs[position].id) for position in positions]
        commands += [("ZMSCORE", key, *ids) for key in (keys.store, keys.retry, keys.prepare, keys.dead)]
    replies = (yield commands) if commands else []
    fates: dict[int, Fate] = {}
    for number, positions in enumerate(by_slot.values()):
        for position, *scores in zip(positions, *replies[4 * number : 4 * number + 4], strict=True):
            fates[position] = _fate(topic, now, *scores)
    return CanaryState(tuple(fates[position] for position in range(len(refs))))


def _fate(topic: Topic, now: int, waits: Any, retries: Any, runs: Any, dead: Any) -> Fate:
    if topic.timed and waits is not None and float(waits) >= now + 1 and runs is None:
        return "not_due"
    if waits is not None or retries is not None or runs is not None:
        return "under_way"
    return "well" if dead is None else "died"
