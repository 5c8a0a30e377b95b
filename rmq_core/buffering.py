"""What the two producers share: their settings, what waits, how a flush is put together and accounted for.

A buffer is flushed when it holds ``flush_count`` messages, when its oldest has waited ``flush_ms``, or, with
``flush_ms=0``, as soon as the previous flush has returned.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from rmq_core import sending
from rmq_core.async_client import AsyncRMQ
from rmq_core.client import RMQ
from rmq_core.errors import BacklogFull, ConfigurationError, ProducerClosed
from rmq_core.message import Message
from rmq_core.scripts import Operation
from rmq_core.sending import Sent
from rmq_core.topic import Topic

Client = TypeVar("Client", RMQ, AsyncRMQ)
OnError = Callable[[BaseException, Sequence[Message]], None]

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


class Buffered(ABC, Generic[Client]):
    """A producer's settings and its buffer."""

    def __init__(
        self,
        client: Client,
        *,
        flush_count: int = 1_000,
        flush_ms: int = 0,
        max_buffered: int = 100_000,
        on_error: OnError | None = None,
    ) -> None:
        check(flush_count, flush_ms, max_buffered)
        self._client: Client = client
        self._flush_count = flush_count
        self._flush_s = flush_ms / 1000
        self._max_buffered = max_buffered
        self._on_error = on_error
        self._items: list[Item] = []
        self._closed = False
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Makes what this kind of sender waits and works with."""

    def _put(self, item: Item) -> None:
        """Raises `ProducerClosed`."""
        if self._closed:
            raise ProducerClosed("this producer is closed; make a new one")
        self._items.append(item)

    def _report(self, error: BaseException, topic: str, messages: Sequence[Message]) -> None:
        """Tells the log and the application that one-way messages were not sent; of a full backlog, which."""
        if isinstance(error, BacklogFull) and error.unsent:
            messages = error.unsent
        log.error("%d message(s) to topic %r were not sent: %s", len(messages), topic, error)
        if self._on_error is not None:
            try:
                self._on_error(error, messages)
            except Exception:
                log.exception("on_error itself failed")
