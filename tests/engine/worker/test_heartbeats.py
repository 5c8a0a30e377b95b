"""The heartbeats of a large fleet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rmq_core import RMQ
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.protocol.scripts import Call, script

MANY = 320


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    with RMQ(redis_server.url, namespace) as rmq:
        yield rmq
        rmq.connection.client.delete(rmq.keyspace.workers)


def beat(rmq: RMQ, name: str, about: str = '{"state":"running"}', forget_ms: int = 3_600_000) -> None:
    rmq.connection.run([Call(script("heartbeat"), [rmq.keyspace.workers], [name, about, forget_ms])])


def looks(rmq: RMQ) -> int:
    """How often somebody has looked at all workers."""
    return int(rmq.connection.client.info("commandstats").get("cmdstat_hgetall", {"calls": 0})["calls"])


def test_few_of_many_workers_look_at_all_the_others(rmq: RMQ) -> None:
    for number in range(MANY):
        beat(rmq, f"worker-{number}")
    before = looks(rmq)
    for number in range(MANY):
        beat(rmq, f"worker-{number}")
    assert looks(rmq) - before < MANY / 2  # about 16 are to be expected


def test_they_forget_who_is_silent_all_the_same(rmq: RMQ) -> None:
    for number in range(MANY):
        beat(rmq, f"silent-{number}")
    for _ in range(MANY * 10):
        beat(rmq, "alive", forget_ms=-1)
        if not rmq.connection.client.exists(rmq.keyspace.workers):
            return
    pytest.fail("nobody was forgotten")
