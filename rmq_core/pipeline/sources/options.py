"""The options of both data sources, checked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rmq_core.client.rmq import RMQ
from rmq_core.errors import ConfigurationError
from rmq_core.journal.archives import is_archive
from rmq_core.journal.reader import READER
from rmq_core.model.group import Group
from rmq_core.model.states import former_name
from rmq_core.model.topic import Topic, TopicKind
from rmq_core.protocol.keys import Keyspace
from rmq_core.queries import definitions, stored_groups
from rmq_core.transport.redis_url import RedisURL
from rmq_core.transport.sync import Connection

SLOTS_PER_PARTITION = 8
RETRY_FOR_MS = 15_000
AHEAD_MS = 2
"""A group that is made right after another one is said to be so much younger than what it writes first, at most."""


@dataclass(frozen=True)
class SourceOptions:
    """``url``, ``namespace``; ``topics`` (comma-separated names; all without it); ``slots_per_partition``.

    ``reader``: of a stream of journals, the durable reader whose position it moves. Without one it moves none: it holds
    no journal back, and lets none be trimmed. ``maxEntriesPerTrigger``: so many entries at most make a batch of it.
    """

    url: str
    namespace: str
    topics: tuple[str, ...]
    slots_per_partition: int = SLOTS_PER_PARTITION
    retry_for_ms: int = RETRY_FOR_MS
    reader: str = ""
    max_entries: int = 0

    @classmethod
    def read(cls, options: Mapping[str, str]) -> SourceOptions:
        """From the options of ``spark.read.format(…).option(…)``. Raises `ConfigurationError`."""
        if not options.get("url"):
            raise ConfigurationError("the option 'url' is missing: which Redis to read")
        RedisURL(options["url"])
        Keyspace(options.get("namespace", "rmq"))
        names = tuple(name.strip() for name in options.get("topics", "").split(",") if name.strip())
        most = _number(options, "slots_per_partition", SLOTS_PER_PARTITION)
        retry_ms = int(_number(options, "retry_for_ms", RETRY_FOR_MS))
        if "retry_for_s" in options:
            former_name("the option retry_for_s", "retry_for_ms, in milliseconds,")
            retry_ms = int(_number(options, "retry_for_s", RETRY_FOR_MS / 1000) * 1000)
        if not 1 <= most <= 4096:
            raise ConfigurationError(f"slots_per_partition must be from 1 to 4096, not {most}")
        entries = _number(options, "maxEntriesPerTrigger", 0)
        if "maxEntriesPerTrigger" in options and not 1 <= entries <= 1e9:
            raise ConfigurationError(f"maxEntriesPerTrigger must be from 1 to 1,000,000,000, not {entries:g}")
        reader = options.get("reader", "").strip()
        if reader and READER.fullmatch(reader) is None:
            raise ConfigurationError(f"reader {reader!r} must be 1 to 100 letters, digits, '_', '.', ':' or '-'")
        if reader == "record" or is_archive(reader):
            raise ConfigurationError(
                f"reader {reader!r} is the name of a reader of ours: what it has done with is trimmed. Choose another"
            )
        return cls(options["url"], options.get("namespace", "rmq"), names, int(most), retry_ms, reader, int(entries))

    @property
    def keyspace(self) -> Keyspace:
        """The keys of the namespace."""
        return Keyspace(self.namespace)

    def open_target(self) -> RedisURL:
        """The server, parsed."""
        return RedisURL(self.url)

    def definitions(self) -> list[Topic]:
        """The topics asked for. Raises `UnknownTopic` for one that is not defined."""
        with RMQ(self.url, self.namespace, allow_eviction=True, retry_for_ms=self.retry_for_ms) as client:
            if not self.topics:
                return client.run(definitions.read_all(client.keyspace))
            return [client.run(definitions.read(client.keyspace, name)) for name in self.topics]

    def journaled(self) -> list[Topic]:
        """The topics asked for, and the groups of those that are streams, but not those that go with a worker."""
        topics = self.definitions()
        known = {topic.name for topic in topics}
        return topics + [group for group in self._groups(topics) if group.name not in known]

    def _groups(self, topics: list[Topic]) -> list[Group]:
        streams = [topic for topic in topics if topic.is_stream]
        with RMQ(self.url, self.namespace, allow_eviction=True, retry_for_ms=self.retry_for_ms) as client:
            found = client.run(stored_groups.read_each(client.keyspace, streams))
        return [group for groups in found.values() for group in groups if not group.member]

    def deletions(self) -> dict[str, int]:
        """When topics were deleted on purpose last (ms); a group may have had a namesake before it was made."""
        with RMQ(self.url, self.namespace, allow_eviction=True, retry_for_ms=self.retry_for_ms) as client:
            gone = client.run(definitions.deletions(client.keyspace))
        groups = self._groups(replace(self, topics=()).definitions())
        return gone | {group.name: group.created_ms - AHEAD_MS for group in groups}

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection of the executor's own."""
        connection = Connection(RedisURL(self.url), retry_for_ms=self.retry_for_ms)
        try:
            yield connection
        finally:
            connection.close()


def _number(options: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(options.get(name, default))
    except ValueError:
        raise ConfigurationError(f"{name}={options[name]!r} must be a number") from None


def kind_of(topic: Topic) -> str:
    """What the scores of its queues are: a group's are times, whatever its topic is."""
    return TopicKind.FIXED_TIME.value if topic.is_group else topic.kind.value


def slot_groups(topic: Topic, most: int) -> list[tuple[int, ...]]:
    """The topic's slots, so many at a time."""
    return [tuple(range(first, min(first + most, topic.slots))) for first in range(0, topic.slots, most)]
