"""Taking and settling by hand, as sans-IO operations: the pull consumer behind both clients and REST."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rmq_core import limits
from rmq_core.errors import Fenced, InvalidMessage, RMQError
from rmq_core.message import Delivery, SettleStatus
from rmq_core.outcomes import check_delay
from rmq_core.scripts import (
    BATCH_MAX,
    NO_LOOK,
    REJECTED,
    TOPIC_BACKOFF,
    Ack,
    Call,
    Nack,
    Operation,
    Release,
    batches,
    cycle,
    failure_fragment,
    on_slot,
    read_cycle,
    settle,
)
from rmq_core.scripts import (
    extend as extend_call,
)
from rmq_core.slots import Keyspace
from rmq_core.topic import Topic

TAKE_MAX = 1_000
LOOK_SHARE = 20
"""A look at all slots is good for so many times what it took: at most a twentieth of the time goes into looking."""


class Taken(NamedTuple):
    """Deliveries, and when to look again if there are none (`NO_LOOK`: only when woken), by the Redis clock."""

    deliveries: list[Delivery]
    now_ms: int
    look_ms: int


class Consumer:
    """Takes from all slots of one topic; may be shared. A busy topic costs one call: slots seen to be ready are
    remembered, in turn, until looking at all of them again costs little against the time since the last look.
    """

    def __init__(self, keyspace: Keyspace, topic: Topic) -> None:
        self.keyspace = keyspace
        self.topic = topic
        # The next one is popped from the end and appended at the front: whoever else takes meanwhile gets another.
        self._ready: deque[int] = deque()
        self._known_until = 0.0

    def take(self, most: int) -> Operation[Taken]:
        """Up to ``most`` deliveries that are ready now; slots in turn, the one with the oldest due message first."""
        if type(most) is not int or not 1 <= most <= TAKE_MAX:
            raise InvalidMessage(f"max={most!r} must be a whole number from 1 to {TAKE_MAX}")
        topic = self.topic
        if time.monotonic() < self._known_until:
            deliveries, wait_ms = yield from self._from_known(topic, most)
            if deliveries or wait_ms:
                return Taken(deliveries, 0, wait_ms)
        began = time.monotonic()
        looks = yield [on_slot("look", self.keyspace, topic, slot) for slot in range(topic.slots)]
        ended = time.monotonic()
        self._known_until = ended + (ended - began) * LOOK_SHARE
        now_ms = max(now for now, _ in looks)
        due = sorted(((look, slot) for slot, (_, look) in enumerate(looks) if NO_LOOK != look <= now_ms), reverse=True)
        self._ready = deque(slot for _, slot in due)
        deliveries, wait_ms = ([], 0) if topic.paused else (yield from self._from_known(topic, most))
        later = [look for _, look in looks if look > now_ms]
        if wait_ms:
            later.append(now_ms + wait_ms)
        return Taken(deliveries, now_ms, min(later, default=NO_LOOK))

    def _from_known(self, topic: Topic, most: int) -> Operation[tuple[list[Delivery], int]]:
        """Deliveries, and in how many ms the topic's rate allows more if it allows none now."""
        deliveries: list[Delivery] = []
        wait_ms = 0
        ready = self._ready
        while len(deliveries) < most:
            try:
                slot = ready.pop()
            except IndexError:
                break
            wanted = most - len(deliveries)
            if topic.rate_limit:
                grant = yield from limits.ask(self.keyspace, topic, wanted)
                if not grant.messages:
                    ready.append(slot)
                    wait_ms = 0 if deliveries else -(-grant.wait_us // 1000)
                    break
                wanted = grant.messages
            try:
                (reply,) = yield [cycle(self.keyspace, topic, slot, wanted)]
            except RMQError as error:
                if topic.rate_limit and isinstance(error, Fenced):
                    yield from limits.give_back(self.keyspace, topic, wanted)
                if deliveries:
                    break  # they are in flight already, and the trouble will not have gone away by the next call
                raise
            taken = read_cycle(topic, slot, reply).deliveries
            deliveries += taken
            if len(taken) == wanted:
                ready.appendleft(slot)
            elif topic.rate_limit:
                yield from limits.give_back(self.keyspace, topic, wanted - len(taken))
        return deliveries, wait_ms


def _by_slot(topic: Topic, deliveries: Sequence[Delivery]) -> dict[int, list[int]]:
    """Positions by slot; a delivery of another topic is an `InvalidMessage`."""
    slots: dict[int, list[int]] = {}
    for position, delivery in enumerate(deliveries):
        if delivery.topic != topic.name:
            raise InvalidMessage(f"delivery {delivery.id!r} belongs to topic {delivery.topic!r}, not {topic.name!r}")
        slots.setdefault(delivery.slot, []).append(position)
    return slots


def _settle(
    name: str,
    keyspace: Keyspace,
    topic: Topic,
    deliveries: Sequence[Delivery],
    groups: Sequence[Sequence[Any]],
) -> Operation[list[SettleStatus]]:
    calls: list[Call] = []
    order: list[int] = []
    for slot, positions in _by_slot(topic, deliveries).items():
        for some in batches(positions, BATCH_MAX):
            calls.append(settle(name, keyspace, topic, slot, [groups[position] for position in some]))
            order += some
    replies = yield calls
    statuses: list[SettleStatus] = ["stale"] * len(deliveries)
    for position, done in zip(order, (status for reply in replies for status in reply), strict=True):
        if done:
            statuses[position] = "done"
    return statuses


def ack(keyspace: Keyspace, topic: Topic, deliveries: Sequence[Delivery]) -> Operation[list[SettleStatus]]:
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
) -> Operation[list[SettleStatus]]:
    """Settles deliveries that failed; ``delay_ms`` None: the topic's back-off; ``reject``: dead at once."""
    fragment = failure_fragment(error, message, worker)
    delay = REJECTED if reject else TOPIC_BACKOFF if delay_ms is None else check_delay(delay_ms)
    groups = [Nack(delivery.raw_id, delivery.receipt, delay, fragment) for delivery in deliveries]
    return _settle("nack", keyspace, topic, deliveries, groups)


