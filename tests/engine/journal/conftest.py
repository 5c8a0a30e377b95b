"""A queue on a real server, with a journal; what a test leaves is removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rmq_core import RMQ, Control, Inspector, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.journal import Position, Read, reader, trimmer
from tests.engine.ledgers import SlotLedger, slot_ledger


class Journaled:
    """One topic named ``work``, and its journal."""

    def __init__(self, rmq: RMQ, url: str, raw: Any) -> None:
        self.rmq, self.url, self.raw = rmq, url, raw
        self.control, self.inspector = Control(rmq), Inspector(rmq)

    def define(self, **options: Any) -> Topic:
        settings = {"slots": 1, "journal": "events", "backoff_ms": 0, "backoff_max_ms": 0} | options
        return self.rmq.define(Topic("work", TopicKind.PRIORITY, **settings))

    def redefine(self, **changes: Any) -> Topic:
        from dataclasses import replace

        topic = self.inspector.topics()[0]
        return self.control.put_topic(replace(topic, **changes), topic.version)

    def send(self, *contents: str, **options: Any) -> None:
        for content in contents:
            self.rmq.send("work", PriorityMessage(content, 20, **options))

    def read(self, after: dict[int, Position] | None = None, **options: Any) -> Read:
        return self.rmq.run(reader.read(self.rmq.keyspace, self.rmq.topic("work"), after=after, **options))

    def events(self, after: dict[int, Position] | None = None) -> list[tuple[str, str]]:
        return [(each.event, each.id.decode()) for each in self.read(after).transitions]

    def commit(self, name: str, positions: dict[int, Position]) -> None:
        self.rmq.run(reader.commit(self.rmq.keyspace, self.rmq.topic("work"), name, positions))

    def trim(self) -> int:
        return self.rmq.run(trimmer.trim(self.rmq.keyspace, self.rmq.topic("work")))

    def key(self, slot: int = 0) -> str:
        return self.rmq.keyspace.slot("work", slot).journal

    def ledger(self, slot: int = 0) -> SlotLedger:
        return slot_ledger(self.raw, self.rmq.keyspace.namespace, "work", slot)


@pytest.fixture
def journaled(redis_server: EmbeddedRedis, namespace: str) -> Iterator[Journaled]:
    with RMQ(redis_server.url, namespace) as rmq, redis_server.client() as raw:
        yield Journaled(rmq, redis_server.url, raw)
        for topic in Inspector(rmq).topics():
            Control(rmq).delete_topic(topic.name, force=True)
