"""How far the archive is durable, told to Redis: behind that (and behind every other reader) journals are trimmed."""

from __future__ import annotations

from rmq_core.client import RMQ
from rmq_core.journal import reader, trimmer
from rmq_core.journal.reader import START, Position
from rmq_core.pipeline.sources.options import SourceOptions
from rmq_core.topic import Topic

READER = "archive"


def register(options: SourceOptions) -> None:
    """From now on nothing is trimmed that the archive does not hold."""
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_s=options.retry_for_s) as client:
        for topic in options.definitions():
            client.run(reader.register(client.keyspace, topic, READER))


def move(options: SourceOptions, offsets: dict[str, dict[str, str]]) -> int:
    """Commits and trims; returns how many entries the journals lost."""
    gone = 0
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_s=options.retry_for_s) as client:
        for topic in options.definitions():
            ends = {int(slot): _position(end) for slot, end in offsets.get(topic.name, {}).items()}
            client.run(reader.commit(client.keyspace, topic, READER, ends))
            gone += client.run(trimmer.trim(client.keyspace, topic))
    return gone


def committed(options: SourceOptions, topics: list[Topic], archive: bool) -> list[tuple[str, int, int, str, bool]]:
    """Rows of `gaps.READERS`; behind these numbers journals may have been trimmed by rule. ``archive``: one is read."""
    rows = []
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_s=options.retry_for_s) as client:
        for topic in topics:
            known = client.run(reader.positions(client.keyspace, topic))
            if known:
                told = ", ".join(known), READER in known and not archive
                least = {slot: min(slots.get(slot, START).n for slots in known.values()) for slot in range(topic.slots)}
                rows += [(topic.name, slot, n, *told) for slot, n in least.items()]
    return rows


def _position(offset: str) -> Position:
    entry_id, _, n = offset.partition(":")
    return Position(entry_id, int(n))