def release(
    keyspace: Keyspace, topic: Topic, deliveries: Sequence[Delivery], *, delay_ms: int = 0
) -> Operation[list[SettleStatus]]:
    """Gives deliveries back without counting an attempt."""
    check_delay(delay_ms)
    groups = [Release(delivery.raw_id, delivery.receipt, delay_ms, delivery.score) for delivery in deliveries]
    return _settle("release", keyspace, topic, deliveries, groups)


def extend(
    keyspace: Keyspace, topic: Topic, deliveries: Sequence[Delivery], *, for_ms: int | None = None
) -> Operation[list[SettleStatus]]:
    """More time; the deliveries' receipts are replaced in place."""
    if for_ms is not None:
        check_delay(for_ms, "for_ms")
    calls: list[Call] = []
    order: list[int] = []
    for slot, positions in _by_slot(topic, deliveries).items():
        for some in batches(positions, BATCH_MAX):
            receipts = [(deliveries[position].raw_id, deliveries[position].receipt) for position in some]
            calls.append(extend_call(keyspace, topic, slot, receipts, for_ms))
            order += some
    replies = yield calls
    statuses: list[SettleStatus] = ["stale"] * len(deliveries)
    for position, receipt in zip(order, (receipt for reply in replies for receipt in reply), strict=True):
        if receipt:
            deliveries[position].receipt = receipt
            statuses[position] = "done"
    return statuses


def as_list(deliveries: Delivery | Iterable[Delivery]) -> list[Delivery]:
    """One delivery or many, as a list."""
    return [deliveries] if isinstance(deliveries, Delivery) else list(deliveries)
