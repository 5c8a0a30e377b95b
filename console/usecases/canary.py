"""A canary: some messages first, and what became of them before the rest follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from console.engine import engine
from rmq_core.model.ids import MessageRef, raw_id
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation as Steps

WAIT_MOST_MS = 6 * 3_600_000
"""After this long without an end the operation stops: nobody seems to consume."""


@dataclass(frozen=True)
class CanaryState:
    """What became of requeued messages. `well`: no longer in the queue; `died`: dead again; `under_way`: neither."""

    well: int
    died: int
    under_way: int


class Canary:
    """`place`: the operation's saved JSON object, which this reads and writes.

    `phase`: sending, watching, passed. `refs`: those sent. `sent_ms`: when the last of them was.
    """

    def __init__(self, size: int, place: dict[str, Any]) -> None:
        self._size = size
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
        self._place.update(well=found.well, died=found.died, under_way=found.under_way)
        if found.under_way and not found.died:
            if now_ms - self._place["sent_ms"] < WAIT_MOST_MS:
                return None
            return _("The canary did not end: %(under_way)d of %(size)d messages are still under way.") % {
                "under_way": found.under_way,
                "size": len(refs),
            }
        if found.died:
            return _("The canary failed: %(died)d of %(size)d messages died again. Resume to go on all the same.") % {
                "died": found.died,
                "size": len(refs),
            }
        self._place["phase"] = "passed"
        return None

    def overrule(self) -> None:
        """Go on without it: somebody has looked."""
        if self._size:
            self._place["phase"] = "passed"


def canary_state(keyspace: Keyspace, topic: Topic, refs: Sequence[MessageRef]) -> Steps[CanaryState]:
    """Where messages are now, by asking the slots they belong to."""
    by_slot: dict[int, list[bytes]] = {}
    for ref in refs:
        by_slot.setdefault(ref.slot, []).append(raw_id(ref.id))
    commands = []
    for slot, ids in by_slot.items():
        keys = keyspace.slot(topic.name, slot)
        commands += [("ZMSCORE", key, *ids) for key in (keys.store, keys.retry, keys.prepare, keys.dead)]
    replies = (yield commands) if commands else []
    well = died = under_way = 0
    for at in range(0, len(replies), 4):
        for waits, retries, runs, dead in zip(*replies[at : at + 4], strict=True):
            if waits is not None or retries is not None or runs is not None:
                under_way += 1
            elif dead is not None:
                died += 1
            else:
                well += 1
    return CanaryState(well, died, under_way)
