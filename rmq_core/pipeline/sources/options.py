"""The options of the sources over queues and journals, checked once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rmq_core.client.rmq import RMQ
from rmq_core.errors import ConfigurationError
from rmq_core.figures import digits
from rmq_core.journal.archives import is_archive
from rmq_core.journal.reader import READER
from rmq_core.model.group import Group
from rmq_core.model.states import former_name
from rmq_core.model.topic import MAX_SLOTS, Topic, TopicKind
from rmq_core.protocol.keys import Keyspace
from rmq_core.queries import definitions, stored_groups
from rmq_core.transport.redis_url import RedisURL
from rmq_core.transport.sync import Connection

RETRY_FOR_MS = 15_000
RETRY_FOR_MOST_MS = 86_400_000
AHEAD_MS = 2
"""A group that is made right after another one is said to be so much younger than what it writes first, at most."""
_DIGITS = re.compile(r"[0-9]{1,12}")
_SLOTS = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")


@dataclass(frozen=True)
class SourceOptions:
    """``url``, ``namespace``; ``topics`` (comma-separated names; all without it). ``slots_per_partition``: a task reads
    so many slots of one topic at most; without it (0) what is little goes together (`packing`).

    ``slots`` ("0-7, 12"; all without it), and of queues ``parts`` (comma-separated; all): nothing else is read. These
    are options, and no `where`, for Spark plans one read for all that is made of a frame: what one query does not want
    another may.

    ``data_set``: of a stream, for our archives: the word by which the server's data is known (`Keyspace.data_set`);
    where it is another one once something has been read, that is not handed over. ``only``: of these topics no
    other slots than these, for our own runs.

    ``reader``: of a stream of journals, the durable reader whose position it moves. Without one it moves none: it holds
    no journal back, and lets none be trimmed. ``maxEntriesPerTrigger``: so many entries at most make a batch of it.
    """

    url: str
    namespace: str
    topics: tuple[str, ...]
    slots_per_partition: int = 0
    retry_for_ms: int = RETRY_FOR_MS
    reader: str = ""
    max_entries: int = 0
    slots: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    data_set: str = ""
    only: Mapping[str, tuple[int, ...]] | None = None

    @classmethod
    def read(cls, options: Mapping[str, str]) -> SourceOptions:
        """From the options of ``spark.read.format(…).option(…)``. Raises `ConfigurationError`."""
        if not options.get("url"):
            raise ConfigurationError("the option 'url' is missing: which Redis to read")
        RedisURL(options["url"])
        Keyspace(options.get("namespace", "rmq"))
        retry_ms = _whole(options, "retry_for_ms", RETRY_FOR_MS, 0, RETRY_FOR_MOST_MS)
        if "retry_for_s" in options:
            former_name("the option retry_for_s", "retry_for_ms, in milliseconds,")
            retry_ms = _former_seconds(options["retry_for_s"])
        reader = options.get("reader", "").strip()
        if reader and READER.fullmatch(reader) is None:
            raise ConfigurationError(f"reader {reader!r} must be 1 to 100 letters, digits, '_', '.', ':' or '-'")
        if reader == "record" or is_archive(reader):
            raise ConfigurationError(
                f"reader {reader!r} is the name of a reader of ours: what it has done with is trimmed. Choose another"
            )
        return cls(
            options["url"],
            options.get("namespace", "rmq"),
            _names(options, "topics"),
            _whole(options, "slots_per_partition", 0, 1, MAX_SLOTS),
            retry_ms,
            reader,
            _whole(options, "maxEntriesPerTrigger", 0, 1, 1_000_000_000),
            _slots(options.get("slots", "")),
            _names(options, "parts"),
            options.get("data_set", ""),
        )

    def without(self, *names: str) -> SourceOptions:
        """The same. Raises `ConfigurationError` where some were given that what is read cannot follow."""
        for name in names:
            if getattr(self, name):
                raise ConfigurationError(f"the option {name!r} is none of this source's: leave it out")
        return self

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

    def slots_of(self, topic: Topic) -> list[int]:
        """Those of a topic that are asked for."""
        slots = (self.only or {}).get(topic.name, range(topic.slots))
        return [slot for slot in slots if not self.slots or slot in self.slots]

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection of the executor's own."""
        connection = Connection(RedisURL(self.url), retry_for_ms=self.retry_for_ms)
        try:
            yield connection
        finally:
            connection.close()


def _names(options: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in options.get(name, "").split(",") if each.strip())


def _whole(options: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    if (text := options.get(name)) is None:
        return default
    value = int(text) if _DIGITS.fullmatch(text) else -1
    if not low <= value <= high:
        raise ConfigurationError(f"{name} must be a whole number from {low} to {digits(high)}, not {text!r:.40}")
    return value


def _former_seconds(text: str) -> int:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= RETRY_FOR_MOST_MS / 1000:
        raise ConfigurationError(f"retry_for_s={text!r} must be a number from 0 to {digits(RETRY_FOR_MOST_MS // 1000)}")
    return int(seconds * 1000)


def _slots(text: str) -> tuple[int, ...]:
    found: set[int] = set()
    for each in text.split(",") if text.strip() else ():
        match = _SLOTS.fullmatch(each.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, MAX_SLOTS)
        if not first <= last < MAX_SLOTS:
            raise ConfigurationError(f"slots={text!r} must be numbers from 0 to {MAX_SLOTS - 1}, as in 0-7, 12")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def kind_of(topic: Topic) -> str:
    """What the scores of its queues are: a group's are times, whatever its topic is."""
    return TopicKind.FIXED_TIME.value if topic.is_group else topic.kind.value
