"""`manage.py up --shared` on a Redis whose slots had owners."""

from __future__ import annotations

from typing import Any

import pytest

from console.models import AuditEntry
from console.supervise.sharing import share_slots
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import Fenced
from rmq_core.protocol.scripts import one
from rmq_core.protocol.slot_calls import acquire
from tests.console.conftest import Queue


def test_owned_slots_are_handed_back_and_it_is_said(queue: Queue, redis_server: EmbeddedRedis, db: None) -> None:
    queue.topic("orders")
    queue.topic("never-owned")
    queue.delayed("a", in_ms=0)
    client = queue.client
    for slot in range(4):
        client.run(one(acquire(client.keyspace, client.topic("orders"), slot, 7), bytes))
    with pytest.raises(Fenced):
        client.take("orders")
    said: list[Any] = []
    share_slots(redis_server.url, said.append)
    assert len(said) == 1 and "orders: 4 slots" in said[0]
    client.ack(client.take("orders", timeout_ms=2_000))
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.topic, entry.done, entry.username) == ("unfence", "orders", 4, "manage.py up")
    share_slots(redis_server.url, said.append)
    assert len(said) == 1, "nothing is left to hand back"
