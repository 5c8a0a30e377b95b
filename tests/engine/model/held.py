"""What one slot of a topic holds, in plain Python, written from the contract.

Up to three copies of an id live at once (one waits, one is in flight, one is dead); a fourth lies in the trash. Each
has its content. The failure record and the priority of a failed one belong to the copy that waits or is in flight, and
leave with the dead and the removed.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from rmq_core.model.fingerprints import fingerprint
from rmq_core.model.topic import Topic

RETRIED_MAX = 16
SHIFT = 1000
TIMEOUT = fingerprint("Timeout", "not settled within 1 ms")


@dataclass(frozen=True)
class Body:
    """What a pooled message has beside its id. ``ends_ms``: from then on it is not delivered."""

    content: bytes
    version: int
    ends_ms: int | None = None


class Behind(NamedTuple):
    """A place that is being given: behind all of that time or priority, in the order of ``number``."""

    whole: int
    number: int


@dataclass
class Dead:
    """A dead letter, with everything that is its own."""

    died_ms: int
    cause: str
    priority: float | None
    failures: int
    body: Body | None


@dataclass
class Trashed:
    """A cancelled or dropped message."""

    removed_ms: int
    queue: str
    score: float
    cause: str | None
    priority: float | None
    failures: int
    body: Body | None


@dataclass
class Held:
    """The same queues as in Redis."""

    topic: Topic
    now_ms: int
    store: dict[bytes, float | Behind] = field(default_factory=dict)
    retry: dict[bytes, int] = field(default_factory=dict)
    prepare: dict[bytes, int] = field(default_factory=dict)
    dead: dict[bytes, Dead] = field(default_factory=dict)
    trash: dict[bytes, Trashed] = field(default_factory=dict)
    waiting_bodies: dict[bytes, Body | None] = field(default_factory=dict)
    flight_bodies: dict[bytes, Body | None] = field(default_factory=dict)
    origins: dict[bytes, float] = field(default_factory=dict)
    suspects: set[bytes] = field(default_factory=set)
    priorities: dict[bytes, float] = field(default_factory=dict)
    failures: Counter[bytes] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    accepted_ms: dict[bytes, int] = field(default_factory=dict)
    handed_out: Counter[bytes] = field(default_factory=Counter)
    placed: int = 0

    # -- what the contract calls things

    def left(self, failures: int) -> int:
        return max(1, self.topic.max_retries - failures + 1)

    def failed(self, score: float) -> int:
        return max(1, self.topic.max_retries - int(score) + 1) if score <= RETRIED_MAX else 0

    def whole(self, score: float) -> int:
        return math.floor(score) if self.topic.timed else math.ceil(score)

    def waits(self, raw: bytes) -> bool:
        return raw in self.store or raw in self.retry

    def holds(self, raw: bytes) -> bool:
        return self.waits(raw) or raw in self.prepare or raw in self.dead

    def queues(self) -> tuple[object, ...]:
        return self.store, self.retry, self.prepare, self.dead

    # -- places

    def behind(self, whole: int) -> Behind:
        self.placed += 1
        return Behind(whole, self.placed)

    def fresh(self, raw: bytes, priority: float | None) -> float | Behind:
        """The place of one that waits as if it had not failed."""
        if self.topic.timed:
            return self.behind(self.now_ms)
        return self.behind(math.ceil(priority) if priority else RETRIED_MAX + 1)

    def place(self, raw: bytes, real: float) -> None:
        """A place has been given: it is behind every equal one."""
        pending = self.store[raw]
        assert isinstance(pending, Behind)
        assert self.whole(real) == pending.whole, (raw, real, pending)
        for other, score in self.store.items():
            if isinstance(score, Behind) or other == raw or score <= RETRIED_MAX or self.whole(score) != pending.whole:
                continue
            assert real > score if self.topic.timed else real < score, (raw, real, other, score)
        self.store[raw] = real

    def pending(self) -> list[bytes]:
        """Those whose place the server has chosen and the model does not know, in the order of acceptance."""
        waiting = [(score.number, raw) for raw, score in self.store.items() if isinstance(score, Behind)]
        return [raw for _, raw in sorted(waiting)]
