"""Taking and settling by hand, as sans-IO operations: the pull consumer behind both clients and REST."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from rmq_core.errors import InvalidMessage, RMQError, TopicReshaped
from rmq_core.model.bounds import whole
from rmq_core.model.delivery import Delivery, SettleStatus
from rmq_core.model.outcomes import check_delay
from rmq_core.model.scores import exact
from rmq_core.model.topic import Topic
from rmq_core.ops import quotas
from rmq_core.ops.hints import CANDIDATES_MOST, Hints, with_looks
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import BATCH_MAX, Call, Each, Operation, batches
from rmq_core.protocol.slot_calls import peek
from rmq_core.protocol.takes import (
    REJECTED,
    TOPIC_BACKOFF,
    Ack,
    Nack,
    Release,
    cycle,
    failure_fragment,
    read_cycle,
    settle,
)
from rmq_core.protocol.takes import extend as extend_call

TAKE_MAX = 1_000


class Taken(NamedTuple):
    """Deliveries, and when to look again if there are none (`NOT_DUE`: only when woken), by the Redis clock."""

    deliveries: list[Delivery]
    now_ms: int
    next_due_ms: int


class Consumer:
    """Takes from all slots of one topic, in three round trips at most; may be shared."""

    def __init__(self, keyspace: Keyspace, topic: Topic) -> None:
        self.keyspace = keyspace
        self.topic = topic
        self._hints = Hints(keyspace)

    def doubt(self, slot: int) -> None:
        """The slot is looked at by the next take, whatever its hint says."""
        self._hints.doubt(slot)

    def take(self, most: int) -> Operation[Taken]:
        """Up to ``most`` deliveries that are ready now: of the whole topic, those of the highest priority, or due for
        the longest. What was in flight when a process died comes alone.
        """
        whole("max", most, 1, TAKE_MAX)
        taken, misled = yield from self._take(most, most)
        if misled:
            # The hint was wrong, and is corrected: once more, and wider.
            taken, _ = yield from self._take(most, CANDIDATES_MOST)
        return taken

    def _take(self, most: int, wanted: int) -> Operation[tuple[Taken, bool]]:
        """The second: slots that seemed to have something had nothing that could be taken."""
        topic = self.topic
        found = yield from self._hints.candidates(topic, wanted)
        next_due_ms = found.next_due_ms
        if topic.paused or not found.slots:
            if writes := self._hints.due_writes():
                yield writes
            return Taken([], found.now_ms, next_due_ms), False
        plan = yield from self._plan(topic, found.slots, most)
        if topic.rate_limit:
            permit = yield from quotas.ask(self.keyspace, topic, sum(plan.values()))
            if not permit.messages:
                return Taken([], found.now_ms, found.now_ms - (-permit.wait_us // 1000)), False
            plan = _cut(plan, permit.messages)
        deliveries, alone = yield from self._cycles(topic, plan, alone=sum(plan.values()) == 1)
        if not deliveries and alone:
            deliveries, _ = yield from self._cycles(topic, {alone[0]: 1}, alone=True)
        if topic.rate_limit:
            yield from quotas.give_back(self.keyspace, topic, sum(plan.values()) - len(deliveries))
        deliveries.sort(key=lambda delivery: delivery.score, reverse=not topic.timed)
        return Taken(deliveries, found.now_ms, next_due_ms), not deliveries

    def _plan(self, topic: Topic, slots: Sequence[int], most: int) -> Operation[dict[int, int]]:
        """How many to take from which slots, so that those that come first in the topic are taken."""
        if len(slots) == 1:
            return {slots[0]: most}
        share = min(most, 2 * most // len(slots) + 2)
        writes = self._hints.due_writes()
        peeks = yield [*writes, *(peek(self.keyspace, topic, slot, share) for slot in slots)]
        del peeks[: len(writes)]
        heads = [(exact(score), slot) for slot, scores in zip(slots, peeks, strict=True) for score in scores]
        heads.sort(reverse=not topic.timed)
        plan = dict(Counter(slot for _, slot in heads[:most]))
        # Timeouts and retries show only when somebody takes; that corrects a hint that has turned out wrong, too.
        return plan | {slot: 1 for slot, scores in zip(slots, peeks, strict=True) if not scores and len(plan) < most}

    def _cycles(
        self, topic: Topic, plan: dict[int, int], *, alone: bool
    ) -> Operation[tuple[list[Delivery], list[int]]]:
        """What was taken, and the slots whose next message must be taken alone."""
        writes = self._hints.due_writes()
        cycles = (cycle(self.keyspace, topic, slot, limit, alone=alone) for slot, limit in plan.items())
        replies = yield Each([*writes, *cycles])
        del replies[: len(writes)]
        deliveries: list[Delivery] = []
        suspected = []
        errors: list[RMQError] = []
        for slot, reply in zip(plan, replies, strict=True):
            if isinstance(reply, RMQError):
                errors.append(reply)
                continue
            cycled = read_cycle(topic, slot, reply)
            deliveries += cycled.deliveries
            self._hints.doubt(slot)
            if cycled.alone:
                suspected.append(slot)
        if errors and not deliveries:
            # What was taken is in flight already, and the trouble will not have gone away by the next call.
            if topic.rate_limit:
                yield from quotas.give_back(self.keyspace, topic, sum(plan.values()))
            raise errors[0]
        return deliveries, suspected


def _cut(plan: dict[int, int], most: int) -> dict[int, int]:
    """The first ``most`` of a plan."""
    kept: dict[int, int] = {}
    for slot, limit in plan.items():
        if most <= 0:
            break
        kept[slot] = min(limit, most)
        most -= limit
    return kept


Asked: TypeAlias = Callable[[int, Sequence[int]], Call]
"""Makes the call that settles deliveries of a slot, named by their positions."""

Statuses: TypeAlias = list[SettleStatus | None]
"""In the order of the deliveries; None: the topic is another one by now than the definition says, nothing was done."""


def same_topic(deliveries: Sequence[Delivery]) -> str:
    """The topic of all of them. Raises `InvalidMessage` where they are of several."""
    name = deliveries[0].topic
    for delivery in deliveries:
        if delivery.topic != name:
            raise InvalidMessage(f"delivery {delivery.id!r} belongs to topic {delivery.topic!r}, not {name!r}")
    return name


def _asked(keyspace: Keyspace, topic: Topic, deliveries: Sequence[Delivery], ask: Asked) -> Operation[list[Any]]:
    """What the scripts replied to each delivery: 0 where it is stale, None where its slot refused the definition.

    A delivery may be of a life of the topic in which it had more slots: nothing of that is left.
    """
    slots: dict[int, list[int]] = {}
    for position, delivery in enumerate(deliveries):
        if delivery.slot < topic.slots:
            slots.setdefault(delivery.slot, []).append(position)
    parts = [(slot, some) for slot, positions in slots.items() for some in batches(positions, BATCH_MAX)]
    replies = yield from with_looks(keyspace, topic, list(slots), Each(ask(slot, some) for slot, some in parts))
    found: list[Any] = [0] * len(deliveries)
    for (_, some), reply in zip(parts, replies, strict=True):
        if isinstance(reply, RMQError) and not isinstance(reply, TopicReshaped):
            raise reply
        for at, position in enumerate(some):
            found[position] = None if isinstance(reply, RMQError) else reply[at]
    return found


def _statuses(replies: Sequence[Any]) -> Statuses:
    return [None if reply is None else "done" if reply else "stale" for reply in replies]


def _settle(
    name: str,
    keyspace: Keyspace,
    topic: Topic,
    deliveries: Sequence[Delivery],
    groups: Sequence[Sequence[Any]],
) -> Operation[Statuses]:
    def ask(slot: int, some: Sequence[int]) -> Call:
        return settle(name, keyspace, topic, slot, [groups[position] for position in some])

    return _statuses((yield from _asked(keyspace, topic, deliveries, ask)))


def ack(keyspace: Keyspace, topic: Topic, deliveries: Sequence[Delivery]) -> Operation[Statuses]:
    """Settles deliveries that succeeded."""
    groups = [Ack(delivery.raw_id, delivery.receipt) for delivery in deliveries]
    return _settle("ack", keyspace, topic, deliveries, groups)


def nack(
    keyspace: Keyspace,
    topic: Topic,
    deliveries: Sequence[Delivery],
    *,
    error: str = "Nack",
    message: str = "",
    worker: str = "",
    delay_ms: int | None = None,
    reject: bool = False,
) -> Operation[Statuses]:
    """Settles deliveries that failed; ``delay_ms`` None: the topic's back-off; ``reject``: dead at once."""
    fragment = failure_fragment(error, message, worker)
    delay = REJECTED if reject else TOPIC_BACKOFF if delay_ms is None else check_delay(delay_ms)
    groups = [Nack(delivery.raw_id, delivery.receipt, delay, fragment) for delivery in deliveries]
    return _settle("nack", keyspace, topic, deliveries, groups)


def release(
    keyspace: Keyspace, topic: Topic, deliveries: Sequence[Delivery], *, delay_ms: int = 0
) -> Operation[Statuses]:
    """Gives deliveries back without counting an attempt."""
    check_delay(delay_ms)
    groups = [Release(delivery.raw_id, delivery.receipt, delay_ms, delivery.score) for delivery in deliveries]
    return _settle("release", keyspace, topic, deliveries, groups)


def extend(
    keyspace: Keyspace, topic: Topic, deliveries: Sequence[Delivery], *, for_ms: int | None = None
) -> Operation[Statuses]:
    """More time; the deliveries' receipts are replaced in place."""
    if for_ms is not None:
        check_delay(for_ms, "for_ms")

    def ask(slot: int, some: Sequence[int]) -> Call:
        receipts = [(deliveries[position].raw_id, deliveries[position].receipt) for position in some]
        return extend_call(keyspace, topic, slot, receipts, for_ms)

    receipts = yield from _asked(keyspace, topic, deliveries, ask)
    for delivery, receipt in zip(deliveries, receipts, strict=True):
        if receipt:
            delivery.receipt = receipt
    return _statuses(receipts)
