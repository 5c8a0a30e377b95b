"""One slot of one topic in this worker: sleep, queue, take, run one message after another, settle."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rmq_core.errors import Fenced, RMQError
from rmq_core.ops import quotas
from rmq_core.protocol.scripts import BATCH_MAX, NOT_DUE, Cycled, on_slot, one, takeover
from rmq_core.transport.notifications import FALLBACK_S
from rmq_core.worker.looking import NEVER
from rmq_core.worker.ranks import LAST
from rmq_core.worker.running import SETTLE_EVERY_S, Running
from rmq_core.worker.server_clock import ServerClock
from rmq_core.worker.settling import Settling
from rmq_core.worker.take_queue import Place
from rmq_core.worker.waiting import done_within, ring

if TYPE_CHECKING:
    from rmq_core.model.message import Delivery
    from rmq_core.worker.batch import Batch
    from rmq_core.worker.topic_runner import TopicRunner

log = logging.getLogger(__name__)

TROUBLE_S = 1.0
FENCED_S = 5.0
FINAL_SETTLE_S = 2.0


class SlotRunner:
    """Started and stopped by its `TopicRunner`; ``epoch`` is '' in shared mode."""

    def __init__(self, topic: TopicRunner, slot: int, epoch: str = "") -> None:
        self._topic = topic
        self.slot = slot
        self.epoch = epoch
        self._settling = Settling(topic, slot, epoch)
        self._running: Running | None = None
        self._woken = False
        self._sleeping: asyncio.Future[None] | None = None
        self._stopping = False
        self._queued: asyncio.Task[None] | None = None
        """Itself, while it waits for others and may be asked to stop."""
        self._place: Place | None = None
        self._former: Place | None = None
        """The place it had before, which others still wait for."""
        self._last: Cycled | None = None
        self._last_us = 0.0
        """The time on the server at ``_last_at`` of this one, at least."""
        self._last_at = 0.0
        self._clock = ServerClock() if topic.client.target.is_cluster else topic.clock
        self._news: int | None = None
        """What was heard of since the last call to the server went out: its reply may be older."""
        self._ended: Batch | None = None
        self._turn_is_ours = False
        """Whether nobody else may begin anything."""
        self._takes_over = bool(epoch)
        self.head: int | None = None
        """What the slot would hand out next, as far as is known: see `Cycled.head`."""
        self.head_known = False
        self.idle_until_ms: int | None = None
        """While it sleeps because nothing is ready: when something will be, by the Redis clock (`NOT_DUE`: no
        message says so). None while it does anything else."""
        self.empty = False
        """While idle: whether the slot held nothing at all."""
        self.seen = NEVER
        """The slot's counters at the last look, see `rmq_core.worker.looking`."""

    @property
    def in_flight(self) -> int:
        """Deliveries a listener has not finished."""
        return self._running.in_flight if self._running else 0

    @property
    def stuck(self) -> bool:
        """Whether the present call runs for too long."""
        return self._running is not None and self._running.stuck

    def wake(self) -> None:
        """Look again now."""
        self._woken = True
        if self._sleeping is not None:
            ring(self._sleeping)

    def hear(self, head: int | None) -> None:
        """Something has come; ``head``: what is next in the slot now, None where that is not said."""
        if head is not None and (self._news is None or self._topic.comes_first(head, self._news)):
            self._news = head
        if self.idle_until_ms is not None:
            self.head, self.head_known = head, head is not None
            if self._place is None and self._seems_ready() and not self._takes_over and not self._stopping:
                # At once: from now on nothing begins that comes after it.
                self._place = self._topic.queue.enter(head)
        elif head is not None and self._topic.comes_first(head, self.head):
            self.head = head
            if self._running is not None:
                self._running.batch.next_rank = self._topic.rank(head)
                self._outrank(self._running)
            elif self._place is not None and not self._place.granted.done():
                self._place = self._topic.queue.again(self._place, head)
        self.wake()

    def _outrank(self, running: Running) -> None:
        """What was prefetched and comes after what the slot has now goes back, once the present call has ended."""
        batch = running.batch
        left = batch.not_started
        if self.head is not None and left and self._topic.outranks(self.head, left[-1]):
            running.close()

    def stop(self) -> None:
        """Takes nothing more and starts nothing more; `run` ends when the present call has."""
        self._stopping = True
        if self._running is not None:
            self._running.close()
        if self._queued is not None:
            self._queued.cancel()
        self.wake()

    async def run(self) -> None:
        """Until stopped. Trouble with the server is waited out; what is unsettled meanwhile stays so."""
        try:
            await self._turns()
        except asyncio.CancelledError:
            # The grace is over; a server that is there still hears what is settled and what was not begun.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FINAL_SETTLE_S):
                    await self._settling.rest()
            raise
        finally:
            self._leave_queue()
            self._let_go()
        await self._settling.rest()

    async def _turns(self) -> None:
        wait_s = await self._begin()
        while not self._stopping:
            await self._sleep(wait_s)
            try:
                wait_s = None if self._stopping else await self._turn()
            except Fenced as error:
                log.warning("%s[%d]: %s", self._topic.name, self.slot, error)
                self._settling.drop()
                self._topic.fenced(self)
                wait_s = FENCED_S
            except RMQError as error:
                self._topic.trouble.say(f"{self._topic.name}[{self.slot}]", error)
                wait_s = TROUBLE_S
            except asyncio.CancelledError:
                task = self._queued
                if not self._stopping or task is None:
                    raise
                self._queued = None
                task.uncancel()
            except Exception:
                log.exception("%s[%d]: this should not happen; trying again", self._topic.name, self.slot)
                wait_s = TROUBLE_S

    async def _begin(self) -> float | None:
        """Until somebody has looked at the slot it sleeps; but what a former owner left is put back first."""
        if not self._takes_over and self._topic.look_soon():
            self.idle_until_ms, self.empty = NOT_DUE, not self._topic.definition.is_group
            return None
        return 0.0

    async def _sleep(self, wait_s: float | None) -> None:
        """Until woken, or for so long; None: until woken, which whoever looks for all idle slots does."""
        if wait_s is None or wait_s > 0:
            if self._place is None:
                self._let_go()
            if not self._woken:
                self._sleeping = self._topic.loop.create_future()
                try:
                    await done_within(self._sleeping, wait_s)
                finally:
                    self._sleeping = None
            if not self._woken:
                until_ms = self.idle_until_ms
                self.head_known = self._topic.definition.timed and until_ms is not None and until_ms >= 0
                self.head = until_ms if self.head_known else None
        self.idle_until_ms = None
        self._woken = False

    async def _turn(self) -> float | None:
        """Takes and runs once, or as long as nothing of another slot comes first; how long to sleep (see `_sleep`)."""
        if self._takes_over and not self._topic.definition.paused:
            await self._take_over()
        if not self._seems_ready():
            if (wait_s := self._due_soon()) is not None:
                return wait_s
            cycled = await self._cycle(0)
            if not self._seems_ready():
                return self._idle(cycled)
        queue = self._topic.queue
        if self._place is None:
            self._enter()
        try:
            place = await self._granted()
            if place is None:
                return 0.0 if self._stopping or self._last is None else self._idle(self._last)
            try:
                wait_s = await self._take(place)
            finally:
                queue.taken(place, None)
                try:
                    if self._settling.unsettled and (self._topic.alone.wanted or self._stopping):
                        await self._settling.cycle(0)
                finally:
                    queue.end()
        finally:
            self._former, self._place = self._place, None
        if self._last is not None and self._last.alone and not self._stopping and wait_s is None:
            return await self._alone()
        return wait_s

    async def _granted(self) -> Place | None:
        """Waits for its turn, None where there is nothing to take any more; what is finished and not settled does not
        wait for long.
        """
        try:
            while not self._stopping:
                place = self._place
                assert place is not None
                if place.granted.done():
                    return place
                self._queued = asyncio.current_task()
                granted = await done_within(place.granted, SETTLE_EVERY_S if self._settling.unsettled else None)
                self._queued = None
                if granted:
                    return self._place
                await self._cycle(0)
                if not self._seems_ready():
                    break
        except BaseException:
            self._leave_queue()
            raise
        self._leave_queue()
        return None

    def _seems_ready(self) -> bool:
        """Whether there is something to take, as far as is known."""
        if not self.head_known or self.head is None:
            return False
        if not self._topic.definition.timed or self._last is None:
            return True
        return self.head * 1000 <= self._server_us()

    def _server_us(self) -> float:
        """The time on the server, at least, where it has said one."""
        return self._last_us + (time.monotonic() - self._last_at) * 1_000_000

    def _enter(self) -> None:
        self._place = self._topic.queue.enter(self.head)
        self._let_go()

    def _let_go(self) -> None:
        """What the slot has next is known to whoever else wants to run, or to nobody."""
        if self._ended is not None:
            self._topic.dispatch.forget(self._ended)
            self._ended = None
        if self._former is not None:
            self._topic.queue.forget(self._former)
            self._former = None

    def _leave_queue(self) -> None:
        if self._place is not None:
            place, self._place = self._place, None
            self._topic.queue.leave(place)

    async def _take(self, place: Place) -> float | None:
        """One take, and what it brought until its end; how long to sleep, or None for whoever wakes."""
        queue, topic = self._topic.queue, self._topic
        floor = None if topic.definition.timed or place.retried else queue.floor()
        limit = 0 if self._stopping else queue.limit(place, topic.batch_size(), topic.listener.batch)
        if limit and topic.definition.rate_limit:
            cycled, wait_s = await self._limited_cycle(limit, floor=floor)
            if wait_s is not None:
                self._last = None
                return wait_s
        else:
            cycled = await self._cycle(limit, floor=floor)
        queue.taken(place, len(cycled.deliveries) if limit else None)
        if cycled.deliveries:
            await self._run(cycled.deliveries, begun=lambda: queue.forget(self._place or place))
            return 0.0
        if not limit:
            return 0.0
        if cycled.alone:
            return None
        if floor is not None and cycled.head is not None and cycled.head < floor:
            return 0.0  # others come first
        return self._idle(cycled)

    async def _alone(self) -> float | None:
        """Runs one message after another while nothing else runs in this process, by turns with others who want to."""
        alone = self._topic.alone
        turn = alone.ask()
        while True:
            self._queued = asyncio.current_task()
            try:
                await done_within(turn)
            except BaseException:
                alone.forget(turn)
                raise
            self._queued = None
            if self._stopping:
                alone.forget(turn)
                return 0.0
            following: asyncio.Future[None] | None = None
            self._turn_is_ours = True
            try:
                wait_s = await self._take_alone()
                if self._last is not None and self._last.alone and not self._stopping and self._turn_is_ours:
                    following = alone.ask()
            finally:
                self._leave_alone()
            if following is None:
                return wait_s
            turn = following

    async def _take_alone(self) -> float | None:
        if self._topic.definition.rate_limit:
            cycled, wait_s = await self._limited_cycle(1, alone=True)
            if wait_s is not None:
                return wait_s
        else:
            cycled = await self._cycle(1, alone=True)
        if not cycled.deliveries:
            return self._idle(cycled)
        await self._run(cycled.deliveries, alone=True)
        await self._settling.cycle(0)
        return 0.0

    def _leave_alone(self) -> None:
        if self._turn_is_ours:
            self._turn_is_ours = False
            self._topic.alone.release()

    def _idle(self, cycled: Cycled) -> float | None:
        if self._settling.unsettled:
            return 0.0
        if not self._topic.lease.valid:
            return FALLBACK_S
        topic = self._topic.definition
        # Nothing tells by itself that a stream holds what its group has not read.
        self.empty = cycled.wait_us is None and not topic.paused and not topic.is_group
        if cycled.wait_us is None:
            self.idle_until_ms = NOT_DUE
            return None
        self.idle_until_ms = (cycled.now_us + cycled.wait_us) // 1000
        return max(0.0, cycled.now_us + cycled.wait_us - self._server_us()) / 1_000_000

    def _due_soon(self) -> float | None:
        """How long to sleep where what is finished may be settled by the take that is due next; else None."""
        topic, unsettled = self._topic, self._settling.unsettled
        if not unsettled or self.head is None or not topic.definition.timed or topic.definition.rate_limit:
            return None
        wait_s = (self.head * 1000 - self._server_us()) / 1_000_000
        if wait_s > SETTLE_EVERY_S or topic.alone.wanted or any(error is not None for _, error in unsettled):
            return None
        self.idle_until_ms, self.empty = self.head, False
        return max(0.0, wait_s)

    async def _cycle(self, limit: int, *, alone: bool = False, floor: int | None = None) -> Cycled:
        self._news = None
        cycled = await self._settling.cycle(0 if self._stopping else limit, alone=alone, floor=floor)
        self.head, self.head_known, self._last = cycled.head, True, cycled
        if self._news is not None and self._topic.comes_first(self._news, cycled.head):
            self.head = self._news
        self._last_at = time.monotonic()
        self._last_us = cycled.now_us + self._clock.age_us(cycled.now_us, self._last_at)
        return cycled

    async def _limited_cycle(
        self, limit: int, *, alone: bool = False, floor: int | None = None
    ) -> tuple[Cycled, float | None]:
        """Takes what the topic's rate allows; the second: how long to sleep where it allows nothing now.

        A slot with nothing to take asks for nothing: what it was granted would be missing elsewhere.
        """
        run, keyspace, topic = self._topic.client.run, self._topic.keyspace, self._topic.definition
        now_ms, next_due_ms, *_ = await run(one(on_slot("look", keyspace, topic, self.slot), tuple))
        if topic.paused or next_due_ms == NOT_DUE or next_due_ms > now_ms:
            return await self._cycle(0), None
        permit = await run(quotas.ask(keyspace, topic, limit))
        if not permit.messages:
            wait_s = self._topic.next_permit_s(permit.wait_us)
            return await self._cycle(0), wait_s
        cycled = await self._cycle(permit.messages, alone=alone, floor=floor)
        await run(quotas.give_back(keyspace, topic, permit.messages - len(cycled.deliveries)))
        return cycled, None

    async def _take_over(self) -> None:
        """Puts back what the slot's former owner left in flight."""
        request = takeover(self._topic.keyspace, self._topic.definition, self.slot, self.epoch, by=self._topic.by)
        (put_back,) = await self._topic.client.connection.run([request])
        self._takes_over = put_back == BATCH_MAX
        if put_back:
            log.info("%s[%d]: %d deliveries of the former owner were put back", self._topic.name, self.slot, put_back)

    async def _run(
        self, deliveries: list[Delivery], *, alone: bool = False, begun: Callable[[], None] | None = None
    ) -> None:
        on_stuck = self._stuck_alone if alone else self._topic.queue.stuck
        self._running = running = Running(self._topic, self._settling, deliveries, alone=alone, on_stuck=on_stuck)
        running.batch.closing = self._stopping or (self._topic.alone.wanted and not alone)
        self._ended = batch = running.batch
        batch.next_rank = LAST if self.head is None else self._topic.rank(self.head)
        if self._news is not None and not any(self._topic.equals(self._news, each) for each in deliveries):
            self._outrank(running)
        try:
            await running.run(begun)
        finally:
            self._running = None
            if alone or self._stopping:
                self._let_go()

    def _stuck_alone(self, stuck: bool) -> None:
        """A call that runs for too long keeps nobody waiting."""
        if stuck:
            self._leave_alone()

    def clear(self) -> None:
        """Somebody wants to be alone: settles what is finished, and begins nothing more of what it holds."""
        if self._running is not None and not self._running.batch.alone:
            self._running.close()
        elif self._settling.unsettled:
            self.wake()
