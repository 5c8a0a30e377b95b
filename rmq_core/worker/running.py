"""One batch from its start to its end: settled, extended and watched meanwhile."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from rmq_core.errors import Fenced, RMQError
from rmq_core.model.delivery import Delivery
from rmq_core.model.outcomes import Release
from rmq_core.protocol.takes import DONE
from rmq_core.worker.batch import Batch
from rmq_core.worker.settling import Settling
from rmq_core.worker.topic_work import TopicWork
from rmq_core.worker.waiting import done_within

log = logging.getLogger(__name__)

SETTLE_EVERY_S = 0.05
SLOTS_SETTLED_PER_S = 200
"""Where many slots hold messages, each settles less often."""
CANCEL_S = 1.0
"""How long a cancelled coroutine may take to end before it counts as stuck."""
WATCH_EVERY_S = 0.5


class Running:
    """Deliveries a listener is at work on."""

    def __init__(
        self,
        topic: TopicWork,
        settling: Settling,
        deliveries: list[Delivery],
        *,
        alone: bool = False,
        on_stuck: Callable[[bool], None] | None = None,
    ) -> None:
        self._topic = topic
        self._settling = settling
        self._on_stuck = on_stuck
        for delivery in deliveries:
            delivery.reporter = topic.reports
        self.batch = Batch(topic.listener, deliveries, topic.lease, alone=alone, waits=topic.waits, calls=topic.calls)
        self.stuck = False
        self._cancelled = False
        self._extend_every_s = topic.definition.visibility_timeout_ms / 3000

    @property
    def in_flight(self) -> int:
        """Deliveries the listener has not finished."""
        return len(self.batch.deliveries) - len(self.batch.finished)

    def close(self, *, at_once: bool = False) -> None:
        """Begins nothing more. What was done when it was handed out cannot be given back: it is begun all the same,
        unless it has to end ``at_once``.
        """
        if self._topic.unsettled and not at_once:
            return
        self.batch.closing = True
        self._topic.dispatch.prune()

    async def run(self, begun: Callable[[], None] | None = None) -> None:
        """Until the listener has ended. Raises `Fenced` then, if the slot turned out to be somebody else's. ``begun``
        is called once this is among what is here, of which the best is run first.
        """
        batch, settling = self.batch, self._settling
        extend_at = time.monotonic() + self._extend_every_s
        ended = self._topic.start(batch)
        if begun is not None:
            begun()
        given_up = False
        try:
            while not ended.done():
                await done_within(ended, self._look_s(extend_at - time.monotonic()))
                settling.add(batch.take_finished())
                if ended.done():
                    break
                self._topic.runs(batch)
                if batch.closing:
                    self._give_back()
                try:
                    if not self.stuck and self._is_late():
                        await self._too_long(ended)
                    if settling.unsettled:
                        await settling.cycle(0)
                    if time.monotonic() >= extend_at and not self.stuck:
                        extend_at = time.monotonic() + self._extend_every_s
                        await self._extend()
                except Fenced:
                    batch.lost.update(delivery.raw_id for delivery in batch.unfinished)
                    self.close(at_once=True)
                    raise
                except RMQError as error:
                    self._topic.trouble.say(f"{self._topic.name}[{settling.slot}]: cannot settle yet", error)
        except asyncio.CancelledError:
            # The grace is over. A coroutine that lets itself be cancelled gives its message back, uncounted; what any
            # other call holds comes back by its timeout.
            given_up = True
            self.close(at_once=True)
            if self._topic.cancel(batch, Release()):
                await done_within(ended, CANCEL_S)
            raise
        finally:
            try:
                if not given_up and not ended.done():
                    await done_within(ended)
            finally:
                if not ended.done():
                    self._topic.left += len(batch.deliveries[: batch.begun]) - len(batch.finished)
            if self.stuck:
                self._set_stuck(False)
            settling.add(batch.take_finished())
            if batch.closing:
                self._give_back()
            self._topic.ran(batch)

    def _is_late(self) -> bool:
        """Whether the call runs too long, and nobody else ends it: one in a process of its own is killed."""
        listener = self._topic.listener
        return listener.isolation == "thread" and self.batch.running_s() * 1000 > listener.max_runtime_ms

    def _look_s(self, extend_s: float) -> float:
        """Often where results come one by one; else when the call is to be extended or given up."""
        if self.stuck or self.in_flight > self._topic.listener.batch:
            often_s = max(SETTLE_EVERY_S, self._topic.queue.holding / SLOTS_SETTLED_PER_S)
            return WATCH_EVERY_S if self.stuck else min(often_s, WATCH_EVERY_S, max(SETTLE_EVERY_S, extend_s))
        left_s = self._topic.listener.max_runtime_ms / 1000 - self.batch.running_s()
        return min(WATCH_EVERY_S, max(SETTLE_EVERY_S, min(extend_s, left_s)))

    def _give_back(self) -> None:
        """Releases, uncounted, what no listener will begin any more."""
        batch = self.batch
        left = [each for each in batch.not_started if each.raw_id not in batch.lost and each.receipt != DONE]
        batch.lost.update(delivery.raw_id for delivery in left)
        self._settling.add((delivery, Release()) for delivery in left)

    async def _extend(self, *, alone: bool = False) -> None:
        batch = self.batch
        unfinished = [delivery for delivery in batch.unfinished if delivery.raw_id not in batch.lost]
        if unfinished:
            lost = await self._settling.extend(unfinished, alone=alone)
            batch.lost.update(delivery.raw_id for delivery in lost)

    async def _too_long(self, ended: asyncio.Future[None]) -> None:
        """A coroutine is cancelled. A thread cannot be, nor a coroutine that does not let itself: its message may
        time out.

        The slot stays with the call until it returns: starting another message of the slot meanwhile would break
        the promise that they never overlap.
        """
        most_ms = self._topic.listener.max_runtime_ms
        if not self._cancelled and self._topic.cancel(
            self.batch, TimeoutError(f"cancelled after max_runtime_ms={most_ms}")
        ):
            self._cancelled = True
            await done_within(ended, CANCEL_S)
            if ended.done():
                return
        self.close(at_once=True)
        log.error(
            "%s[%d]: a call of %s has been running for over %d ms%s; its message %s",
            self._topic.name,
            self._settling.slot,
            self._topic.listener.name,
            most_ms,
            " and does not let itself be cancelled" if self._cancelled else "",
            "is done already (acks='none')"
            if self._topic.unsettled
            else "will time out and be handed out again elsewhere",
        )
        self._give_back()
        self._set_stuck(True)
        # Whatever it was taken with: it is this one that takes too long.
        await self._extend(alone=True)

    def _set_stuck(self, stuck: bool) -> None:
        self.stuck = stuck
        if self._on_stuck is not None:
            self._on_stuck(stuck)
