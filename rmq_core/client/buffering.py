"""What the two producers share: their settings, what waits, how a flush is put together and accounted for.

A buffer is flushed when it holds ``flush_count`` messages, when its oldest has waited ``flush_ms``, or, with
``flush_ms=0``, as soon as the previous flush has returned.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.client.base import OUTDATED
from rmq_core.client.rmq import RMQ
from rmq_core.errors import (
    BacklogFull,
    ConfigurationError,
    ConnectionLost,
    ProducerClosed,
    RMQError,
    TopicError,
    TopicReshaped,
)
from rmq_core.model.composing import Content, SendOptions, compose, entry_of
from rmq_core.model.entry import AnyMessage, is_message
from rmq_core.model.topic import Topic
from rmq_core.ops import sending
from rmq_core.ops.sent import Sent
from rmq_core.protocol.scripts import Each, Operation, Request
from rmq_core.streams import sending as entries
from rmq_core.transport import forks
from rmq_core.transport.retry import Ordered, Replies

Client = TypeVar("Client", RMQ, AsyncRMQ)
OnError = Callable[[BaseException, Sequence[AnyMessage]], None]

log = logging.getLogger(__name__)


class Item(NamedTuple):
    """A buffered message."""

    topic: str
    message: AnyMessage
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


def made(message: AnyMessage | Content, options: SendOptions) -> Any:
    """The message that is buffered; what is no message is said by the send. Raises `InvalidMessage`."""
    return compose(message, options) if options else message


def each(client: RMQ | AsyncRMQ, name: str, messages: Sequence[AnyMessage]) -> Operation[list[Sent | Exception]]:
    """Sends messages of one topic, in order, with a result for each. Raises `UnknownTopic`.

    Where the topic was defined again since its definition was read, those that were refused for it follow the new one.
    """
    topic = yield from client.checked_topic(name)
    results = yield from _each(client, topic, messages)
    again = [position for position, result in enumerate(results) if isinstance(result, OUTDATED)]
    if not again:
        return results
    refused: Any = min((results[position] for position in again), key=lambda each: not isinstance(each, TopicReshaped))
    try:
        (now,) = yield from client.followed([topic], refused)
    except RMQError as error:
        if error is not refused:
            results = [error if isinstance(result, TopicReshaped) else result for result in results]
        return results
    resent = yield from _each(client, now, [messages[position] for position in again])
    for position, result in zip(again, resent, strict=True):
        results[position] = result
    return results


def _each(client: RMQ | AsyncRMQ, topic: Topic, messages: Sequence[Any]) -> Operation[list[Sent | Exception]]:
    """The same with one definition; what follows on the answers goes together, too."""
    if topic.is_stream:
        return (yield from entries.send_each(client.keyspace, topic, messages, client.sender, Ordered))
    results: dict[int, Sent | Exception] = {}
    steps = {position: sending.send(client.keyspace, topic, message) for position, message in enumerate(messages)}
    asked: dict[int, Sequence[Request]] = {}
    for position, step in steps.items():
        _advance(results, asked, position, partial(next, step))
    requests: Each = Ordered(request for some in asked.values() for request in some)
    while asked:
        replies: Any = (yield requests) if requests else []
        at, answered, asked = 0, asked, {}
        for position, some in answered.items():
            answer = Replies(replies[at : at + len(some)])
            answer.replayed = getattr(replies, "replayed", False)
            at += len(some)
            error = next((reply for reply in answer if isinstance(reply, Exception)), None)
            step = steps[position]
            _advance(
                results, asked, position, partial(step.send, answer) if error is None else partial(step.throw, error)
            )
        requests = Each(request for some in asked.values() for request in some)
    return [results[position] for position in range(len(messages))]


def _advance(
    results: dict[int, Sent | Exception],
    asked: dict[int, Sequence[Request]],
    position: int,
    go_on: Callable[[], Sequence[Request]],
) -> None:
    """Lets a send go on to its next requests, or to its result."""
    try:
        asked[position] = go_on()
    except StopIteration as done:
        results[position] = done.value
    except RMQError as error:
        results[position] = error


def by_topic(items: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    """The items of each topic, in the order in which they were given."""
    topics: dict[str, list[Item]] = {}
    for item in items:
        topics.setdefault(item.topic, []).append(item)
    return list(topics.items())


def all_or_none(error: Exception, messages: int) -> bool:
    """Whether an error of so many messages is one of each of them, or says itself of which.

    That a topic was made anew is one of none: they follow it.
    """
    if isinstance(error, TopicReshaped):
        return False
    return messages == 1 or isinstance(error, (ConnectionLost, BacklogFull, TopicError))


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
        self._closed = False
        self.after_fork()
        forks.follow(self)

    def after_fork(self) -> None:
        """What the parent had buffered, the parent sends."""
        self._items: list[Item] = []
        self._under_way: list[Item] = []
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Makes what this kind of sender waits and works with."""

    def _hooked(self, topic: str, message: Any) -> AbstractContextManager[Any]:
        """Around a message that is given to this producer: what is buffered of it, after the client's hooks."""
        if not self._client.hooks.of_sends:
            return nullcontext(message)
        if not is_message(message):
            try:
                message = entry_of(message)  # only streams take a bare content
            except RMQError:
                return nullcontext(message)  # the send says what is wrong with it
        return self._client.hooks.sending_one(topic, message)

    def _put(self, item: Item) -> None:
        """Raises `ProducerClosed`."""
        if self._closed:
            raise ProducerClosed("this producer is closed; make a new one")
        self._items.append(item)

    def _settle(self, topic: str, items: Sequence[Item], results: Sequence[Sent | Exception]) -> None:
        """Tells everybody what became of each message."""
        failed: dict[type, tuple[Exception, list[AnyMessage]]] = {}
        for item, result in zip(items, results, strict=True):
            if item.future is None:
                if isinstance(result, Exception):
                    failed.setdefault(type(result), (result, []))[1].append(item.message)
            elif item.future.done():
                continue
            elif isinstance(result, Exception):
                item.future.set_exception(result)
            else:
                item.future.set_result(result)
        for error, messages in failed.values():
            self._report(error, topic, messages)

    def _give_up(self, why: str) -> None:
        """Says loudly what is lost."""
        if self._under_way:
            log.error("of %d message(s) nobody knows whether they were sent: %s", len(self._under_way), why)
        left, self._items = self._items, []
        for topic, items in by_topic(left):
            lost = ProducerClosed(f"not sent: {why}")
            self._settle(topic, items, [lost] * len(items))

    def _report(self, error: BaseException, topic: str, messages: Sequence[AnyMessage]) -> None:
        """Tells the log and the application that one-way messages were not sent; of a full backlog, which."""
        if isinstance(error, BacklogFull) and error.unsent:
            messages = error.unsent
        log.error("%d message(s) to topic %r were not sent: %s", len(messages), topic, error)
        if self._on_error is not None:
            try:
                self._on_error(error, messages)
            except Exception:
                log.exception("on_error itself failed")
