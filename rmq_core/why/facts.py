"""What is looked at before it is said why something is late: one look, at most a few round trips."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rmq_core.model.ids import id_to_text
from rmq_core.model.samples import SlotSample
from rmq_core.model.scores import SHIFT
from rmq_core.model.topic import Topic
from rmq_core.model.views import WorkerInfo
from rmq_core.ops import permits, placement
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation, batches
from rmq_core.protocol.slot_calls import snapshot
from rmq_core.queries import fleet, owners
from rmq_core.queries.owners import SlotOwner
from rmq_core.queries.present import now_ms, now_of
from rmq_core.queries.sampling import SLOTS_AT_ONCE, slot_sample
from rmq_core.routes import status
from rmq_core.routes.status import RouteStatus

FOCUS_MOST = 32
"""Of so many slots, those that are latest, what is in flight is looked at."""


class Pace(NamedTuple):
    """Messages a second, lately."""

    in_s: float
    out_s: float


class InFlight(NamedTuple):
    """The oldest delivery of a slot."""

    id: str
    taken_ms: int


@dataclass(frozen=True)
class SlotFacts:
    """One slot. ``owner.worker`` None: nobody's. ``suspects``: how many must run alone."""

    sample: SlotSample
    owner: SlotOwner
    oldest: InFlight | None = None
    suspects: int = 0
    retries_due: int = 0
    """Retries that are due, and that whoever takes next puts back."""

    @property
    def ready(self) -> int:
        """What could be taken; of a group also what is ahead."""
        return self.sample.ready + (self.sample.lag or 0) + self.retries_due


@dataclass(frozen=True)
class Facts:
    """``workers``: that listen to the topic, the lost among them. ``slots``: all, or the one that is asked for.

    ``permit_in_us``: until the rate limit allows one more. ``clock_behind_ms``: the server's clock against ours.
    """

    topic: Topic
    now_ms: int
    clock_behind_ms: int
    answer_ms: int
    workers: Sequence[WorkerInfo]
    drained: frozenset[str]
    slots: Sequence[SlotFacts]
    permit_in_us: int = 0
    pace: Pace | None = None
    route: RouteStatus | None = None
    """The one that takes from it."""
    in_flight: int = 0
    """Of a topic with a limit of these (`Topic.concurrency`): in all its slots."""
    ready: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ready", sum(each.ready for each in self.slots))


def look(
    keyspace: Keyspace,
    topic: Topic,
    slot: int | None = None,
    pace: Pace | None = None,
    sampled: Sequence[SlotSample] = (),
) -> Operation[Facts]:
    """At a topic, or at one slot of it. ``sampled``: all slots of the topic, where that is known already."""
    yield from now_of(keyspace, topic, slot)
    answers: list[float] = []
    now = 0
    for _ in range(2):  # the quicker one counts: this program may have been the one that was slow
        began = time.monotonic()
        now = yield from now_ms(keyspace)
        answers.append(time.monotonic() - began)
    here_ms = int(time.time() * 1000)
    numbers = range(topic.slots) if slot is None else range(slot, slot + 1)
    samples = list(sampled)
    for some in batches(numbers if not samples else (), SLOTS_AT_ONCE):
        rows = yield [snapshot(keyspace, topic, number) for number in some]
        samples += [slot_sample(number, row) for number, row in zip(some, rows, strict=True)]
    everybody = yield from fleet.workers(keyspace)
    overrides = yield from placement.read(keyspace)
    owned = yield from owners.owners(keyspace, topic)
    permit_in_us = yield from _permit(keyspace, topic, now)
    in_flight = (yield from permits.in_flight(keyspace, topic)) if topic.concurrency else 0
    route = yield from status.of_queue(keyspace, topic, now)
    latest = sorted(samples, key=lambda each: _lateness(each, now), reverse=True)[:FOCUS_MOST]
    closer = yield from _closer(keyspace, topic, [each.slot for each in latest], now)
    return Facts(
        topic=topic,
        now_ms=now,
        clock_behind_ms=here_ms - now,
        answer_ms=int(min(answers) * 1000),
        workers=[worker for worker in everybody if topic.name in worker.topics],
        drained=overrides.drained,
        slots=[SlotFacts(each, owned[each.slot], *closer.get(each.slot, ())) for each in samples],
        permit_in_us=permit_in_us,
        pace=pace,
        route=route,
        in_flight=in_flight,
    )


def _lateness(sample: SlotSample, now: int) -> tuple[int, int, int]:
    times = [each for each in (sample.next_retry_ms, sample.oldest_taken_ms) if each is not None]
    return sample.lag_ms(now), sample.ready, max((now - each for each in times), default=0)


def _closer(
    keyspace: Keyspace, topic: Topic, slots: Sequence[int], now: int
) -> Operation[dict[int, tuple[InFlight | None, int, int]]]:
    """Of each slot the oldest delivery, the suspects, and the retries that are due."""
    requests: list[tuple[str | int, ...]] = []
    for number in slots:
        keys = keyspace.slot(topic.name, number)
        requests.append(("ZRANGE", keys.prepare, 0, 0, "WITHSCORES"))
        requests.append(("HLEN", keys.suspect))
        requests.append(("ZCOUNT", keys.retry, "-inf", now * SHIFT + SHIFT - 1))
    replies = yield requests
    found: dict[int, tuple[InFlight | None, int, int]] = {}
    for at, number in enumerate(slots):
        head, suspects, due = replies[3 * at : 3 * at + 3]
        # A client gives pairs, or one flat list.
        pair = (head[0] if len(head) == 1 else head) if head else None
        oldest = InFlight(id_to_text(bytes(pair[0])), int(float(pair[1])) // SHIFT) if pair else None
        found[number] = oldest, int(suspects), int(due)
    return found


def _permit(keyspace: Keyspace, topic: Topic, now: int) -> Operation[int]:
    """µs until ``lua/rate.lua`` would grant one more."""
    if not topic.rate_limit:
        return 0
    _, key = keyspace.limits(topic.name)
    (stored,) = yield [("GET", key)]
    return 0 if stored is None else max(0, int(float(stored) + 1_000_000 / topic.rate_limit) - now * 1000)
