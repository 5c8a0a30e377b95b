"""Whoever is killed at any point between take and acknowledgement breaks no order, and loses no version."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from rmq_core import RMQ, Control, Inspector, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.protocol.scripts import one
from rmq_core.protocol.takes import takeover
from tests.engine.test_chains_faults import watched

ENOUGH, VERSIONS = 60, 4


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("work", TopicKind.PRIORITY, slots=1, in_order=True))
        yield client
        Control(client).delete_topic("work", force=True)


def killed(url: str, namespace: str, last: int) -> bool:
    """Whether a child that takes and acknowledges whatever there is did not come to its end."""
    child = os.fork()
    if child == 0:
        try:
            rmq = watched(RMQ(url, namespace), last)
            while taken := rmq.take("work", 10):
                rmq.ack(taken)
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] != 0


def test_killed_at_any_step(rmq: RMQ, redis_server: EmbeddedRedis, namespace: str) -> None:
    topic = rmq.topic("work")
    for last in range(ENOUGH):
        key = f"k{last}"
        rmq.send_many("work", [PriorityMessage("x", 20, key=key, version=each) for each in (3, 1, 4, 2)])
        died = killed(redis_server.url, namespace, last)
        (waiting,) = Inspector(rmq).order("work").waiting or [None]
        rmq.run(one(takeover(rmq.keyspace, topic, 0, ""), lambda reply: reply))
        left: list[int] = []
        while taken := rmq.take("work", 1):
            left += [each.version for each in taken]
            rmq.ack(taken)
        assert left == list(range(VERSIONS + 1 - len(left), VERSIONS + 1)), f"killed at step {last}"
        assert waiting is None or (waiting.key, waiting.lowest) == (key, waiting.next + 1)
        assert Inspector(rmq).order("work").keys == 0
        if not died:
            break
    assert 5 < last < ENOUGH - 1, "it was killed in between, too"
