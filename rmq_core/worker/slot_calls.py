"""What goes to and fro between this worker and one slot on the server, and what is known of the slot by it."""

from __future__ import annotations

import logging
import time

from rmq_core.ops import permits, quotas
from rmq_core.protocol.scripts import BATCH_MAX, one
from rmq_core.protocol.slot_calls import on_slot
from rmq_core.protocol.takes import NOT_DUE, Cycled, takeover
from rmq_core.worker.server_clock import ServerClock
from rmq_core.worker.settling import Settling
from rmq_core.worker.topic_work import TopicWork

log = logging.getLogger(__name__)

LOST_MOST = 10
"""Of so many takes in a row whose answers were lost, each brings half of the one before."""


class SlotCalls:
    """Settles and takes by one call; ``epoch`` is '' in shared mode."""

    def __init__(self, topic: TopicWork, slot: int, epoch: str) -> None:
        self._topic = topic
        self._slot = slot
        self._epoch = epoch
        self.settling = Settling(topic, slot, epoch)
        self.closed = False
        """Takes nothing more."""
        self.takes_over = bool(epoch)
        """Whether a former owner may have left something in flight."""
        self.head: int | None = None
        """What the slot would hand out next, as far as is known: see `Cycled.head`."""
        self.head_known = False
        self.news: int | None = None
        """What was heard of since the last call to the server went out: its reply may be older."""
        self.last: Cycled | None = None
        self._fell_short = False
        """Whether the last take brought less than it could have, for want of permits."""
        self._refused: Cycled | None = None
        """What it brought where that was nothing."""
        self._lost = 0
        """Takes whose answers were lost, in a row: the more, the less is taken."""
        self._clock = ServerClock() if topic.client.target.is_cluster else topic.clock
        self._last_us = 0.0
        """The time on the server at ``_last_at`` of this one, at least."""
        self._last_at = 0.0

    def hear(self, head: int | None) -> None:
        """A notification came; None where it does not say what is next in the slot now."""
        if head is not None and (self.news is None or self._topic.comes_first(head, self.news)):
            self.news = head

    @property
    def server_us(self) -> float:
        """The time on the server, at least, where it has said one."""
        return self._last_us + (time.monotonic() - self._last_at) * 1_000_000

    @property
    def seems_ready(self) -> bool:
        """Whether there is something to take, as far as is known."""
        if not self.head_known or self.head is None:
            return False
        if not self._topic.definition.timed or self.last is None:
            return True
        return self.head * 1000 <= self.server_us

    @property
    def refused(self) -> bool:
        """Whether something is ready, and only permits are missing."""
        return self._refused is not None

    async def take(self, limit: int, *, alone: bool = False, floor: int | None = None) -> tuple[Cycled, float | None]:
        """Settles, and takes as many as the topic's rate and permits allow; the second: how long to sleep where that is
        none.
        """
        if limit and self._topic.definition.rate_limit:
            return await self._take_by_rate(limit, alone=alone, floor=floor)
        return await self._take_by_permits(limit, alone=alone, floor=floor)

    async def _take_by_permits(self, limit: int, *, alone: bool, floor: int | None) -> tuple[Cycled, float | None]:
        """Of a topic with a limit no more is taken than is begun: what only waits here would keep others waiting."""
        if not limit or not self._topic.definition.concurrency:
            return await self.cycle(limit, alone=alone, floor=floor), None
        limit = min(limit, self._topic.listener.batch)
        if self._refused is not None and not self.settling.unsettled:
            if (wait_s := await self._ask(limit)) is not None:
                return self._refused, wait_s
        elif self._fell_short:
            if self.settling.unsettled:
                await self.cycle(0)  # first: what is not settled keeps its permit
            await self._ask(limit)
        cycled, wait_s = await self.cycle(limit, alone=alone, floor=floor), None
        if cycled.short and not cycled.deliveries:
            wait_s = await self._ask(limit)
            if wait_s is None:
                cycled = await self.cycle(limit, alone=alone, floor=floor)
        self._fell_short, self._refused = cycled.short and bool(cycled.deliveries), None
        if cycled.deliveries or not cycled.short:
            return cycled, None
        self._refused = cycled
        return cycled, self._topic.next_permit_s(0) if wait_s is None else wait_s

    async def _ask(self, wanted: int) -> float | None:
        """Asks for permits; how long to sleep where there are none."""
        topic = self._topic
        if not topic.may_ask():
            return topic.next_permit_s(0)
        waits = await topic.client.run(permits.widen(topic.keyspace, topic.definition, {self._slot: wanted}))
        if waits:
            return topic.next_permit_s(waits[self._slot] * 1000)
        topic.ask_again()
        return None

    async def _take_by_rate(self, limit: int, *, alone: bool, floor: int | None) -> tuple[Cycled, float | None]:
        """A slot with nothing to take asks for nothing: what it was granted would be missing elsewhere."""
        run, keyspace, topic = self._topic.client.run, self._topic.keyspace, self._topic.definition
        now_ms, next_due_ms, *_ = await run(one(on_slot("next_due", keyspace, topic, self._slot), tuple))
        if topic.paused_at(now_ms) or next_due_ms == NOT_DUE or next_due_ms > now_ms:
            return await self.cycle(0), None
        permit = await run(quotas.ask(keyspace, topic, limit))
        if not permit.messages:
            return await self.cycle(0), self._topic.next_permit_s(permit.wait_us)
        cycled, wait_s = await self._take_by_permits(permit.messages, alone=alone, floor=floor)
        await run(quotas.give_back(keyspace, topic, permit.messages - len(cycled.deliveries)))
        return cycled, wait_s

    async def cycle(self, limit: int, *, alone: bool = False, floor: int | None = None) -> Cycled:
        """Settles what is finished and takes up to ``limit``, whatever the topic's rate is."""
        self.news = None
        cycled = await self._cycle(limit, alone=alone, floor=floor)
        while limit and self.settling.unheard and await self.put_back_unheard():  # this one's, too
            cycled = await self._cycle(limit, alone=alone, floor=floor)
        if limit and self._lost:
            self._lost -= 1
        self.head, self.head_known, self.last = cycled.head, True, cycled
        if self.news is not None and self._topic.comes_first(self.news, cycled.head):
            self.head = self.news
        self._last_at = time.monotonic()
        self._last_us = cycled.now_us + self._clock.age_us(cycled.now_us, self._last_at)
        return cycled

    async def _cycle(self, limit: int, *, alone: bool, floor: int | None) -> Cycled:
        limit = 0 if self.closed or not limit else max(1, limit >> self._lost)
        return await self.settling.cycle(limit, alone=alone, floor=floor)

    async def put_back_unheard(self) -> bool:
        """Puts back what takes brought whose answers were lost, so that less is taken in its order. Whether it did:
        what a line cannot carry at all comes back by its timeout, and counts.
        """
        if self._lost < LOST_MOST:
            self._lost += 1
            await self.settling.give_back_unheard()
            return True
        self.settling.unheard = False
        return False

    async def take_over(self) -> None:
        """Puts back what the slot's former owner left in flight."""
        topic = self._topic
        request = takeover(topic.keyspace, topic.definition, self._slot, self._epoch, by=topic.by)
        (put_back,) = await topic.client.connection.run([request])
        self.takes_over = put_back == BATCH_MAX
        if put_back:
            log.info("%s[%d]: %d deliveries of the former owner were put back", topic.name, self._slot, put_back)
