"""Buffered sending in asyncio; see `rmq_core.client.buffering` for when a buffer is flushed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Unpack

from rmq_core.client import exits
from rmq_core.client.arguments import topic_name
from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.client.buffering import Buffered, Item, all_or_none, by_topic, each, made
from rmq_core.errors import ConfigurationError, RMQError
from rmq_core.model.composing import Content, SendOptions
from rmq_core.model.entry import AnyMessage
from rmq_core.model.topic import Topic
from rmq_core.ops.sent import Sent

if TYPE_CHECKING:
    from types import TracebackType


class AsyncProducer(Buffered[AsyncRMQ]):
    """The same in asyncio: `send` awaits the result, `post` only waits while the buffer is full.

    Close it before the event loop ends: after that nothing can be sent, only said in the log.
    """

    def _prepare(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._full = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._task: asyncio.Task[None] | None = None

    async def send(self, topic: str | Topic, message: AnyMessage | Content, **options: Unpack[SendOptions]) -> Sent:
        """Sends a message with the next flush, given as to `RMQ.send`. Raises what that raises, or `ProducerClosed`."""
        future: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
        with self._hooked(topic_name(topic), made(message, options)) as ready:
            await self._add(Item(topic_name(topic), ready, future))
        return await future

    async def post(self, topic: str | Topic, message: AnyMessage | Content, **options: Unpack[SendOptions]) -> None:
        """Buffers a message nobody waits for. Raises `ProducerClosed`."""
        with self._hooked(topic_name(topic), made(message, options)) as ready:
            await self._add(Item(topic_name(topic), ready, None))

    async def _add(self, item: Item) -> None:
        if self._loop is not asyncio.get_running_loop():
            if self._loop is not None and self._loop.is_running():
                raise ConfigurationError("this AsyncProducer is in use in another event loop: make one for each")
            self._prepare()  # what belonged to a loop that has ended is of no use
            self._loop = asyncio.get_running_loop()
            exits.follow(self)
        while len(self._items) >= self._max_buffered and not self._closed:
            self._room.clear()
            await self._room.wait()
        self._put(item)
        if len(self._items) >= self._flush_count:
            self._full.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="rmq-producer")

    async def close(self) -> None:
        """Flushes and ends; later sends raise `ProducerClosed`."""
        self._closed = True
        self._full.set()
        self._room.set()
        if self._items and (self._task is None or self._task.done() or self._loop is not asyncio.get_running_loop()):
            self._task = asyncio.create_task(self._work(), name="rmq-producer")
        if self._task is not None and self._task.get_loop() is asyncio.get_running_loop():
            await self._task

    def finish(self, timeout_s: float) -> None:
        """At the end of the process, without an event loop, nothing can be sent any more."""
        if self._items:
            self._give_up("an AsyncProducer was not closed before its event loop ended")

    async def __aenter__(self) -> AsyncProducer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _work(self) -> None:
        while self._items:
            if self._flush_s and len(self._items) < self._flush_count and not self._closed:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._flush_s):
                        await self._full.wait()
            else:
                await asyncio.sleep(0)  # everything that is ready to send in this turn of the loop goes together
            self._full.clear()
            items, self._items = self._items, []
            self._room.set()
            try:
                await asyncio.gather(*(self._flush(topic, some) for topic, some in by_topic(items)))
            except BaseException:
                # The loop is ending. Whoever closes this in another one sends them; equal ids merge.
                self._items[:0] = [item for item in items if item.future is None]
                raise

    async def _flush(self, topic: str, items: list[Item]) -> None:
        items = [item for item in items if item.future is None or not item.future.done()]
        messages = [item.message for item in items]
        # What was added to a stream must not be sent again, so that the results of all are wanted.
        if all(item.future is None for item in items) and not await self._keeps_each(topic):
            try:
                await self._client.send_as_given(topic, messages)
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
            results = await self._client.run(each(self._client, topic, messages))
        except Exception as error:
            results = [error] * len(items)
        self._settle(topic, items, results)

    async def _keeps_each(self, topic: str) -> bool:
        try:
            return (await self._client.topic(topic)).is_stream
        except RMQError:
            return False  # the send says it, too
