"""An operation on the copies of one id: where they lay before, and where after."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

from rmq_core.model.topic import TopicKind
from tests.engine.model.held import SHIFT, Body, Dead, Trashed
from tests.engine.model.model import Model

OLDER = "send, older version"
FAILING = {"nack", "nack, with a delay", "reject", "run out of time", "takeover"}
SENT_VERSION = {"send, inline": 0, "send, pooled": 2, "send, newer version": 3, OLDER: 1, "expire": 3}


class Waiting(NamedTuple):
    """A copy that waits."""

    queue: str
    score: float
    body: Body | None


class Flight(NamedTuple):
    """A copy in flight; ``place``: where it was taken from."""

    receipt: int
    place: float
    body: Body | None

    @property
    def failures(self) -> int:
        return self.receipt % SHIFT


@dataclass(frozen=True)
class Copies:
    """Where the copies of an id lie, and what was counted so far."""

    waiting: Waiting | None
    flight: Flight | None
    dead: Dead | None
    trash: Trashed | None
    ready: bool
    suspect: bool
    counts: Counter[str]

    @classmethod
    def of(cls, model: Model, raw: bytes, place: float) -> Copies:
        queue = "store" if raw in model.store else "retry"
        score = getattr(model, queue).get(raw)
        dead, trash = model.dead.get(raw), model.trash.get(raw)
        return cls(
            None if score is None else Waiting(queue, score, model.waiting_bodies[raw]),
            Flight(model.prepare[raw], place, model.flight_bodies[raw]) if raw in model.prepare else None,
            dead and replace(dead),
            trash and replace(trash),
            raw in model.ready(),
            raw in model.suspects,
            Counter(model.counts),
        )


class Deed(NamedTuple):
    """An operation on the copies of an id: before, after, and what was told (of those that tell)."""

    operation: str
    before: Copies
    after: Copies
    told: str | None
    model: Model

    def counted(self, name: str) -> int:
        return self.after.counts[name] - self.before.counts[name]

    def stays(self, *columns: str) -> bool:
        return all(getattr(self.before, column) == getattr(self.after, column) for column in columns)

    @property
    def known_version(self) -> int:
        """Of what a send would replace."""
        known = self.before.waiting or self.before.flight
        return known.body.version if known and known.body else 0

    @property
    def ends_retries(self) -> bool:
        """Whether a send brings a failed one back at once."""
        return self.model.topic.kind is not TopicKind.RANGE_MERGE

    @property
    def brings_older(self) -> bool:
        return SENT_VERSION[self.operation] < self.known_version

    @property
    def fails(self) -> bool:
        """Whether what was in flight goes where the failed go, and does not merge."""
        return self.before.flight is not None and self.before.waiting is None

    @property
    def dies(self) -> bool:
        flight = self.before.flight
        spent = flight is not None and (self.operation == "reject" or flight.failures >= self.model.topic.max_retries)
        return self.fails and spent

    @property
    def trashes_the_dead(self) -> bool:
        """The dead one makes room for the one that dies."""
        return self.dies and self.before.dead is not None
