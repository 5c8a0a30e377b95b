"""Frozen pictures of messages, workers and the server, as the inspector returns them; counts are in `samples`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from rmq_core.model.ids import MessageRef, id_to_text
from rmq_core.model.samples import SlotSample
from rmq_core.model.states import State
from rmq_core.model.stats import Histogram

PREVIEW_BYTES = 256


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """Why a message failed last, and how often since it was first sent. ``fingerprint``: '' before there were any."""

    error: str
    message: str
    worker: str
    failures: int
    first_ms: int
    last_ms: int
    traceback: str | None = None
    fingerprint: str = ""

    @classmethod
    def read(cls, stored: bytes) -> FailureRecord | None:
        """From the failed hash; None for what is no record of ours."""
        try:
            values: dict[str, Any] = json.loads(stored)
            return cls(
                **{name: values.get(name, "") for name in FAILURE_FIELDS if name != "traceback"},
                traceback=values.get("traceback"),
            )
        except (ValueError, TypeError):
            return None


FAILURE_FIELDS = tuple(each.name for each in fields(FailureRecord))


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A line of a list. ``score_ms``: due (delayed, ready, retrying), taken (in flight), died (dead) or removed time.

    ``fingerprint``: of a dead letter its cluster, else of the last failure, '' where it has none; None: never failed.
    ``was``: of a message in the trash, where it is restored to. ``place``: what a message that waits is told by
    from a later one of its id (0: it has failed); None: of others.
    """

    slot: int
    raw_id: bytes
    state: State
    score_ms: int | None
    priority: int | None
    failures: int
    retries_left: int | None
    error: str | None
    receipt: int | None
    size: int
    preview: bytes
    fingerprint: str | None = None
    was: State | None = None
    place: float | None = None

    @property
    def id(self) -> str:
        """The id in its text form."""
        return id_to_text(self.raw_id)

    @property
    def ref(self) -> MessageRef:
        """Its full address."""
        return MessageRef(self.slot, self.id)


@dataclass(frozen=True, slots=True)
class MessageView:
    """Everything known of one message. ``row``: its most advanced state; ``states``: all it is in.

    ``content``, ``headers``, ``version``, ``failure``: of the copy in that state. ``slot_basis``: what its slot was
    chosen by. ``expires_at_ms``: from then on it is not delivered; None: always. ``tenant``: whose it is;
    "": nobody's.
    """

    row: MessageRow
    states: tuple[State, ...]
    content: bytes
    headers: Mapping[str, str]
    version: int
    failure: FailureRecord | None
    slot_basis: bytes = b""
    expires_at_ms: int | None = None
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A bounded list; ``next_cursor`` None: the end. ``as_of_ms``: the Redis clock."""

    rows: tuple[MessageRow, ...]
    next_cursor: str | None
    as_of_ms: int


@dataclass(frozen=True, slots=True)
class SearchPage:
    """What a bounded scan found, how much it looked at, and of how many. ``not_json``: of the contents that this look
    has compared, how many were no JSON.
    """

    rows: tuple[MessageRow, ...]
    looked_at: int
    total: int
    next_cursor: str | None
    not_json: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """What a bounded look found. ``looked_at``: since the first page; ``total``: how many there were to look at then.

    ``next_cursor`` None: all were looked at.
    """

    rows: tuple[MessageRow, ...]
    looked_at: int
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class RefSelection:
    """The same with nothing but the addresses: for those who act on many."""

    refs: tuple[MessageRef, ...]
    looked_at: int
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Preview:
    """How many messages a filter selects; not ``exact``: an estimate from ``looked_at`` of ``total``.

    Of an action that was asked about: so many of the first ``expires_looked_at`` expire first, and would be left.
    """

    count: int
    exact: bool
    looked_at: int
    total: int
    examples: tuple[MessageRow, ...]
    expires_first: int = 0
    expires_looked_at: int = 0


@dataclass(frozen=True, slots=True)
class DeadCluster:
    """Dead letters of one topic that died of the same. ``error`` is a class, ``example`` the words of one of them."""

    topic: str
    fingerprint: str
    error: str
    example: str
    count: int
    first_ms: int | None
    last_ms: int | None


@dataclass(frozen=True, slots=True)
class Ages:
    """How long deliveries have been in flight; ``capped``: only the oldest of them were looked at."""

    histogram: Histogram
    looked_at: int
    capped: bool


@dataclass(frozen=True, slots=True)
class SlotDetail:
    """One slot with its next and its in-flight messages."""

    sample: SlotSample
    heads: tuple[MessageRow, ...]
    prepared: tuple[MessageRow, ...]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something stored that cannot be read, and is left out: ``kind`` topic or worker, its name, why."""

    kind: Literal["topic", "worker"]
    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class Turns:
    """Calls of a topic at once in one worker: that run, that may run now, and that might if its listener did well.

    ``most`` falls while a listener fails or has become slow; a listener with ``turns=`` has what it says.
    """

    running: int
    most: int
    could: int


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker as it last reported itself. ``lost``: silent for longer than it promised.

    ``stale``: results that came too late to count. ``session``: how it stands with ZooKeeper (``shared``: without
    it), ``session_since_ms``: since when. ``weight``: its share of slots beside the others'. ``slots``: what it takes
    from now, by topic. ``versions``: the definition it works by, by topic; unknown of workers older than that field.
    ``free``: threads that could still be given something to do; None, too. ``at_most_once``: of the topics those whose
    messages are done when they are handed out (``acks="none"``). ``turns``: by topic; unknown of older workers, too.
    """

    name: str
    host: str
    pid: int
    topics: tuple[str, ...]
    started_ms: int
    seen_ms: int
    threads: int
    in_flight: int
    done: int
    failed: int
    done_per_s: float
    stuck: int
    version: str
    state: Literal["running", "stopping", "lost"]
    stale: int
    session: Literal["shared", "connected", "suspended", "lost"]
    session_since_ms: int
    weight: int
    slots: Mapping[str, tuple[int, ...]]
    versions: Mapping[str, int] = field(default_factory=dict)
    free: int | None = None
    at_most_once: tuple[str, ...] = ()
    turns: Mapping[str, Turns] = field(default_factory=dict)

    def owns_slots_of(self, topic: str) -> bool:
        """Whether it works on a topic with owners, so that its epochs still count there."""
        return self.state != "lost" and self.session != "shared" and topic in self.topics


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The Redis server; of a Cluster, sums over its masters, and every ``version`` and ``policy`` among them.

    ``program``: Redis or Valkey, ``version``: its own; ``fullest``: of the one with least room, which part of its
    ``maxmemory`` is used.
    """

    version: str
    mode: str
    used_memory: int
    maxmemory: int
    policy: str
    ops_per_s: int
    program: str = "Redis"
    fullest: float = 0.0
