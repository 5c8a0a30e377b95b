"""How long one slot sleeps, what it waits for meanwhile, and what wakes it."""

from __future__ import annotations

import asyncio

from rmq_core.protocol.takes import NOT_DUE, Cycled
from rmq_core.transport.notifications import FALLBACK_S
from rmq_core.worker.running import SETTLE_EVERY_S
from rmq_core.worker.slot_calls import SlotCalls
from rmq_core.worker.topic_work import TopicWork
from rmq_core.worker.waiting import done_within, ring

NEVER = b"-"
"""What no slot's counters look like."""


class SlotSleep:
    """One for a slot runner."""

    def __init__(self, topic: TopicWork, calls: SlotCalls) -> None:
        self._topic = topic
        self._calls = calls
        self._woken = False
        self._sleeping: asyncio.Future[None] | None = None
        self.until_ms: int | None = None
        """While nothing is ready: when something will be, by the Redis clock (`NOT_DUE`: no message says so). None
        while the slot does anything else."""
        self.empty = False
        """While nothing is ready: whether the slot held nothing at all."""
        self.seen = NEVER
        """The slot's counters when somebody looked last, see `rmq_core.worker.idle_slots`."""

    def wake(self) -> None:
        """Look again now."""
        self._woken = True
        if self._sleeping is not None:
            ring(self._sleeping)

    async def sleep(self, wait_s: float | None) -> None:
        """Until woken, or for so long; None: until woken, which whoever looks for all idle slots does."""
        if wait_s is None or wait_s > 0:
            if not self._woken:
                self._sleeping = self._topic.loop.create_future()
                try:
                    await done_within(self._sleeping, wait_s)
                finally:
                    self._sleeping = None
            if not self._woken and not self._calls.refused:
                until_ms, calls = self.until_ms, self._calls
                calls.head_known = self._topic.definition.timed and until_ms is not None and until_ms >= 0
                calls.head = until_ms if calls.head_known else None
        self.until_ms = None
        self._woken = False

    def begin(self) -> float | None:
        """Until somebody has looked at the slot; but what a former owner left is put back first."""
        if not self._calls.takes_over and self._topic.look_soon():
            self.until_ms, self.empty = NOT_DUE, not self._topic.definition.is_group
            return None
        return 0.0

    def after(self, cycled: Cycled) -> float | None:
        """How long, after a call that brought nothing; see `sleep`."""
        if self._calls.settling.unsettled:
            return 0.0
        if not self._topic.lease.valid:
            return FALLBACK_S
        topic = self._topic.definition
        # Nothing tells by itself that a stream holds what its group has not read.
        self.empty = cycled.wait_us is None and not topic.paused and not topic.is_group
        if cycled.wait_us is None:
            self.until_ms = NOT_DUE
            return None
        self.until_ms = (cycled.now_us + cycled.wait_us) // 1000
        return max(0.0, cycled.now_us + cycled.wait_us - self._calls.server_us) / 1_000_000

    def before_settling(self) -> float | None:
        """How long where what is finished may be settled by the take that is due next; else None."""
        topic, unsettled, head = self._topic, self._calls.settling.unsettled, self._calls.head
        if not unsettled or head is None or not topic.definition.timed or topic.limited:
            return None
        wait_s = (head * 1000 - self._calls.server_us) / 1_000_000
        if wait_s > SETTLE_EVERY_S or topic.alone.wanted or any(error is not None for _, error in unsettled):
            return None
        self.until_ms, self.empty = head, False
        return max(0.0, wait_s)
