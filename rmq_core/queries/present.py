"""The present, for reads: the Redis clock, and whether a topic still is what the definition in hand says."""

from __future__ import annotations

from rmq_core.errors import TopicReshaped
from rmq_core.model import formats
from rmq_core.model.bounds import slot_of
from rmq_core.model.topic import Topic
from rmq_core.protocol.keys import Keyspace
from rmq_core.protocol.scripts import Operation


def now_ms(_: Keyspace) -> Operation[int]:
    """The Redis clock."""
    (clock,) = yield [("TIME",)]
    return _ms(clock)


def now_of(keyspace: Keyspace, topic: Topic, slot: int | None = None) -> Operation[int]:
    """The Redis clock. Raises `InvalidMessage` for a slot that the topic does not have.

    Raises `TopicReshaped` where the topic was deleted, or made again, since its definition was read: then the queues it
    names are nobody's, and "nothing there" would be a lie.
    """
    clock, mark = yield [("TIME",), ("HGET", keyspace.slot(topic.name, 0).stats, "shape")]
    if mark is not None and formats.shape_of(topic.name, mark) != topic.shape:
        raise TopicReshaped(f"topic {topic.name!r} was deleted or made again since its definition was read")
    if slot is not None:
        slot_of(topic, slot)
    return _ms(clock)


def _ms(clock: tuple[int, int]) -> int:
    seconds, micros = clock
    return int(seconds) * 1000 + int(micros) // 1000
