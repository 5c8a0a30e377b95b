"""Buffered sending: many messages become few round trips, without the sender waiting for each.

A buffer is flushed when it holds ``flush_count`` messages, when its oldest has waited ``flush_ms``, or, with
``flush_ms=0``, as soon as the previous flush has returned.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

from rmq_core import sending
from rmq_core.async_client import AsyncRMQ
from rmq_core.client import RMQ
from rmq_core.errors import BacklogFull, ConfigurationError, ProducerClosed
from rmq_core.message import Message
from rmq_core.scripts import Operation
from rmq_core.sending import Sent
from rmq_core.topic import Topic

if TYPE_CHECKING:
    from types import TracebackType

log = logging.getLogger(__name__)


class Item(NamedTuple):
    """A buffered message."""

    topic: str
    message: Message
    future: Any  # concurrent or asyncio Future; None for one-way


def check(flush_count: int, flush_ms: int, max_buffered: int) -> None:
    """Raises `ConfigurationError`."""
    for name, value, low, high in (
        ("flush_count", flush_count, 1, 10_000),
        ("flush_ms", flush_ms, 0, 60_000),
        ("max_buffered", max_buffered, 1, 10_000_000),
    ):
        if type(value) is not int or not low <= value <= high:
            raise ConfigurationError(f"{name}={value!r} must be a whole number from {low} to {high}")


def each(client: RMQ | AsyncRMQ, topic: Topic, messages: Sequence[Message]) -> Operation[list[Sent | BacklogFull]]:
    """Sends messages of one topic in one round trip, with a result for each; what meets a full backlog takes more."""
    steps = [sending.send(client.keyspace, topic, message) for message in messages]
    replies = yield [next(step)[0] for step in steps]
    results: list[Sent | BacklogFull] = []
    for step, reply in zip(steps, replies, strict=True):
        answer = [reply]
        try:
            while True:
                answer = yield step.send(answer)
        except StopIteration as done:
            results.append(done.value)
        except BacklogFull as full:
            results.append(full)
    return results


def settle(future: Any, result: Sent | BacklogFull) -> None:
    """Tells whoever waits for a message what became of it."""
    if isinstance(result, BacklogFull):
        future.set_exception(result)
    else:
        future.set_result(result)


def by_topic(items: Sequence[Item]) -> list[tuple[str, list[Item], list[Item]]]:
    """(topic, one-way items, items with a future); the order of sends within a topic and kind is kept."""
    topics: dict[str, tuple[list[Item], list[Item]]] = {}
    for item in items:
        one_way, awaited = topics.setdefault(item.topic, ([], []))
        (one_way if item.future is None else awaited).append(item)
    return [(topic, one_way, awaited) for topic, (one_way, awaited) in topics.items()]


class Producer:
    """Sends from any thread through one background thread.

    ``send`` returns a future of `Sent`; ``post`` is one-way: its errors go to ``on_error(error, messages)`` and the
    log. When ``max_buffered`` messages wait, both block: the server is the bottleneck, not the memory. ``close``
    flushes what is buffered.
    """

    def __init__(
        self,
        client: RMQ,
        *,
        flush_count: int = 1_000,
        flush_ms: int = 0,
        max_buffered: int = 100_000,
        on_error: Callable[[BaseException, Sequence[Message]], None] | None = None,
    ) -> None:
        check(flush_count, flush_ms, max_buffered)
        self._client = client
        self._flush_count = flush_count
        self._flush_s = flush_ms / 1000
        self._max_buffered = max_buffered
        self._on_error = on_error
        self._items: list[Item] = []
        self._oldest = 0.0
        self._closed = False
        self._flushing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="rmq-producer", daemon=True)
        self._thread.start()

    def send(self, topic: str, message: Message) -> Future[Sent]:
        """Buffers a message. Raises `ProducerClosed`; the future raises what sending raises."""
        future: Future[Sent] = Future()
        self._add(Item(topic, message, future))
        return future

    def post(self, topic: str, message: Message) -> None:
        """Buffers a message nobody waits for. Raises `ProducerClosed`."""
        self._add(Item(topic, message, None))

    def _add(self, item: Item) -> None:
        with self._changed:
            while len(self._items) >= self._max_buffered and not self._closed:
                self._changed.wait()
            if self._closed:
                raise ProducerClosed("this producer is closed; make a new one")
            if not self._items:
                self._oldest = time.monotonic()
            self._items.append(item)
            if len(self._items) in {1, self._flush_count}:
                self._changed.notify_all()

    def flush(self) -> None:
        """Returns when everything buffered so far has been sent or has failed."""
        with self._changed:
            self._oldest = 0.0
            self._changed.notify_all()
            while self._items or self._flushing:
                self._changed.wait()

    def close(self) -> None:
        """Flushes and ends; later sends raise `ProducerClosed`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def __enter__(self) -> Producer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._flushing = False
                self._changed.notify_all()
                while not self._due():
                    if self._closed and not self._items:
                        return
                    left = self._oldest + self._flush_s - time.monotonic() if self._items else None
                    self._changed.wait(left)
                items, self._items = self._items, []
                self._flushing = True
                self._changed.notify_all()
            for topic, one_way, awaited in by_topic(items):
                self._send_one_way(topic, one_way)
                self._send_awaited(topic, awaited)

    def _due(self) -> bool:
        if not self._items:
            return False
        full = len(self._items) >= self._flush_count
        return full or self._closed or time.monotonic() >= self._oldest + self._flush_s

    def _send_one_way(self, topic: str, items: list[Item]) -> None:
        messages = [item.message for item in items]
        try:
            self._client.send_many(topic, messages)
        except Exception as error:
            report(self._on_error, error, topic, messages)

    def _send_awaited(self, topic: str, items: list[Item]) -> None:
        # A future cancelled before this point is honoured; from here on the message is on its way.
        items = [item for item in items if item.future.set_running_or_notify_cancel()]
        if not items:
            return
        try:
            results = self._client.run(each(self._client, self._client.topic(topic), [item.message for item in items]))
        except Exception as error:
            if len(items) == 1:
                items[0].future.set_exception(error)
                return
            # One bad message must not fail its neighbours; repeating a send is harmless.
            for item in items:
                try:
                    item.future.set_result(self._client.send(topic, item.message))
                except Exception as own:
                    item.future.set_exception(own)
        else:
            for item, result in zip(items, results, strict=True):
                settle(item.future, result)


def report(
    on_error: Callable[[BaseException, Sequence[Message]], None] | None,
    error: BaseException,
    topic: str,
    messages: Sequence[Message],
) -> None:
    """Tells the log and the application that one-way messages were not sent; of a full backlog, which."""
    if isinstance(error, BacklogFull) and error.unsent:
        messages = error.unsent
    log.error("%d message(s) to topic %r were not sent: %s", len(messages), topic, error)
    if on_error is not None:
        try:
            on_error(error, messages)
        except Exception:
            log.exception("on_error itself failed")
