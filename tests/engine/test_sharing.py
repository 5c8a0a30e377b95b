"""One synchronous client, used by many threads and from inside its own calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from rmq_core import RMQ, Control, PriorityMessage, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.ops.sending import MESSAGES_AT_ONCE


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    with RMQ(redis_server.url, namespace) as client:
        for name in ("here", "there"):
            client.define(Topic(name, TopicKind.PRIORITY, slots=4))
        yield client
        for name in ("here", "there"):
            Control(client).delete_topic(name, force=True)


def test_threads_that_come_and_go_leave_no_connection_behind(rmq: RMQ, redis_server: EmbeddedRedis) -> None:
    with redis_server.client() as look:
        before = look.info("clients")["connected_clients"]
        for _ in range(150):  # more than a redis-py pool would lend
            thread = threading.Thread(target=rmq.take, args=("here",))
            thread.start()
            thread.join()
        assert look.info("clients")["connected_clients"] <= before + 1


def test_threads_share_a_client(rmq: RMQ) -> None:
    def work(number: int) -> int:
        done = 0
        for i in range(20):
            rmq.send("here", PriorityMessage(f"{number}-{i}", 20))
            done += rmq.ack(rmq.take("here", 5)).count("done")
        return done

    with ThreadPoolExecutor(8) as threads:
        done = sum(threads.map(work, range(16)))
    while left := rmq.take("here", 1000):
        done += rmq.ack(left).count("done")
    assert done == 16 * 20


def test_messages_may_be_made_with_the_client_that_sends_them(rmq: RMQ) -> None:
    """Forwarding: the batches on their way out must not mix with what their source asks meanwhile."""
    many = MESSAGES_AT_ONCE * 2 + 500
    rmq.send_many("here", (PriorityMessage(str(i), 20) for i in range(many)))

    def moved() -> Iterator[PriorityMessage]:
        while some := rmq.take("here", 1000):
            for delivery in some:
                yield PriorityMessage(delivery.content, 30)
            assert rmq.ack(some) == ["done"] * len(some)

    assert rmq.send_many("there", moved()) == (many, 0)


def test_a_source_of_messages_that_fails_spoils_nothing(rmq: RMQ) -> None:
    def broken() -> Iterator[PriorityMessage]:
        for i in range(MESSAGES_AT_ONCE * 2):
            yield PriorityMessage(str(i), 20)
        raise LookupError("the source ran dry")

    with pytest.raises(LookupError, match="ran dry"):
        rmq.send_many("here", broken())
    assert rmq.send_many("there", [PriorityMessage("x", 20)]) == (1, 0)
    assert [d.text for d in rmq.take("there", 10)] == ["x"]
