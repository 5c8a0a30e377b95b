"""Buffered sending: many messages become few round trips, without the sender waiting for each.

`rmq_core.buffering` says when a buffer is flushed.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING

from rmq_core.buffering import Buffered, Item, by_topic, each, settle
from rmq_core.client import RMQ
from rmq_core.message import Message
from rmq_core.sending import Sent

if TYPE_CHECKING:
    from types import TracebackType


class Producer(Buffered[RMQ]):
    """Sends from any thread through one background thread.

    ``send`` returns a future of `Sent`; ``post`` is one-way: its errors go to ``on_error(error, messages)`` and the
    log. When ``max_buffered`` messages wait, both block: the server is the bottleneck, not the memory. ``close``
    flushes what is buffered.
    """

    def _prepare(self) -> None:
        self._oldest = 0.0
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
            if not self._items:
                self._oldest = time.monotonic()
            self._put(item)
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
            self._report(error, topic, messages)

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
