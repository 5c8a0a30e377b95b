"""One slot of one topic in this worker: sleep, queue, take, run one message after another, settle."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from rmq_core.errors import Fenced, RMQError
from rmq_core.model.delivery import Delivery
from rmq_core.model.outcomes import Release
from rmq_core.protocol.takes import DONE
from rmq_core.worker.ranks import LAST
from rmq_core.worker.running import SETTLE_EVERY_S, Running
from rmq_core.worker.slot_calls import SlotCalls
from rmq_core.worker.slot_place import SlotPlace
from rmq_core.worker.slot_sleep import SlotSleep
from rmq_core.worker.take_queue import Place
from rmq_core.worker.topic_work import TopicWork
from rmq_core.worker.waiting import done_within

log = logging.getLogger(__name__)

TROUBLE_S = 1.0
FENCED_S = 5.0
FINAL_SETTLE_S = 2.0


class SlotRunner:
    """Started and stopped by the `TopicRunner`; ``epoch`` is '' in shared mode. ``fenced`` hears of a slot that turned
    out to be somebody else's.
    """

    def __init__(
        self, topic: TopicWork, slot: int, epoch: str = "", *, fenced: Callable[[int], None] = lambda slot: None
    ) -> None:
        self._topic = topic
        self.slot = slot
        self._fenced = fenced
        self._calls = SlotCalls(topic, slot, epoch)
        self._settling = self._calls.settling
        self.sleep = SlotSleep(topic, self._calls)
        self._place = SlotPlace(topic)
        self._running: Running | None = None
        self._stopping = False
        self._queued: asyncio.Task[None] | None = None
        """Itself, while it waits for others and may be asked to stop."""
        self._turn_is_ours = False
        """Whether nobody else may begin anything."""

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
        self.sleep.wake()

    def hear(self, head: int | None) -> None:
        """Something has come; ``head``: what is next in the slot now, None where that is not said."""
        calls, place = self._calls, self._place
        calls.hear(head)
        if self.sleep.until_ms is not None:
            calls.head, calls.head_known = head, head is not None
            if place.now is None and calls.seems_ready and not calls.takes_over and not self._stopping:
                place.enter(head)  # at once: from now on nothing begins that comes after it
        elif head is not None and self._topic.comes_first(head, calls.head):
            calls.head = head
            if self._running is not None:
                self._running.batch.next_rank = self._topic.rank(head)
                self._outrank(self._running)
            else:
                place.improve(head)
        self.wake()

    def _outrank(self, running: Running) -> None:
        """What was prefetched and comes after what the slot has now goes back, once the present call has ended."""
        if self._topic.unsettled:
            return  # nothing of it can go back
        head, left = self._calls.head, running.batch.not_started
        if head is not None and left and self._topic.outranks(head, left[-1]):
            running.close()

    def stop(self) -> None:
        """Takes nothing more and starts nothing more; `run` ends when the present call has."""
        self._stopping = self._calls.closed = True
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
            self._place.leave()
            self._place.let_go()
        await self._settling.rest()

    async def _turns(self) -> None:
        wait_s = self.sleep.begin()
        while not self._stopping:
            if self._place.now is None and wait_s != 0:
                self._place.let_go()
            await self.sleep.sleep(wait_s)
            try:
                wait_s = None if self._stopping else await self._turn()
            except Fenced as error:
                log.warning("%s[%d]: %s", self._topic.name, self.slot, error)
                self._settling.drop()
                self._fenced(self.slot)
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

    async def _turn(self) -> float | None:
        """Takes and runs once, or as long as nothing of another slot comes first; how long to `SlotSleep.sleep`."""
        calls = self._calls
        if calls.takes_over and not self._topic.definition.paused:
            await calls.take_over()
        if self._settling.unheard:
            await calls.put_back_unheard()
        if not calls.seems_ready:
            if (wait_s := self.sleep.before_settling()) is not None:
                return wait_s
            cycled = await calls.cycle(0)
            if not calls.seems_ready:
                return self.sleep.after(cycled)
        queue = self._topic.queue
        if self._place.now is None:
            self._place.enter(calls.head)
            self._place.let_go()
        try:
            place = await self._granted()
            if place is None:
                return 0.0 if self._stopping or calls.last is None else self.sleep.after(calls.last)
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
            self._place.done()
        if calls.last is not None and calls.last.alone and not self._stopping and wait_s is None:
            return await self._alone()
        return wait_s

    async def _granted(self) -> Place | None:
        """Waits for its turn, None where there is nothing to take any more; what is finished and not settled does not
        wait for long.
        """
        try:
            while not self._stopping:
                place = self._place.now
                assert place is not None
                if place.granted.done():
                    return place
                self._queued = asyncio.current_task()
                granted = await done_within(place.granted, SETTLE_EVERY_S if self._settling.unsettled else None)
                self._queued = None
                if granted:
                    return self._place.now
                await self._calls.cycle(0)
                if not self._calls.seems_ready:
                    break
        except BaseException:
            self._place.leave()
            raise
        self._place.leave()
        return None

    async def _take(self, place: Place) -> float | None:
        """One take, and what it brought until its end; how long to sleep, or None for whoever wakes."""
        queue, topic = self._topic.queue, self._topic
        floor = None if topic.definition.timed or place.retried else queue.floor()
        limit = 0 if self._stopping else queue.limit(place, topic.batch_size(), topic.listener.batch)
        cycled, wait_s = await self._calls.take(limit, floor=floor)
        if wait_s is not None:
            self._calls.last = None
            return wait_s
        queue.taken(place, len(cycled.deliveries) if limit else None)
        if cycled.deliveries:
            await self._run(cycled.deliveries, begun=lambda: self._place.forget(place))
            return 0.0
        if not limit:
            return 0.0
        if cycled.alone:
            return None
        if floor is not None and cycled.head is not None and cycled.head < floor:
            return 0.0  # others come first
        return self.sleep.after(cycled)

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
                last = self._calls.last
                if last is not None and last.alone and not self._stopping and self._turn_is_ours:
                    following = alone.ask()
            finally:
                self._leave_alone()
            if following is None:
                return wait_s
            turn = following

    async def _take_alone(self) -> float | None:
        cycled, wait_s = await self._calls.take(1, alone=True)
        if wait_s is not None:
            return wait_s
        if not cycled.deliveries:
            return self.sleep.after(cycled)
        await self._run(cycled.deliveries, alone=True)
        await self._settling.cycle(0)
        return 0.0

    def _leave_alone(self) -> None:
        if self._turn_is_ours:
            self._turn_is_ours = False
            self._topic.alone.release()

    async def _run(
        self, deliveries: list[Delivery], *, alone: bool = False, begun: Callable[[], None] | None = None
    ) -> None:
        if self._topic.unsettled:
            await self._run_settled(deliveries, alone=alone, begun=begun)
            return
        running = self._running_of(deliveries, alone=alone)
        running.batch.closing = self._ends(alone=alone)
        await self._run_this(running, alone=alone, begun=begun)

    async def _run_settled(self, deliveries: list[Delivery], *, alone: bool, begun: Callable[[], None] | None) -> None:
        """The same of what is done when it is handed out (``acks="none"``): all of it is begun, while that may be."""
        topic, left = self._topic, deliveries
        if topic.settles_first:
            if self._ends(alone=alone) or not topic.lease.valid:
                self._settling.add((delivery, Release()) for delivery in left)
                return
            left = await self._settling.settle_first(left)
        try:
            while left and topic.lease.valid:
                running = self._running_of(left, alone=alone)
                try:
                    await self._run_this(running, alone=alone, begun=begun)
                finally:
                    left = [delivery for delivery in running.batch.not_started if delivery.receipt == DONE]
                if left:
                    begun = None
                    self._place.let_go()  # the rest comes before what the slot has next
        finally:
            if left:
                self._settling.lose(left)

    def _ends(self, *, alone: bool) -> bool:
        """Whether nothing that was taken is to begin."""
        return self._stopping or (self._topic.alone.wanted and not alone)

    def _running_of(self, deliveries: list[Delivery], *, alone: bool) -> Running:
        on_stuck = self._stuck_alone if alone else self._topic.queue.stuck
        self._running = running = Running(self._topic, self._settling, deliveries, alone=alone, on_stuck=on_stuck)
        return running

    async def _run_this(self, running: Running, *, alone: bool, begun: Callable[[], None] | None) -> None:
        deliveries = running.batch.deliveries
        self._place.ended = batch = running.batch
        head, news = self._calls.head, self._calls.news
        batch.next_rank = LAST if head is None else self._topic.rank(head)
        if news is not None and not any(self._topic.equals(news, each) for each in deliveries):
            self._outrank(running)
        try:
            await running.run(begun)
        finally:
            self._running = None
            if alone or self._stopping:
                self._place.let_go()

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
