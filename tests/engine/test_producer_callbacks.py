"""Callbacks of a producer run in the thread that sends: what they do must never stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from rmq_core import RMQ, Control, Inspector, Producer, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import ConfigurationError
from tests.support.waiting import wait_until


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("work", TopicKind.PRIORITY, slots=4))
        client.define(Topic("full", TopicKind.PRIORITY, slots=1, max_backlog=1))
        yield client
        for name in ("work", "full"):
            Control(client).delete_topic(name, force=True)


def backlog(rmq: RMQ) -> int:
    (state,) = Inspector(rmq).sample(["work"])
    return state.backlog


def after_failing_to_wait(rmq: RMQ, wait: Callable[[Producer], object]) -> None:
    """In a callback, waiting is refused, and the producer goes on."""
    refused: list[Exception] = []

    def callback(_: Future[object]) -> None:
        try:
            wait(producer)
        except ConfigurationError as error:
            refused.append(error)

    with Producer(rmq) as producer:
        producer.send("work", "first", priority=20).add_done_callback(callback)
        wait_until(lambda: bool(refused), what="the refusal")
        for number in range(50):
            producer.post("work", f"m{number}", priority=20)
        producer.flush()
    assert "would wait for itself" in str(refused[0])
    assert backlog(rmq) >= 51


def test_flushing_in_a_callback_is_refused(rmq: RMQ) -> None:
    after_failing_to_wait(rmq, Producer.flush)


def test_waiting_for_another_message_in_a_callback_is_refused(rmq: RMQ) -> None:
    after_failing_to_wait(rmq, lambda producer: producer.send("work", "second", priority=20).result())


def test_closing_in_a_callback_sends_what_is_left(rmq: RMQ) -> None:
    producer = Producer(rmq, flush_ms=60_000, flush_count=2)
    producer.send("work", "first", priority=20).add_done_callback(
        lambda _: (producer.post("work", "x", priority=20), producer.close())
    )
    producer.post("work", "second", priority=20)
    wait_until(lambda: backlog(rmq) == 3, what="all three")
    producer.close()


def test_a_callback_may_send_into_a_full_buffer(rmq: RMQ) -> None:
    with Producer(rmq, max_buffered=1, flush_count=1) as producer:

        def more(_: object) -> None:
            for number in range(10):
                producer.post("work", f"n{number}", priority=20)

        producer.send("work", "first", priority=20).add_done_callback(more)
        wait_until(lambda: backlog(rmq) == 11, what="all of them")


def test_a_process_ends_though_its_callback_flushes(rmq: RMQ) -> None:
    stuck = threading.Event()
    producer = Producer(rmq, on_error=lambda *_: producer.flush())
    producer._client.send_as_given = lambda *_: stuck.wait()  # type: ignore[method-assign, assignment]
    producer.post("work", "never", priority=20)
    wait_until(lambda: producer._flushing, what="the sending")
    producer.post("work", "nor this", priority=20)
    ended = threading.Thread(target=producer.finish, args=(0.01,))
    ended.start()
    ended.join(30)
    assert not ended.is_alive()
    stuck.set()
