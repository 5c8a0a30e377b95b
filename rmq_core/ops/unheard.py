"""What an owner was not told of, for the answer was lost; as sans-IO operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rmq_core.model.delivery import Delivery
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import BATCH_MAX, Operation, one
from rmq_core.protocol.takes import settle


def give_back(keyspace: Keyspace, topic: Topic, slot: int, epoch: str, by: str) -> Operation[int]:
    """Puts all that is in flight back to its place, uncounted; how many. Only for the slot's owner, who runs nothing of
    it: no one else may have taken anything. Raises `Fenced`.
    """
    key, count = keyspace.slot(topic.name, slot).prepare, 0
    while True:
        (found,) = yield [("ZRANGE", key, 0, BATCH_MAX - 1, "WITHSCORES")]
        held = [(raw_id, receipt, 0, "") for raw_id, receipt in _pairs(found)]
        if not held:
            return count
        yield from one(settle("release", keyspace, topic, slot, held, epoch, by), tuple)
        count += len(held)


def receipts(keyspace: Keyspace, topic: Topic, slot: int, deliveries: Sequence[Delivery]) -> Operation[list[int]]:
    """Those that an owner's deliveries have now; 0: it is in flight no more."""
    ids = [delivery.raw_id for delivery in deliveries]
    (scores,) = yield [("ZMSCORE", keyspace.slot(topic.name, slot).prepare, *ids)]
    return [0 if score is None else int(float(score)) for score in scores]


def _pairs(reply: list[Any]) -> list[tuple[bytes, int]]:
    """Of a WITHSCORES reply, which redis-py gives as pairs or flat by protocol."""
    pairs = reply if reply and isinstance(reply[0], (tuple, list)) else zip(reply[::2], reply[1::2], strict=True)
    return [(raw_id, int(float(score))) for raw_id, score in pairs]
