"""What routes have taken and are bringing to targets on other nodes: only on Cluster is there any."""

from __future__ import annotations

from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation


def slots(keyspace: Keyspace, source: Topic) -> Operation[dict[int, int]]:
    """Slots of a queue from which something is on its way, and how much."""
    if not keyspace.spread:
        return {}
    outs = [keyspace.slot(source.name, slot).on_its_way(source.created_ms) for slot in range(source.slots)]
    lengths = yield [("XLEN", out) for out in outs]
    return {slot: length for slot, length in enumerate(lengths) if length}


def count(keyspace: Keyspace, source: Topic) -> Operation[int]:
    """How much of a queue is on its way."""
    return sum((yield from slots(keyspace, source)).values())


def forget(keyspace: Keyspace, topic: Topic) -> Operation[None]:
    """Deletes what a topic that is gone had on its way, and knew of what came to it."""
    if not keyspace.spread:
        return
    named = [keyspace.slot(topic.name, slot) for slot in range(topic.slots)]
    yield [("DEL", keys.on_its_way(topic.created_ms), keys.received(topic.created_ms)) for keys in named]
