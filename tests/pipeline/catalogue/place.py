"""A topic in which much has happened, and all is well, until somebody plants a fault in it."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rmq_core import RMQ, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.model.topic import Journal
from rmq_core.protocol.keys import SlotKeys
from tests.pipeline import parquet

FAR_MS = 3_600_000
QUEUES = ("store", "retry", "prepare", "dead")
POOLS = ("body", "failed", "dead_record", "priority", "stats")


class Place:
    """A topic of one slot (of two, where a fault is about slots), and ids that no other fault of it has touched."""

    def __init__(self, client: RMQ, raw: Any, archive: Path, topic: str, slots: int, kind: TopicKind) -> None:
        self.client, self.raw, self.archive, self.topic = client, raw, archive, topic
        self.kind, self.slots = kind, slots
        self.due = int(time.time() * 1000) + FAR_MS
        self.ids: dict[str, list[bytes]] = {}
        options: dict[str, Any] = {"visibility_timeout_ms": 600_000, "backoff_max_ms": FAR_MS}
        client.define(Topic(topic, kind, slots=slots, journal=Journal.FULL, **options))

    def live(self) -> None:
        """Messages that are done, dead, in flight, in back-off: three of each."""
        client = self.client
        self.say("now", *(f"m{n}" for n in range(12)))
        taken = client.take(self.topic, 12)
        assert len(taken) == 12
        client.ack(taken[:3])
        client.reject(taken[3:6], message="no use")
        client.nack(taken[6:9], error="Broken", message="once", delay_ms=FAR_MS)
        several = (("done", 0), ("dead", 3), ("retry", 6), ("prepare", 9))
        self.ids = {name: [each.raw_id for each in taken[first : first + 3]] for name, first in several}

    def live_on(self) -> None:
        """And six that wait."""
        self.say("later", *(f"w{n}" for n in range(6)))
        self.ids["store"] = [b"w%d" % n for n in range(6)]
        for queue in QUEUES:
            assert all(self.score(queue, id) is not None for id in self.ids[queue]), queue

    def say(self, when: str, *names: str) -> None:
        """Sends some that are due now, or later."""
        if self.kind is TopicKind.PRIORITY:
            urgent = [PriorityMessage(f"of {name}", priority=100, key=name) for name in names]
            self.client.send_many(self.topic, urgent)
            return
        due = 1_000 if when == "now" else self.due
        several = [FixedTimeMessage(f"of {name}", due_ms=due, key=name) for name in names]
        self.client.send_many(self.topic, several, allow_past=True)

    def keys(self, slot: int = 0) -> SlotKeys:
        return self.client.keyspace.slot(self.topic, slot)

    def score(self, queue: str, id: bytes) -> float | None:
        """In whichever slot it lies."""
        found = (self.raw.zscore(getattr(self.keys(slot), queue), id) for slot in range(self.slots))
        return next((each for each in found if each is not None), None)

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

    def picture(self, id: bytes | None) -> Any:
        """Everything that Redis and the archive hold of a message, or of all: a fault that leaves it the same is none."""
        if id is not None:
            slots = [self.keys(slot) for slot in range(self.slots)]
            scores = [self.raw.zscore(getattr(keys, name), id) for keys in slots for name in QUEUES]
            pooled = [self.raw.hget(getattr(keys, name), id) for keys in slots for name in POOLS]
            files = parquet.files(self.archive, self.topic)
            ids = [each for file in files for each in pq.ParquetFile(file).read(["id"])["id"].to_pylist()]  # type: ignore[no-untyped-call]
            return scores, pooled, ids.count(id)
        names = (*QUEUES, *POOLS, "journal")
        dumps = [self.raw.dump(getattr(self.keys(slot), name)) for slot in range(self.slots) for name in names]
        files = parquet.files(self.archive, self.topic)
        return dumps, [(str(each), hashlib.sha256(each.read_bytes()).hexdigest()) for each in files]
