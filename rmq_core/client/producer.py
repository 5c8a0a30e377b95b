"""Buffered sending: many messages become few round trips, without the sender waiting for each.

`rmq_core.client.buffering` says when a buffer is flushed.
"""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Unpack

from rmq_core.client import exits
from rmq_core.client.arguments import topic_name
from rmq_core.client.buffering import Buffered, Item, all_or_none, by_topic, each, made
from rmq_core.client.rmq import RMQ
from rmq_core.errors import ConfigurationError, ProducerClosed, RMQError
from rmq_core.model.composing import Content, SendOptions
from rmq_core.model.entry import AnyMessage
from rmq_core.model.topic import Topic
from rmq_core.ops.sent import Sent

if TYPE_CHECKING:
    from types import TracebackType


class Producer(Buffered[RMQ]):
    """Sends from any thread through one background thread.

    ``send`` returns a future of `Sent`; ``post`` is one-way: its errors go to ``on_error(error, messages)`` and the
    log. When ``max_buffered`` messages wait, both block: the server is the bottleneck, not the memory. ``close``
    flushes what is buffered, and so does the end of the process, for `client.exits.EXIT_S`; but not a signal that
    nobody handles, nor ``os._exit``. A forked child begins with an empty buffer: the parent sends what it had.

    Messages of one slot are sent in the order in which they were given, also when lines break on the way.
    """

    def _prepare(self) -> None:
        self._oldest = 0.0
        self._flushing = False
        self._given_up = False
        # Entered without a line of Python, it is never left locked by a Ctrl-C; the own lock of a condition may be.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None  # begins with the first message, in each process its own

    def send(self, topic: str | Topic, message: AnyMessage | Content, **options: Unpack[SendOptions]) -> Future[Sent]:
        """Buffers a message, given as to `RMQ.send`. Raises `ProducerClosed`; the future raises what sending raises."""
        future = _SentFuture(self)
        with self._hooked(topic_name(topic), made(message, options)) as ready:
            self._add(Item(topic_name(topic), ready, future))
        return future

    def post(self, topic: str | Topic, message: AnyMessage | Content, **options: Unpack[SendOptions]) -> None:
        """Buffers a message nobody waits for. Raises `ProducerClosed`."""
        with self._hooked(topic_name(topic), made(message, options)) as ready:
            self._add(Item(topic_name(topic), ready, None))

    def _add(self, item: Item) -> None:
        with self._lock:
            while len(self._items) >= self._max_buffered and not self._closed and not self._is_sending:
                self._changed.wait()
            if not self._items:
                self._oldest = time.monotonic()
            if len(self._items) + 1 in {1, self._flush_count}:
                self._changed.notify_all()  # it wakes up when we let go; an interrupt leaves no message unnoticed
            self._put(item)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="rmq-producer", daemon=True)
                self._thread.start()
                exits.follow(self)

    def flush(self) -> None:
        """Returns when everything buffered so far has been sent or has failed. Raises `ConfigurationError`."""
        self.refuse_waiting("flush()")
        with self._lock:
            self._oldest = 0.0
            self._changed.notify_all()
            while (self._items or self._flushing) and not self._given_up:
                self._changed.wait()

    def close(self) -> None:
        """Flushes and ends; later sends raise `ProducerClosed`. In a callback it returns before the rest is sent."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None and not self._is_sending and not self._given_up:
            self._thread.join()

    def finish(self, timeout_s: float) -> None:
        """At the end of the process: `close`, for a bounded time."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()
        if self._thread is None:
            return
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            with self._lock:
                self._given_up = True
                self._changed.notify_all()
                self._give_up("the process ended before the server had taken them")

    @property
    def _is_sending(self) -> bool:
        """Whether this is the thread that sends, in which callbacks run: nothing goes on while it waits."""
        return threading.current_thread() is self._thread

    def refuse_waiting(self, what: str) -> None:
        """Raises `ConfigurationError` in a callback, which would wait for itself."""
        if self._is_sending:
            raise ConfigurationError(
                f"{what} in a callback of this producer would wait for itself: callbacks run in the thread that sends."
                " Do it in another thread"
            )

    def __enter__(self) -> Producer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._flushing = False
                self._changed.notify_all()
                while not self._due():
                    if self._closed and not self._items:
                        return
                    left = self._oldest + self._flush_s - time.monotonic() if self._items else None
                    self._changed.wait(left)
                items, self._items = self._items, []
                self._under_way = items
                self._flushing = True
                self._changed.notify_all()
            for topic, some in by_topic(items):
                self._send(topic, some)
            self._under_way = []

    def _due(self) -> bool:
        if not self._items:
            return False
        full = len(self._items) >= self._flush_count
        return full or self._closed or time.monotonic() >= self._oldest + self._flush_s

    def _send(self, topic: str, items: list[Item]) -> None:
        # A future cancelled before this point is honoured; from here on the message is on its way.
        items = [item for item in items if item.future is None or item.future.set_running_or_notify_cancel()]
        messages = [item.message for item in items]
        # What was added to a stream must not be sent again, so that the results of all are wanted.
        if all(item.future is None for item in items) and not self._keeps_each(topic):
            try:
                self._client.send_as_given(topic, messages)
            except Exception as error:
                all_said = all_or_none(error, len(items))
                if all_said:
                    self._report(error, topic, messages)
            else:
                all_said = True
            if all_said:
                return
        # One bad message must not fail its neighbours; repeating the send of a message to a queue is harmless.
        results: list[Sent | Exception]
        try:
            results = self._client.run(each(self._client, topic, messages))
        except Exception as error:
            results = [error] * len(items)
        self._settle(topic, items, results)

    def _keeps_each(self, topic: str) -> bool:
        try:
            return self._client.topic(topic).is_stream
        except RMQError:
            return False  # the send says it, too


class _SentFuture(Future[Sent]):
    """One that knows whose it is: in a forked child nobody would ever answer."""

    def __init__(self, producer: Producer) -> None:
        super().__init__()
        self._pid = os.getpid()
        self._producer = producer

    def result(self, timeout: float | None = None) -> Sent:
        self._check()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._check()
        return super().exception(timeout)

    def _check(self) -> None:
        if self._pid != os.getpid():
            raise ProducerClosed("this message was sent by the parent of this process, and only that hears of it")
        if not self.done():
            self._producer.refuse_waiting("waiting for a message")
