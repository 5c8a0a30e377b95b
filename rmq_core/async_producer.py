"""Buffered sending in asyncio; see `rmq_core.buffering` for when a buffer is flushed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from rmq_core.async_client import AsyncRMQ
from rmq_core.buffering import Buffered, Item, by_topic, each, settle
from rmq_core.message import Message
from rmq_core.sending import Sent

if TYPE_CHECKING:
    from types import TracebackType


class AsyncProducer(Buffered[AsyncRMQ]):
    """The same in asyncio: `send` awaits the result, `post` only waits while the buffer is full."""

    def _prepare(self) -> None:
        self._full = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._task: asyncio.Task[None] | None = None

    async def send(self, topic: str, message: Message) -> Sent:
        """Sends a message with the next flush. Raises what sending raises, or `ProducerClosed`."""
        future: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
        await self._add(Item(topic, message, future))
        return await future

    async def post(self, topic: str, message: Message) -> None:
        """Buffers a message nobody waits for. Raises `ProducerClosed`."""
        await self._add(Item(topic, message, None))

    async def _add(self, item: Item) -> None:
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
        if self._task is not None:
            await self._task

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
            await asyncio.gather(*(self._flush(topic, one_way, awaited) for topic, one_way, awaited in by_topic(items)))

    async def _flush(self, topic: str, one_way: list[Item], awaited: list[Item]) -> None:
        if one_way:
            messages = [item.message for item in one_way]
            try:
                await self._client.send_many(topic, messages)
            except Exception as error:
                self._report(error, topic, messages)
        awaited = [item for item in awaited if not item.future.done()]
        if not awaited:
            return
        try:
            definition = await self._client.topic(topic)
            results = await self._client.run(each(self._client, definition, [item.message for item in awaited]))
        except Exception as error:
            if len(awaited) == 1:
                awaited[0].future.set_exception(error)
                return
            # One bad message must not fail its neighbours; repeating a send is harmless.
            for item in awaited:
                await self._alone(item)
        else:
            for item, result in zip(awaited, results, strict=True):
                if not item.future.done():
                    settle(item.future, result)

    async def _alone(self, item: Item) -> None:
        try:
            result = await self._client.send(item.topic, item.message)
        except Exception as own:
            if not item.future.done():
                item.future.set_exception(own)
        else:
            if not item.future.done():
                item.future.set_result(result)
