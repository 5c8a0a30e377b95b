"""What the queues of a slot must hold if its journal tells the truth: pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rmq_core.journal.entries import MARKS, Transition
from rmq_core.model.stats import COUNTERS

QUEUES = ("store", "retry", "prepare", "dead", "trash")
WAITING = ("store", "retry")
CONTENTS = ("bodies", "replaced", "dead_bodies", "trashed")
COUNTED_TOO = {"dead": "requeued", "trash": "restored"}


@dataclass(slots=True)
class Replayed:
    """The queues of one slot, id → score, and (mode ``full``) what the copies hold, id → body; ``b""``: none.

    ``bodies``: of the copy that waits, or of the one in flight where none waits; ``replaced``: of the one in flight
    while another waits; ``dead_bodies``; ``trashed``. ``counts``: how often each event happened, named as the slot's
    own counters.
    """

    store: dict[bytes, float] = field(default_factory=dict)
    retry: dict[bytes, float] = field(default_factory=dict)
    prepare: dict[bytes, float] = field(default_factory=dict)
    dead: dict[bytes, float] = field(default_factory=dict)
    trash: dict[bytes, float] = field(default_factory=dict)
    bodies: dict[bytes, bytes] = field(default_factory=dict)
    replaced: dict[bytes, bytes] = field(default_factory=dict)
    dead_bodies: dict[bytes, bytes] = field(default_factory=dict)
    trashed: dict[bytes, bytes] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    _stock: dict[bytes, tuple[int, dict[str, Any]]] = field(default_factory=dict)

    def waits(self, raw: bytes) -> bool:
        """Whether a copy of the id waits."""
        return raw in self.store or raw in self.retry

    def apply(self, change: Transition) -> None:
        """One step further."""
        if change.event in MARKS:
            return
        if self._takes_stock(change):
            return
        self._count(change)
        raw, origin, target = change.id, change.origin, change.target
        if change.event == "restored" and origin == "gone":  # it had been lost, whatever was written before
            for name in (*QUEUES, *CONTENTS):
                getattr(self, name).pop(raw, None)
        body = self._leaves(change)
        if origin in QUEUES:
            getattr(self, origin).pop(raw, None)
        if target in QUEUES and change.score is not None:
            getattr(self, target)[raw] = change.score
            if target == "store":
                self.retry.pop(raw, None)
        self._arrives(change, body)

    def _takes_stock(self, change: Transition) -> bool:
        """A repair: `erased` from `gone` settles all that was written of the message, but for what is in the trash; in
        the same entry `restored` tells each copy there is, none of which came out of that. Counters stay."""
        raw = change.id
        if change.event == "erased" and change.origin == "gone":
            held = [name for name in (*QUEUES, *CONTENTS) if not name.startswith("trash")]
            self._stock[raw] = change.n, {name: getattr(self, name).pop(raw, None) for name in held}
            return True
        at_n, before = self._stock.get(raw, (None, {}))
        if change.event != "restored" or change.n != at_n:
            return False
        if change.score is not None:
            getattr(self, change.target)[raw] = change.score
        pool = {"dead": "dead_bodies", "prepare": "replaced" if self.waits(raw) else "bodies"}.get(
            change.target, "bodies"
        )
        body = before.get(pool) if change.body is None else change.body
        if body is not None:
            getattr(self, pool)[raw] = body
        return True

    def _count(self, change: Transition) -> None:
        if change.origin == "new":
            self.counts["sent"] += 1
        if change.event != "sent" and change.event in COUNTERS:
            self.counts[change.event] += 1
        # The scripts count these whether they merge or not.
        if change.event == "merged" and change.target == "gone" and change.origin in COUNTED_TOO:
            self.counts[COUNTED_TOO[change.origin]] += 1

    def _leaves(self, change: Transition) -> bytes | None:
        """What the copy that moves holds, taken from where it was."""
        raw, origin = change.id, change.origin
        if origin in WAITING:
            if change.target in (*WAITING, "prepare"):
                return self.bodies.get(raw)
            body = self.bodies.pop(raw, None)
            if raw in self.replaced:
                self.bodies[raw] = self.replaced.pop(raw)
            return body
        if origin == "prepare" and change.target != "prepare":
            if self.waits(raw):
                return self.replaced.pop(raw, None)
            return self.bodies.get(raw) if change.target in WAITING else self.bodies.pop(raw, None)
        if origin == "dead" and change.target != "dead":
            return self.dead_bodies.pop(raw, None)
        return self.trashed.pop(raw, None) if origin == "trash" else None

    def _arrives(self, change: Transition, body: bytes | None) -> None:
        raw, target = change.id, change.target
        body = body if change.body is None else change.body
        if target == "dead":
            if body is not None:
                self.dead_bodies[raw] = body
        elif target == "trash":
            if body is not None:
                self.trashed[raw] = body
        elif body is not None and (target in WAITING or change.body is not None):
            if change.origin not in (*WAITING, "prepare") and raw in self.prepare and raw in self.bodies:
                self.replaced.setdefault(raw, self.bodies[raw])
            self.bodies[raw] = body


def replay(transitions: Iterable[Transition], start: Replayed | None = None) -> Replayed:
    """Applies the transitions of one slot, in their order."""
    state = start or Replayed()
    for change in transitions:
        state.apply(change)
    return state
