"""How far an archive is durable, noted in Redis: behind that (and behind every other reader) journals are trimmed."""

from __future__ import annotations

from collections.abc import Callable

from rmq_core.client.rmq import RMQ
from rmq_core.journal import reader, trimmer
from rmq_core.journal.archives import ALL_ARCHIVES, is_archive, reader_as_written, reader_of
from rmq_core.journal.reader import START, Position
from rmq_core.model.topic import Topic
from rmq_core.pipeline.sources.decoding import position_of
from rmq_core.pipeline.sources.offsets import Offsets
from rmq_core.pipeline.sources.options import SourceOptions


def register(options: SourceOptions, path: str, offsets: dict[str, dict[str, str]]) -> None:
    """From now on nothing is trimmed that the archive at ``path`` does not hold; ``offsets``: what it does.

    It takes the place of the reader that archives of older releases shared, where that was this one, or nobody yet; and
    of the one that they named after a link.
    """
    links = {reader_as_written(path)} - {reader_of(path)}
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
        for topic in options.journaled():
            keys, ends = client.keyspace, offsets.get(topic.name, {})
            client.run(reader.commit(keys, topic, reader_of(path), _positions(topic, ends)))
            known = client.run(reader.positions(keys, topic))
            shared = known.get(ALL_ARCHIVES)
            old = {ALL_ARCHIVES} if shared is not None and (ends or not shared) else set()
            for name in old | (links & known.keys()):
                client.run(reader.forget(keys, topic, name))


def is_behind(options: SourceOptions, path: str, offsets: dict[str, dict[str, str]]) -> bool:
    """Whether Redis knows that the archive at ``path`` had come farther in a journal than ``offsets`` say."""
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
        for topic in options.journaled():
            ours = client.run(reader.positions(client.keyspace, topic)).get(reader_of(path)) or {}
            ends = _positions(topic, offsets.get(topic.name, {}))
            if any(_is_beyond(at, ends.get(slot, START)) for slot, at in ours.items()):
                return True
    return False


def _is_beyond(one: Position, other: Position) -> bool:
    return one.n > other.n and position_of(one.id) > position_of(other.id)


def move(options: SourceOptions, path: str, offsets: dict[str, dict[str, str]]) -> int:
    """Commits and trims; returns how many entries the journals lost."""
    gone = 0
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
        for topic in options.journaled():
            ends = _positions(topic, offsets.get(topic.name, {}))
            client.run(reader.commit(client.keyspace, topic, reader_of(path), ends))
            gone += client.run(trimmer.trim(client.keyspace, topic))
    return gone


def trim(options: SourceOptions) -> int:
    """Trims behind what was committed before; returns how many entries the journals lost."""
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
        return client.run(trimmer.trim_each(client.keyspace, options.journaled()))


def committed(
    options: SourceOptions, topics: list[Topic], archive: str | None, offsets: Callable[[], Offsets] = dict
) -> list[tuple[str, int, int, str, bool]]:
    """Rows of `gaps.READERS`; behind these numbers journals may have been trimmed. ``archive``: the one read;
    ``offsets``: how far it has come, asked afterwards. Where it had come farther, an older copy of it was put back."""
    rows = []
    ours = set() if archive is None else {reader_of(archive), reader_as_written(archive), ALL_ARCHIVES}
    with RMQ(options.url, options.namespace, allow_eviction=True, retry_for_ms=options.retry_for_ms) as client:
        of_topics = [(topic, client.run(reader.positions(client.keyspace, topic))) for topic in topics]
        reached = offsets()
        ends = {topic.name: _positions(topic, reached[topic.name]) for topic in topics if topic.name in reached}
        for topic, known in of_topics:
            if known:
                elsewhere = any(is_archive(name) and name not in ours for name in known)
                for slot in range(topic.slots):
                    # An archive that has nothing of a slot came when that was trimmed: it holds back what is there.
                    held = [slots for name, slots in known.items() if slot in slots or name not in ours]
                    least = min((slots.get(slot, START).n for slots in held), default=START.n)
                    own = known.get(reader_of(archive), {}).get(slot) if archive else None
                    if own and topic.name in ends and _is_beyond(own, ends[topic.name].get(slot, START)):
                        least = START.n
                    rows.append((topic.name, slot, least, ", ".join(known), elsewhere))
    return rows


def _positions(topic: Topic, ends: dict[str, str]) -> dict[int, Position]:
    # A topic may have been made again with fewer slots.
    return {int(slot): position(end) for slot, end in ends.items() if int(slot) < topic.slots}


def position(offset: str) -> Position:
    """Of an offset of the journal's source."""
    entry_id, n, *_ = offset.split(":")
    return Position(entry_id, int(n))
