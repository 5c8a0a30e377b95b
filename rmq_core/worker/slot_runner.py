"""One slot of one topic in this worker: sleep, take, run one message after another, settle."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
from typing import TYPE_CHECKING

from rmq_core import limits
from rmq_core.errors import Fenced, RMQError
from rmq_core.outcomes import Reject, Release, Retry, words_of
from rmq_core.scripts import (
    BATCH_MAX,
    NO_LOOK,
    REJECTED,
    TOPIC_BACKOFF,
    Ack,
    Cycled,
    Nack,
    cycle,
    extend,
    failure_fragment,
    inherit,
    on_slot,
    one,
    read_cycle,
)
from rmq_core.scripts import Release as ReleaseGroup
from rmq_core.wakeups import FALLBACK_S
from rmq_core.worker.batch import Batch, Finished

if TYPE_CHECKING:
    from rmq_core.message import Delivery
    from rmq_core.worker.topic_runner import TopicRunner

log = logging.getLogger(__name__)

SETTLE_EVERY_S = 0.05
TURN_S = 0.25
TROUBLE_S = 1.0
FENCED_S = 5.0
LAST_WORDS_S = 2.0


class SlotRunner:
    """Started and stopped by its `TopicRunner`; ``epoch`` is '' in shared mode."""

    def __init__(self, topic: TopicRunner, slot: int, epoch: str = "") -> None:
        self._topic = topic
        self.slot = slot
        self.epoch = epoch
        self._woken = asyncio.Event()
        self._batch: Batch | None = None
        self._unsettled: list[Finished] = []
        self._stopping = False
        self._queued: asyncio.Task[None] | None = None
        self._inherits = bool(epoch)
        self._inheriting = False
        self.stuck = False

    @property
    def in_flight(self) -> int:
        """Deliveries a listener has not finished."""
        return len(self._batch.deliveries) - len(self._batch.finished) if self._batch else 0

    def wake(self) -> None:
        """Look again now."""
        self._woken.set()

    def stop(self) -> None:
        """Takes nothing more and starts nothing more; `run` ends when the present call has."""
        self._stopping = True
        # What was inherited is finished here: given back once more it would lose its order.
        if self._batch is not None and not self._inheriting:
            self._batch.closing = True
        if self._queued is not None:
            self._queued.cancel()
        self._woken.set()

    async def run(self) -> None:
        """Until stopped. Trouble with the server is waited out; what is unsettled meanwhile stays so."""
        try:
            await self._turns()
        except asyncio.CancelledError:
            # The grace is over; a server that is there still hears what is settled and what was not begun.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS_S):
                    await self._settle_rest()
            raise
        await self._settle_rest()

    async def _turns(self) -> None:
        wait_s = 0.0
        while not self._stopping:
            if wait_s > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._woken.wait()
            self._woken.clear()
            if self._stopping:
                break
            if not await self._granted():
                break
            try:
                wait_s = await self._turn()
            except Fenced as error:
                log.warning("%s[%d]: %s", self._topic.name, self.slot, error)
                self._drop_stale()
                self._topic.fenced(self)
                wait_s = FENCED_S
            except RMQError as error:
                log.warning("%s[%d]: %s", self._topic.name, self.slot, error)
                wait_s = TROUBLE_S
            finally:
                self._topic.gate.release()

    async def _settle_rest(self) -> None:
        while self._unsettled:
            try:
                await self._cycle(0)
            except Fenced:
                self._drop_stale()
            except RMQError as error:
                log.warning("%s[%d]: %d not settled: %s", self._topic.name, self.slot, len(self._unsettled), error)
                break

    async def _granted(self) -> bool:
        """Waits for a turn; False when stopped meanwhile."""
        self._queued = asyncio.current_task()
        try:
            await self._topic.gate.acquire()
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            return False
        else:
            return True
        finally:
            self._queued = None

    def _drop_stale(self) -> None:
        """Nothing of it can be settled any more: another owner has it."""
        if self._unsettled:
            log.warning("%s[%d]: %d results are stale", self._topic.name, self.slot, len(self._unsettled))
            self._topic.settled(0, 0, len(self._unsettled))
            self._unsettled.clear()

    async def _turn(self) -> float:
        """Takes and runs until nothing is ready or the turn is over; returns how long to sleep."""
        loop = asyncio.get_running_loop()
        until = loop.time() + TURN_S
        if self._inherits and not self._topic.definition.paused:
            await self._inherit()
        while True:
            over = self._stopping or (loop.time() > until and self._topic.gate.contended)
            limit = 0 if over else self._topic.batch_size()
            if limit and self._topic.definition.rate_limit:
                cycled, wait_s = await self._limited_cycle(limit)
                if wait_s is not None:
                    return wait_s
            else:
                cycled = await self._cycle(limit)
            if over:
                return 0.0
            if not cycled.deliveries:
                return FALLBACK_S if cycled.wait_us is None else min(FALLBACK_S, cycled.wait_us / 1_000_000)
            await self._run(cycled.deliveries)

    async def _limited_cycle(self, limit: int) -> tuple[Cycled, float | None]:
        """Takes what the topic's rate allows; the second: how long to sleep where it allows nothing now.

        A slot with nothing to take asks for nothing: what it was granted would be missing elsewhere.
        """
        run, keyspace, topic = self._topic.client.run, self._topic.keyspace, self._topic.definition
        (now_ms, look_ms) = await run(one(on_slot("look", keyspace, topic, self.slot), tuple))
        if topic.paused or look_ms == NO_LOOK or look_ms > now_ms:
            return await self._cycle(0), None
        grant = await run(limits.ask(keyspace, topic, limit))
        if not grant.messages:
            wait_s = self._topic.next_grant_s(grant.wait_us)
            return await self._cycle(0), wait_s
        cycled = await self._cycle(grant.messages)
        await run(limits.give_back(keyspace, topic, grant.messages - len(cycled.deliveries)))
        return cycled, None

    async def _inherit(self) -> None:
        """Begins with what the slot's former owner left in flight."""
        topic = self._topic.definition
        request = inherit(self._topic.keyspace, topic, self.slot, self.epoch)
        (reply,) = await self._topic.client.connection.run([request])
        self._inherits = False
        deliveries = read_cycle(topic, self.slot, reply, self.epoch).deliveries
        if deliveries:
            log.info("%s[%d]: %d deliveries taken over", topic.name, self.slot, len(deliveries))
            self._inheriting = True
            try:
                await self._run(deliveries)
            finally:
                self._inheriting = False

    async def _cycle(self, limit: int) -> Cycled:
        """Settles what is finished and takes up to ``limit``."""
        settling = self._unsettled[:BATCH_MAX]
        acks: list[Ack] = []
        nacks: list[Nack] = []
        releases: list[ReleaseGroup] = []
        for delivery, error in settling:
            if error is None:
                acks.append(Ack(delivery.raw_id, delivery.receipt))
            elif isinstance(error, Release):
                releases.append(ReleaseGroup(delivery.raw_id, delivery.receipt, error.delay_ms, delivery.score))
            else:
                nacks.append(self._nack(Finished(delivery, error)))
        topic = self._topic.definition
        request = cycle(
            self._topic.keyspace,
            topic,
            self.slot,
            0 if self._stopping or not self._topic.lease.valid else limit,
            epoch=self.epoch,
            acks=acks,
            nacks=nacks,
            releases=releases,
        )
        (reply,) = await self._topic.client.connection.run([request])
        cycled = read_cycle(topic, self.slot, reply, self.epoch)
        del self._unsettled[: len(settling)]
        stale = len(settling) - sum(cycled.statuses)
        self._topic.settled(len(acks), len(nacks), stale)
        if stale:
            log.warning("%s[%d]: %d settled too late; they were handed out again", topic.name, self.slot, stale)
        return cycled

    def _nack(self, finished: Finished) -> Nack:
        delivery, error = finished
        assert error is not None
        delay_ms = TOPIC_BACKOFF
        if isinstance(error, Reject):
            delay_ms = REJECTED
        elif isinstance(error, Retry) and error.delay_ms is not None:
            delay_ms = error.delay_ms
        trace = "".join(traceback.format_exception(error))
        fragment = failure_fragment(type(error).__name__, words_of(error), self._topic.worker_name, trace)
        return Nack(delivery.raw_id, delivery.receipt, delay_ms, fragment)

    async def _run(self, deliveries: list[Delivery]) -> None:
        """Runs a batch to its end, settling and extending meanwhile."""
        self._batch = batch = Batch(self._topic.listener, deliveries, self._topic.lease)
        batch.closing = self._stopping and not self._inheriting
        loop = asyncio.get_running_loop()
        extend_every_s = self._topic.definition.visibility_timeout_ms / 3000
        extend_at = loop.time() + extend_every_s
        running = self._topic.start(batch)
        try:
            while not running.done():
                await asyncio.wait({running}, timeout=SETTLE_EVERY_S)
                self._unsettled += batch.take_finished()
                if running.done():
                    break
                if batch.closing:
                    self._give_back(batch)
                if batch.running_s() * 1000 > self._topic.listener.max_runtime_ms:
                    await self._give_up(batch, running)
                    continue
                try:
                    if self._unsettled:
                        await self._cycle(0)
                    if loop.time() >= extend_at and not self.stuck:
                        extend_at = loop.time() + extend_every_s
                        await self._extend(batch)
                except Fenced:
                    batch.closing = True
                    batch.lost.update(delivery.raw_id for delivery in batch.unfinished)
                    raise
                except RMQError as error:
                    log.warning("%s[%d]: cannot settle yet: %s", self._topic.name, self.slot, error)
        except asyncio.CancelledError:
            # The grace is over: what the call holds comes back by its timeout.
            running.cancel()
            raise
        finally:
            if not running.done():
                await asyncio.wait({running})
            self.stuck = False
            self._unsettled += batch.take_finished()
            if batch.closing:
                self._give_back(batch)
            self._topic.ran(batch)
            self._batch = None

    def _give_back(self, batch: Batch) -> None:
        """Releases, uncounted, what no listener will begin any more."""
        left = [delivery for delivery in batch.not_started if delivery.raw_id not in batch.lost]
        batch.lost.update(delivery.raw_id for delivery in left)
        self._unsettled += [Finished(delivery, Release()) for delivery in left]

    async def _extend(self, batch: Batch) -> None:
        unfinished = [delivery for delivery in batch.unfinished if delivery.raw_id not in batch.lost]
        if not unfinished:
            return
        receipts = [(delivery.raw_id, delivery.receipt) for delivery in unfinished]
        request = extend(self._topic.keyspace, self._topic.definition, self.slot, receipts, None, self.epoch)
        (renewed,) = await self._topic.client.connection.run([request])
        for delivery, receipt in zip(unfinished, renewed, strict=True):
            if receipt:
                delivery.receipt = receipt
            else:
                batch.lost.add(delivery.raw_id)

    async def _give_up(self, batch: Batch, running: asyncio.Future[None]) -> None:
        """A call that runs too long: a coroutine is cancelled; a thread cannot be, so its message may time out.

        The slot stays with the call until it returns: starting another message of the slot meanwhile would break
        the promise that they never overlap.
        """
        if isinstance(running, asyncio.Task):
            running.cancel()
            await asyncio.wait({running})
            late = TimeoutError(f"cancelled after max_runtime_ms={self._topic.listener.max_runtime_ms}")
            unfinished = batch.unfinished[: batch.begun - len(batch.finished)]
            batch.finished += [Finished(delivery, late) for delivery in unfinished]
            batch.closing = True
            return
        if not self.stuck:
            self.stuck = True
            batch.closing = True
            log.error(
                "%s[%d]: a listener call has been running for over %d ms; its message will time out and be handed out"
                " again elsewhere",
                self._topic.name,
                self.slot,
                self._topic.listener.max_runtime_ms,
            )
            self._give_back(batch)
            await self._cycle(0)
        else:
            await asyncio.wait({running}, timeout=SETTLE_EVERY_S * 10)
