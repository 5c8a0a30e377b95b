"""What the queues of a slot must hold if its journal tells the truth: pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from rmq_core.journal.entries import MARKS, Transition
from rmq_core.measures import COUNTERS

QUEUES = ("store", "retry", "prepare", "dead", "trash")
COUNTED_TOO = {"dead": "requeued", "trash": "restored"}


@dataclass(slots=True)
class Replayed:
    """The queues of one slot, id → score, and (mode ``full``) id → body of what they hold; ``b""``: none.

    ``counts``: how often each event happened, named as the slot's own counters.
    """

    store: dict[bytes, int] = field(default_factory=dict)
    retry: dict[bytes, int] = field(default_factory=dict)
    prepare: dict[bytes, int] = field(default_factory=dict)
    dead: dict[bytes, int] = field(default_factory=dict)
    trash: dict[bytes, int] = field(default_factory=dict)
    bodies: dict[bytes, bytes] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def holds(self, raw: bytes) -> bool:
        """Whether any queue holds the id."""
        return any(raw in getattr(self, queue) for queue in QUEUES[:-1])

    def apply(self, change: Transition) -> None:
        """One step further."""
        if change.event in MARKS:
            return
        raw = change.id
        if change.origin == "new":
            self.counts["sent"] += 1
        if change.event != "sent" and change.event in COUNTERS:
            self.counts[change.event] += 1
        # The scripts count these whether they merge or not.
        if change.event == "merged" and change.target == "gone" and change.origin in COUNTED_TOO:
            self.counts[COUNTED_TOO[change.origin]] += 1
        if change.event == "restored" and change.origin == "gone":  # it had been lost: no queue held it
            for queue in QUEUES:
                getattr(self, queue).pop(raw, None)
        if change.origin in QUEUES:
            getattr(self, change.origin).pop(raw, None)
        if change.target in QUEUES and change.score is not None:
            getattr(self, change.target)[raw] = change.score
            if change.target == "store":
                self.retry.pop(raw, None)
        if change.body is not None:
            self.bodies[raw] = change.body
        if not self.holds(raw):
            self.bodies.pop(raw, None)


def replay(transitions: Iterable[Transition], start: Replayed | None = None) -> Replayed:
    """Applies the transitions of one slot, in their order."""
    state = start or Replayed()
    for change in transitions:
        state.apply(change)
    return state
