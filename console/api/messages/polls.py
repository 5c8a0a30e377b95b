"""Long polls: any number of callers wait for one topic, and one task looks for messages on behalf of all of them.

If each caller looked by itself, a thousand of them would ask every slot a thousand times a second, and all would rush
for the one message that comes. Here the first in the queue gets it. Nothing is lost on the way: what was taken for
somebody who has gone meanwhile is given to the next in the queue, or put back without counting an attempt.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import weakref
from collections import deque
from dataclasses import dataclass

from console.engine import AsyncEngine, async_engine
from rmq_core.errors import RMQError
from rmq_core.model.delivery import Delivery
from rmq_core.ops.consuming import TAKE_MAX
from rmq_core.protocol.takes import NOT_DUE
from rmq_core.transport.notifications import FALLBACK_S

log = logging.getLogger("console.api")


@dataclass(eq=False)
class _Waiter:
    """One caller: how many messages it wants, and where they go."""

    most: int
    answer: asyncio.Future[list[Delivery]]


class TopicPolls:
    """The queue of callers of one topic in one event loop."""

    def __init__(self, engine: AsyncEngine, topic: str, member: str = "") -> None:
        self.member = member
        self.engine = engine
        self.client = engine.client
        self.topic = topic
        self._waiting: deque[_Waiter] = deque()
        self._server: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many callers wait."""
        return len(self._waiting)

    async def take(self, most: int, wait_ms: int) -> list[Delivery]:
        """Up to `most` deliveries, as soon as there is one; none when `wait_ms` have passed. Raises engine errors."""
        if not wait_ms:
            return await self.client.take(self.topic, most, member=self.member)
        waiter = _Waiter(most, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        if self._server is None or self._server.done():
            self._server = asyncio.create_task(self._serve(), name=f"polls of {self.topic}")
        try:
            await asyncio.wait({waiter.answer}, timeout=wait_ms / 1000)
        except asyncio.CancelledError:
            if self._left(waiter):
                await self.put_back(waiter.answer.result())
            raise
        return waiter.answer.result() if self._left(waiter) else []

    def _left(self, waiter: _Waiter) -> bool:
        """Take a caller out of the queue; whether it has been given its answer."""
        with contextlib.suppress(ValueError):
            self._waiting.remove(waiter)
        if not self._waiting:
            self._woken.set()  # the task has nobody to look for any more
        return waiter.answer.done()

    async def _serve(self) -> None:
        """Look, hand out, sleep until something may be due; ends with the last caller."""
        channel = self.client.keyspace.wake(self.topic)

        def wake(_: bytes | None) -> None:
            self._woken.set()

        try:
            await self.client.wakeups.add(channel, wake)
            while self._waiting:
                self._woken.clear()
                pause_s = await self._look()
                if pause_s and self._waiting:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._woken.wait(), pause_s)
        except RMQError as error:
            self._fail(error)
        except Exception as error:
            log.exception("polls of %s failed", self.topic)
            self._fail(error)
        finally:
            self.client.wakeups.remove(channel, wake)

    async def _look(self) -> float:
        """Take for those who wait now; the seconds until the next look is due."""
        wanted = min(TAKE_MAX, sum(waiter.most for waiter in self._waiting))
        if not wanted:
            return 0
        taken = await self.client.run(self.client.taken(self.topic, wanted, self.member))
        if taken.deliveries:
            await self._hand_out(taken.deliveries)
            return 0
        if taken.next_due_ms == NOT_DUE:
            return FALLBACK_S
        return min(FALLBACK_S, max(0.001, (taken.next_due_ms - taken.now_ms) / 1000))

    async def _hand_out(self, deliveries: list[Delivery]) -> None:
        at = 0
        while at < len(deliveries) and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.answer.done():
                waiter.answer.set_result(deliveries[at : at + waiter.most])
                at += waiter.most
        if deliveries[at:]:
            await self.put_back(deliveries[at:])

    async def put_back(self, deliveries: list[Delivery]) -> None:
        """Give deliveries back that nobody got, without counting an attempt."""
        try:
            await self.client.release(deliveries)
        except RMQError as error:
            log.warning("%s: %d messages come back by their timeout only: %s", self.topic, len(deliveries), error)

    def _fail(self, error: Exception) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.answer.done():
                waiter.answer.set_exception(error)


_by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], TopicPolls]] = (
    weakref.WeakKeyDictionary()
)
_TOPICS_MOST = 1_000


def polls_of(topic: str, member: str = "") -> TopicPolls:
    """The running event loop's polls of a topic; of a group those of one ``member``, as which all of them take."""
    engine = async_engine()
    by_topic = _by_loop.setdefault(asyncio.get_running_loop(), {})
    found = by_topic.get((topic, member))
    if found is None or found.engine is not engine:
        if len(by_topic) >= _TOPICS_MOST:
            for name in [name for name, each in by_topic.items() if not each.waiting]:
                del by_topic[name]
        found = by_topic[topic, member] = TopicPolls(engine, topic, member)
    return found
