"""`TestQueue`: what applications test their listeners with."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from rmq_core import Delivery, Listener, PriorityMessage, Reject, Release, Retry, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConfigurationError
from rmq_core.testing import Drained, TestQueue
from tests.support.keys import keys_of

MAIL = Topic("mail", TopicKind.PRIORITY, slots=2, backoff_ms=0, backoff_max_ms=0, max_retries=1)


@pytest.fixture
def queue() -> Iterator[TestQueue]:
    with TestQueue() as queue:
        queue.define(MAIL)
        yield queue


def send(queue: TestQueue, *contents: str) -> None:
    queue.rmq.send_many("mail", [PriorityMessage(content, 20) for content in contents])


def states(queue: TestQueue) -> dict[str, int]:
    (sample,) = queue.inspector.sample(["mail"])
    return {"ready": sample.ready, "waiting": sample.waiting, "dead": sample.dead}


def test_outcomes_count_as_in_a_worker(queue: TestQueue) -> None:
    outcomes = {"fine": None, "bad": ValueError("no"), "never": Reject("no"), "later": Retry(delay_ms=60_000)}
    released: list[str] = []

    def act(delivery: Delivery) -> None:
        if delivery.text == "busy" and not released:
            released.append("busy")
            raise Release
        if (error := outcomes.get(delivery.text)) is not None:
            raise error

    send(queue, *outcomes, "busy")
    # "bad" fails twice and is dead; "busy" comes back at once, uncounted.
    assert queue.drain(Listener("mail", act)) == Drained(done=2, failed=5)
    assert states(queue) == {"ready": 0, "waiting": 1, "dead": 2}


def test_it_stops_where_it_is_told_to_and_hands_out_batches(queue: TestQueue) -> None:
    send(queue, *(str(number) for number in range(20)))
    sizes: list[int] = []
    assert queue.drain(Listener("mail", lambda batch: sizes.append(len(batch)), batch=4), at_most=10).done == 10
    assert sum(sizes) == 10 and max(sizes) <= 4
    assert states(queue)["ready"] == 10


def test_a_rate_slows_it_and_does_not_end_it(queue: TestQueue) -> None:
    queue.control.put_topic(dataclasses.replace(MAIL, rate_limit=50), 1)
    send(queue, *(str(number) for number in range(20)))
    assert queue.drain(Listener("mail", lambda delivery: None)) == Drained(done=20, failed=0)


def test_a_paused_topic_hands_out_nothing(queue: TestQueue) -> None:
    queue.control.put_topic(dataclasses.replace(MAIL, rate_limit=50, paused=True), 1)
    send(queue, "a")
    assert queue.drain(Listener("mail", print)) == Drained(done=0, failed=0)


def test_a_coroutine_is_refused(queue: TestQueue) -> None:
    async def act(delivery: Delivery) -> None:
        """Never called."""

    with pytest.raises(ConfigurationError, match="Worker"):
        queue.drain(Listener("mail", act))


def test_on_a_server_nothing_is_left(redis_server: EmbeddedRedis) -> None:
    with TestQueue(redis_server.url) as queue:
        queue.define(MAIL)
        send(queue, "a", "b")
        assert queue.drain(Listener("mail", lambda delivery: None), at_most=1).done == 1
        namespace = queue.rmq.keyspace.namespace
    with redis_server.client() as raw:
        assert keys_of(raw, namespace) == []
