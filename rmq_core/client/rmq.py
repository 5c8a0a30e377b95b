"""The synchronous client."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from rmq_core.client.base import ClientCore, deliveries_of, patience_ms, several, topic_name
from rmq_core.client.journal import JournalReader
from rmq_core.errors import TopicReshaped
from rmq_core.hooks.hook import Hook
from rmq_core.model.composing import Content, SendOptions, compose
from rmq_core.model.delivery import Delivery, SettleStatus
from rmq_core.model.message import Message, is_message
from rmq_core.model.outcomes import check_delay
from rmq_core.model.topic import Topic
from rmq_core.ops import consuming, registry, sending
from rmq_core.ops.hints import note_heads
from rmq_core.ops.sent import NOTHING_SENT, Sent, SentMany, count, minus, plus
from rmq_core.protocol.scripts import Call, Operation, batches
from rmq_core.protocol.takes import NOT_DUE
from rmq_core.transport import forks
from rmq_core.transport.listening import Listening
from rmq_core.transport.notifications import FALLBACK_S
from rmq_core.transport.retry import RETRY_FOR_MS
from rmq_core.transport.sync import Connection

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")


class RMQ(ClientCore):
    """A client of the queue; safe to share between threads, and to use on in a forked child.

    ``url``: see `transport.redis_url.RedisURL`. Commands are retried for ``retry_for_ms`` while the server is away,
    then raise `ConnectionLost`. The first command raises `ServerTooOld` or `EvictionEnabled` where the server is not
    fit; ``allow_eviction`` waives the second. ``retry_for_s`` is a former name, until release 0.3.
    """

    def __init__(
        self,
        url: str = "redis://localhost:6379/0",
        namespace: str = "rmq",
        *,
        allow_eviction: bool = False,
        retry_for_ms: int = RETRY_FOR_MS,
        client: Any = None,
        hooks: Iterable[Hook] = (),
        retry_for_s: float | None = None,
    ) -> None:
        super().__init__(url, namespace, allow_eviction, hooks)
        self.connection = Connection(self.target, client, patience_ms(retry_for_ms, retry_for_s))
        self._checked = False
        self._lock = threading.Lock()
        forks.follow(self)

    def after_fork(self) -> None:
        """A thread of the parent may have held it."""
        self._lock = threading.Lock()

    def run(self, operation: Operation[T]) -> T:
        """Drives an operation of this package to its end."""
        if not self._checked:
            with self._lock:
                if not self._checked:
                    self._drive(self.check_server())
                    self._checked = True
        return self._drive(operation)

    def _drive(self, operation: Operation[T]) -> T:
        try:
            requests = next(operation)
            while True:
                try:
                    replies = self.connection.run(requests)
                except Exception as error:
                    requests = operation.throw(error)
                else:
                    requests = operation.send(replies)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    # -- topics

    def define(self, topic: Topic) -> Topic:
        """Declares a topic; returns the stored definition. Raises `TopicConflict`."""
        return self.remember(self.run(registry.define(self.keyspace, topic)))

    def topic(self, name: str | Topic) -> Topic:
        """The stored definition. Raises `UnknownTopic`."""
        return self.run(self.checked_topic(name))

    # -- sending

    def send(
        self,
        topic: str | Topic,
        message: Message | Content,
        *,
        allow_past: bool = False,
        **options: Unpack[SendOptions],
    ) -> Sent:
        """Sends one message: a ready-made one, or a content and when it is delivered.

            rmq.send("mail", {"to": "me@example.com"}, priority=900)
            rmq.send(UNPAID, order, in_ms=3_000, key="order-4711")

        Text and bytes are sent as they are, everything else as JSON, see `to_json`. ``options``: see `SendOptions`.
        Raises `UnknownTopic`, `InvalidMessage`, `WrongKind`, `ContentTooLarge`, `DueInThePast`, `BacklogFull`.
        """
        ready: Any = compose(message, options) if options else message
        if self.hooks.of_sends and is_message(ready):
            with self.hooks.sending(topic_name(topic), [ready]) as around:
                (ready,) = around.messages
                sent = self.run(self.on_topic(sending.send, topic, ready, allow_past=allow_past))
                around.result = sent
            return sent
        return self.run(self.on_topic(sending.send, topic, ready, allow_past=allow_past))

    def send_many(self, topic: str | Topic, messages: Iterable[Message], *, allow_past: bool = False) -> SentMany:
        """Sends any number of messages, a bounded number in memory at a time.

        An error leaves earlier ones sent; repeating the whole is harmless, for equal ids merge. `BacklogFull` tells
        how many were sent, and which of those it was given were not.
        """
        messages = several(messages)
        if not self.hooks.of_sends:
            return self.send_as_given(topic, messages, allow_past=allow_past)
        total = self.send_as_given(topic, ())  # knows the topic
        for some in batches(messages, sending.MESSAGES_AT_ONCE):
            if not all(map(is_message, some)):
                return self.send_as_given(topic, some, allow_past=allow_past, before=total)  # which raises
            with self.hooks.sending(topic_name(topic), some) as around:
                before, total = total, self.send_as_given(topic, around.messages, allow_past=allow_past, before=total)
                around.result = minus(total, before)
        return total

    def send_as_given(
        self,
        topic: str | Topic,
        messages: Iterable[Message],
        *,
        allow_past: bool = False,
        before: SentMany = NOTHING_SENT,
    ) -> SentMany:
        """As `send_many`, through no hook. ``before``: what the same call has sent already, to be counted with it."""
        definition = self.topic(topic)
        if definition.max_backlog:
            limited = sending.send_many_limited(
                self.keyspace, definition, messages, allow_past=allow_past, before=before
            )
            return self.run(limited)
        groups = sending.groups(self.keyspace, definition, messages, allow_past=allow_past)
        total = before
        sent: deque[list[Call]] = deque()
        try:
            for replies in self.connection.stream(sending.remembered(groups, sent)):
                total = plus(total, count(replies))
                self.run(note_heads(self.keyspace, definition, sent.popleft(), replies))
        except TopicReshaped:
            self.run(self.reshaped(definition.name))  # repeating the whole follows the new one
            raise
        return total

    # -- taking and settling

    def take(self, topic: str | Topic, max: int = 1, timeout_ms: int = 0) -> list[Delivery]:
        """Up to ``max`` ready messages; waits up to ``timeout_ms`` for the first one. Raises `Fenced`."""
        topic = topic_name(topic)
        check_delay(timeout_ms, "timeout_ms")
        deadline = time.monotonic() + timeout_ms / 1000
        taken = self.run(self.taken(topic, max))
        if taken.deliveries or timeout_ms == 0:
            return taken.deliveries
        with Listening(self.connection, self.keyspace.wake(topic)) as listening:
            wait_s = 0.0
            while True:
                payload = listening.hear(wait_s)
                if payload is not None:
                    self.heard(topic, payload)
                taken = self.run(self.taken(topic, max))
                left_s = deadline - time.monotonic()
                if taken.deliveries or left_s <= 0:
                    return taken.deliveries
                due_s = FALLBACK_S if taken.next_due_ms == NOT_DUE else (taken.next_due_ms - taken.now_ms) / 1000
                wait_s = min(due_s, FALLBACK_S, left_s)

    def ack(self, deliveries: Delivery | Iterable[Delivery]) -> list[SettleStatus]:
        """Settles deliveries that succeeded; ``stale``: timed out meanwhile, or its topic is gone."""
        return self._settle(consuming.ack, deliveries)

    def nack(
        self,
        deliveries: Delivery | Iterable[Delivery],
        *,
        error: str = "Nack",
        message: str = "",
        delay_ms: int | None = None,
    ) -> list[SettleStatus]:
        """Settles deliveries that failed; they come back after ``delay_ms``, or the topic's back-off."""
        return self._settle(consuming.nack, deliveries, error=error, message=message, delay_ms=delay_ms)

    def reject(self, deliveries: Delivery | Iterable[Delivery], *, message: str = "") -> list[SettleStatus]:
        """Makes deliveries dead letters at once."""
        return self._settle(consuming.nack, deliveries, error="Reject", message=message, reject=True)

    def release(self, deliveries: Delivery | Iterable[Delivery], *, delay_ms: int = 0) -> list[SettleStatus]:
        """Gives deliveries back without counting an attempt."""
        return self._settle(consuming.release, deliveries, delay_ms=delay_ms)

    def extend(self, deliveries: Delivery | Iterable[Delivery], *, for_ms: int | None = None) -> list[SettleStatus]:
        """Gives deliveries another visibility timeout, or ``for_ms`` from now."""
        return self._settle(consuming.extend, deliveries, for_ms=for_ms)

    def _settle(self, operation: Any, deliveries: Delivery | Iterable[Delivery], **options: Any) -> list[SettleStatus]:
        listed = deliveries_of(deliveries)
        if not listed:
            return []
        return self.run(self.settled(operation, listed, **options))

    # -- the journal

    def journal(
        self, topic: str | Topic, reader: str | None = None, *, slots: int | Iterable[int] | None = None
    ) -> JournalReader:
        """What happened to the topic's messages, where its ``journal`` is on; of some ``slots`` (None: all).

        ``reader``: a durable one of that name; see `JournalReader`. Raises `ConfigurationError`.
        """
        return JournalReader(self, self.run, topic, reader, slots)

    # -- life

    def close(self) -> None:
        """Closes the connections."""
        self.connection.close()

    def __enter__(self) -> RMQ:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
