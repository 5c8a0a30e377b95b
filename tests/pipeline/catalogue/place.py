"""Slots in which much has happened, and all is well, until somebody plants a fault in one."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rmq_core import RMQ, FixedTimeMessage, PriorityMessage, StreamMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.protocol.keys import SlotKeys, slot_for
from tests.pipeline import parquet

FAR_MS = 3_600_000
GROUP = "readers"
UNSAID = "unsaid"
"""The topic whose journal tells no contents."""
QUEUES = ("store", "retry", "prepare", "dead")
POOLS = ("body", "failed", "dead_record", "replaced", "priority", "stats")


@dataclass
class Place:
    """A slot for one fault or two, or several slots; and ids that no other fault has touched."""

    client: RMQ
    raw: Any
    archive: Path
    topic: str
    kind: TopicKind
    slots: tuple[int, ...]
    of: int = 1
    """Slots of the topic."""
    due: int = field(default_factory=lambda: int(time.time() * 1000) + FAR_MS)
    ids: dict[str, list[bytes]] = field(default_factory=dict)

    @property
    def queue(self) -> str:
        """What is taken from: of a stream its group."""
        return f"{self.topic}@{GROUP}" if self.kind is TopicKind.STREAM else self.topic

    @property
    def slot(self) -> int:
        """The slot its messages are of."""
        return self.slots[0]

    def name(self, stem: str, at: int = 0) -> str:
        """An id that belongs in the slot."""
        names = (f"{stem}-{self.slots[at]}-{n}" for n in count())
        return next(each for each in names if slot_for(each.encode(), self.of) == self.slots[at])

    def say(self, when: str, *stems: str, at: int = 0) -> list[bytes]:
        """Sends some that are due now, or later."""
        names = [self.name(stem, at) for stem in stems]
        if self.kind is TopicKind.STREAM:
            self.client.send_many(self.topic, [StreamMessage(f"of {name}", slot_basis=name) for name in names])
            return [id for id, _ in self.raw.xrevrange(self.keys(at).entries, count=len(names))][::-1]
        if self.kind is TopicKind.PRIORITY:
            urgent = [PriorityMessage(f"of {name}", priority=100, key=name) for name in names]
            self.client.send_many(self.topic, urgent)
        else:
            due = 1_000 if when == "now" else self.due
            timed = [FixedTimeMessage(f"of {name}", due_ms=due, key=name) for name in names]
            self.client.send_many(self.topic, timed, allow_past=True)
        return [each.encode() for each in names]

    def keys(self, at: int = 0) -> SlotKeys:
        return self.client.keyspace.slot(self.queue, self.slots[at])

    def one(self, where: str) -> bytes:
        """A message that is there, for one fault alone."""
        return self.ids[where].pop()

    def lose(self, where: str, *, content: bool = True) -> bytes:
        """A message that was there."""
        id = self.one(where)
        assert self.raw.zrem(getattr(self.keys(), where), id)
        if content:
            self.raw.hdel(self.keys().body, id)
        return id

    def pictures(self) -> dict[bytes, Any]:
        """What Redis and the archive hold of each message: a fault that leaves it the same is none."""
        archived = Counter[bytes]()
        for file in parquet.files(self.archive, self.topic):
            archived.update(pq.ParquetFile(file).read(["id"])["id"].to_pylist())  # type: ignore[no-untyped-call]
        ids = [id for several in self.ids.values() for id in several]
        with self.raw.pipeline(transaction=False) as asked:
            asked.xrange(self.keys().journal)
            for keys in (self.keys(at) for at in range(len(self.slots))):
                for id in ids:
                    for name in QUEUES:
                        asked.zscore(getattr(keys, name), id)
                    for name in POOLS:
                        asked.hget(getattr(keys, name), id)
            entries, *found = asked.execute()
        journal, each = b"".join(value for _, entry in entries for value in entry.values()), len(QUEUES) + len(POOLS)
        rows = [tuple(found[at : at + each]) for at in range(0, len(found), each)]
        return {id: (rows[n :: len(ids)], archived[id] + journal.count(id)) for n, id in enumerate(ids)}

    def whole(self) -> Any:
        """The same of everything in the slot, and in the topic's files."""
        names = (*QUEUES, *POOLS, "journal", "entries", "positions")
        dumps = [self.raw.dump(getattr(self.keys(at), name)) for at in range(len(self.slots)) for name in names]
        files = parquet.files(self.archive, self.topic)
        return dumps, [(str(each), hashlib.sha256(each.read_bytes()).hexdigest()) for each in files]


def define(client: RMQ, topic: str, kind: TopicKind, slots: int) -> None:
    """A topic in which what is taken stays in flight for ten minutes, and what failed may wait for an hour."""
    options: dict[str, Any] = {"visibility_timeout_ms": FAR_MS, "backoff_max_ms": FAR_MS}
    journal = Journal.EVENTS if topic == UNSAID else Journal.FULL
    client.define(Topic(topic, kind, slots=slots, journal=journal, **options))
    if kind is TopicKind.STREAM:
        client.define_group(topic, GROUP, start="start")


def live(places: list[Place]) -> None:
    """In each, of one topic: messages that are done, dead, in back-off, in flight: three of each."""
    client, topic = places[0].client, places[0].queue
    for place in places:
        place.say("now", *(f"m{n}" for n in range(12)))
    taken: list[Any] = []
    while some := client.take(topic, 1_000):
        taken += some
    assert len(taken) == 12 * len(places)
    for place in places:
        here = [each for each in taken if each.slot == place.slot]
        client.ack(here[:3])
        client.reject(here[3:6], message="no use")
        client.nack(here[6:9], error="Broken", message="once", delay_ms=FAR_MS)
        several = (("done", 0), ("dead", 3), ("retry", 6), ("prepare", 9))
        place.ids = {name: [each.raw_id for each in here[first : first + 3]] for name, first in several}


def live_on(place: Place) -> None:
    """And six that wait; in a stream, that are ahead."""
    ahead = place.say("later", *(f"w{n}" for n in range(6)))
    place.ids |= {"ahead": ahead, "store": []} if place.kind is TopicKind.STREAM else {"store": ahead}
    for at in range(1, len(place.slots)):
        place.say("later", "elsewhere", at=at)
    for queue in QUEUES:
        key = getattr(place.keys(), queue)
        assert all(place.raw.zscore(key, id) is not None for id in place.ids[queue]), queue
