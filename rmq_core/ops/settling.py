"""Settling by hand what was taken, as sans-IO operations: behind both clients and REST."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from rmq_core.errors import InvalidMessage, RMQError, TopicReshaped
from rmq_core.model.delivery import Delivery, SettleStatus
from rmq_core.model.outcomes import check_delay
from rmq_core.model.topic import Topic
from rmq_core.ops.hints import with_looks
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import BATCH_MAX, Call, Each, Operation, batches
from rmq_core.protocol.takes import DONE, REJECTED, TOPIC_BACKOFF, Ack, Nack, Release, failure_fragment, settle
from rmq_core.protocol.takes import extend as extend_call

Asked: TypeAlias = Callable[[int, str, Sequence[int]], Call]
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
    calls: dict[tuple[int, str], list[int]] = {}
    found: list[Any] = [0] * len(deliveries)
    for position, delivery in enumerate(deliveries):
        if delivery.receipt == DONE:
            found[position] = 1
        elif delivery.slot < topic.slots:
            calls.setdefault((delivery.slot, delivery.taken_by), []).append(position)
    parts = [(slot, by, some) for (slot, by), positions in calls.items() for some in batches(positions, BATCH_MAX)]
    slots = list(dict.fromkeys(slot for slot, _, _ in parts))
    replies = yield from with_looks(keyspace, topic, slots, Each(ask(*part) for part in parts))
    for (_, _, some), reply in zip(parts, replies, strict=True):
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
    def ask(slot: int, by: str, some: Sequence[int]) -> Call:
        return settle(name, keyspace, topic, slot, [groups[position] for position in some], by=by)

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

    def ask(slot: int, by: str, some: Sequence[int]) -> Call:
        receipts = [(deliveries[position].raw_id, deliveries[position].receipt) for position in some]
        return extend_call(keyspace, topic, slot, receipts, for_ms, by=by)

    receipts = yield from _asked(keyspace, topic, deliveries, ask)
    for delivery, receipt in zip(deliveries, receipts, strict=True):
        if receipt and delivery.receipt != DONE:
            delivery.receipt = receipt
    return _statuses(receipts)
