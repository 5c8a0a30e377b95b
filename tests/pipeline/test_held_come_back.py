"""What was in flight, or kept back by a hold, comes back to its place: its due time, or its place among equals."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rmq_core import RMQ, FixedTimeMessage, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.model.topic import Journal, OnFailure
from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.restoring.rehearsal import Rehearsal
from rmq_core.pipeline.restoring.restore import restore
from rmq_core.pipeline.sources.options import SourceOptions

KEYS = ["first", "c", "a", "e", "b", "d"]
TOPICS = {"ranked": TopicKind.PRIORITY, "timed": TopicKind.FIXED_TIME}


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    """A Redis of the test's own: it is going to be flushed."""
    with EmbeddedRedis() as own:
        yield own


def send(client: RMQ, name: str) -> None:
    past = int(time.time() * 1000) - 60_000
    for i, key in enumerate(KEYS):
        common: dict[str, Any] = {"key": key, "slot_basis": "customer"}
        if TOPICS[name.removesuffix("-taken")] is TopicKind.PRIORITY:
            client.send(name, PriorityMessage(key, 500, **common))
        else:
            client.send(name, FixedTimeMessage(key, past + i, **common), allow_past=True)


def set_aside(client: RMQ, name: str, kind: TopicKind) -> None:
    """In one topic everything is in flight; in the other a message has failed, and those of its slot basis are held."""
    usual = {"slots": 1, "journal": Journal.FULL, "visibility_timeout_ms": 600_000}
    client.define(Topic(f"{name}-taken", kind, **usual))
    send(client, f"{name}-taken")
    assert [each.text for each in client.take(f"{name}-taken", 10)] == KEYS
    client.define(Topic(name, kind, on_failure=OnFailure.WAIT, **usual))
    send(client, name)
    client.nack(client.take(name), error="Broken", delay_ms=0)
    assert [each.text for each in client.take(name, 10)] == ["first"]
    keys = client.keyspace.slot(name, 0)
    assert client.connection.run([("ZCARD", keys.store), ("ZCARD", keys.retry)]) == [0, len(KEYS) - 1]


def worked_off(client: RMQ, name: str) -> list[str]:
    order = []
    while taken := client.take(name, 10, timeout_ms=100):
        order += [each.text for each in taken]
        client.ack(taken)
    return order


def check(client: RMQ) -> None:
    for name in TOPICS:
        assert worked_off(client, name) == KEYS
        assert worked_off(client, f"{name}-taken") == KEYS


def test_what_was_taken_or_held_comes_back_in_its_order(spark: Any, server: EmbeddedRedis, tmp_path: Path) -> None:
    path, options = str(tmp_path / "archive"), SourceOptions(server.url, "held", (), 4)
    with RMQ(server.url, "held") as client, RMQ(server.url, "rehearsed") as other:
        for name, kind in TOPICS.items():
            set_aside(client, name, kind)
        archive(spark, options, path, compacting=False)
        # From the beginning, and out of a closing state.
        assert restore(spark, options, path, rehearsal=Rehearsal("rehearsed")).restored == 4 * len(KEYS)
        check(other)
        reconcile(spark, Inputs(options, path, str(tmp_path / "reports"), overdue_ms=10**12))
        server.client().flushall()
        assert restore(spark, options, path).restored == 4 * len(KEYS)
        check(client)
