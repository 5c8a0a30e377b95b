"""What the slots of one topic share in this worker: its definition as it is now, what calls its listener, its pace."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from rmq_core.client.async_rmq import AsyncRMQ
from rmq_core.model.delivery import Delivery
from rmq_core.model.group import Acks, Group
from rmq_core.model.topic import OnFailure, Topic
from rmq_core.ownership.lease import Lease
from rmq_core.protocol.keys import Keyspace
from rmq_core.streams.members import HOST
from rmq_core.transport.notifications import FALLBACK_S
from rmq_core.worker.alone import Alone
from rmq_core.worker.batch import Batch
from rmq_core.worker.calls import DIRECT, Calls
from rmq_core.worker.coroutines import Coroutines
from rmq_core.worker.dispatch import Dispatch
from rmq_core.worker.fair_share import Gate
from rmq_core.worker.handing_back import hand_back, set_ended
from rmq_core.worker.listeners import Listener
from rmq_core.worker.ranks import rank_of, rank_of_head
from rmq_core.worker.reports import Reports
from rmq_core.worker.server_clock import ServerClock
from rmq_core.worker.take_queue import TakeQueue
from rmq_core.worker.threads import Threads
from rmq_core.worker.trouble import Trouble

BATCH_BUDGET_S = 0.25
PERMITS_APART_S = 0.25
GRANTS_APART_S = 0.005
"""Asking for takes more often would bring them one by one; asking this late loses none."""


def _waits(definition: Topic) -> bool:
    """Whether something that stands behind one that failed waits for it: then what was prefetched goes back."""
    if isinstance(definition, Group):
        return definition.waits
    return definition.on_failure is OnFailure.WAIT


class TopicWork:
    """One for a listener; its slots are run by the `TopicRunner`."""

    def __init__(
        self,
        client: AsyncRMQ,
        definition: Topic,
        listener: Listener,
        gate: Gate,
        threads: Threads,
        worker_name: str,
        batch_max: int,
        lease: Lease,
        coroutines: Coroutines | None = None,
        look_soon: Callable[[], None] | None = None,
        alone: Alone | None = None,
        trouble: Trouble | None = None,
        calls: Calls = DIRECT,
    ) -> None:
        self.client = client
        self.lease = lease
        self.definition = definition
        self.listener = listener
        self.calls = calls
        self.unsettled = definition.acks is Acks.NONE if isinstance(definition, Group) else listener.settles_first
        """Whether what is handed out is done."""
        self.settles_first = self.unsettled and not definition.is_group
        """Whether that is for us to say, before the listener is called; of a group the take says it."""
        self.waits = _waits(definition) and not self.unsettled
        self.gate = gate
        self.worker_name = worker_name
        self.trouble = trouble or Trouble(worker_name)
        self.done = 0
        self.failed = 0
        self.stale = 0
        self.left = 0
        """Deliveries with calls that were given up at the end."""
        self.alone = alone or Alone()
        self.dispatch = Dispatch(definition.timed, gate)
        self.queue = TakeQueue(self.dispatch, gate, self.alone, self._open_lanes)
        self.loop = asyncio.get_running_loop()
        """The engine's: to ask for it again and again costs a system call each time."""
        self.clock = ServerClock()
        """Of the only server; on a Cluster each slot has one of its own."""
        self.reports = Reports(self)
        self._asked = False
        self._threads = threads
        self._coroutines = (coroutines or Coroutines(worker_name, own=False)) if listener.is_async else None
        self._look_soon = look_soon
        self._batch_max = batch_max
        self._size = 1
        self._next_grant_at = 0.0
        self._asks_from = 0.0

    @property
    def by(self) -> str:
        """Who makes the changes, for the journal: '<host> <worker>'."""
        return f"{HOST} {self.worker_name}"

    @property
    def name(self) -> str:
        """The topic's name."""
        return self.definition.name

    @property
    def limited(self) -> bool:
        """Whether the fleet shares what may be taken."""
        return bool(self.definition.rate_limit or self.definition.concurrency)

    @property
    def keyspace(self) -> Keyspace:
        """Builds the topic's keys."""
        return self.client.keyspace

    def redefine(self, definition: Topic) -> None:
        """Follows an operator's edit, which never changes kind or slots."""
        self.definition = definition
        self.waits = _waits(definition) and not self.unsettled
        self.reports.result_for_ms = definition.result_for_ms
        self._next_grant_at = 0.0
        self.gate.weight = definition.weight

    def reshape(self, definition: Topic) -> None:
        """Begins again as a topic of that kind and with those slots. No slot is at work."""
        self.dispatch = Dispatch(definition.timed, self.gate)
        self.queue = TakeQueue(self.dispatch, self.gate, self.alone, self._open_lanes)
        self.redefine(definition)

    def look_soon(self) -> bool:
        """Has all idle slots looked at; False where nobody does."""
        if self._look_soon is not None:
            self._look_soon()
        return self._look_soon is not None

    def rank(self, head: int) -> float:
        """Of a slot's head, over all slots."""
        return rank_of_head(self.definition.timed, head)

    def comes_first(self, head: int, other: int | None) -> bool:
        """Whether a slot's new head comes before the one known."""
        return other is None or (head < other if self.definition.timed else head > other)

    def outranks(self, head: int, delivery: Delivery) -> bool:
        """Whether what is in the slot comes before what was taken from it."""
        return rank_of_head(self.definition.timed, head) > rank_of(self.definition.timed, delivery)

    def equals(self, head: int, delivery: Delivery) -> bool:
        """Whether neither comes first."""
        return rank_of_head(self.definition.timed, head) == rank_of(self.definition.timed, delivery)

    def start(self, batch: Batch) -> asyncio.Future[None]:
        """Runs a batch, in a thread or in the loop of the coroutine listeners; done when it has ended."""
        loop = self.loop
        ended: asyncio.Future[None] = loop.create_future()
        batch.end = lambda: hand_back(loop, partial(set_ended, ended))
        self.dispatch.add(batch)
        if batch.closing:
            self.dispatch.prune()
        self._open_lanes()
        return ended

    def cancel(self, batch: Batch, late: Exception) -> bool:
        """Ends the present call of a coroutine listener; False for a thread, which nobody can end."""
        if self._coroutines is None:
            return False
        self._coroutines.cancel(batch, late)
        return True

    def _open_lanes(self) -> None:
        if not self._asked and self.dispatch.open:
            self._asked = True
            self.gate.ask(self._lane)

    def _lane(self) -> None:
        self._asked = False
        first = self.dispatch.next()
        if first is None:
            self.gate.release()
            return
        if self._coroutines is not None:
            ended = self._coroutines.run(partial(self.dispatch.lane_async, first), self.name)
        else:
            ended = self._threads.run(partial(self.dispatch.lane, first), self.loop)
        ended.add_done_callback(self._lane_ended)
        self._open_lanes()

    def _lane_ended(self, ended: asyncio.Future[None]) -> None:
        self.gate.release()
        self.queue.pump()

    def batch_size(self) -> int:
        """How many to take: as many as fit well into the visibility timeout and into a fair turn."""
        wanted = max(self._size, self.listener.batch)
        per_message = self.gate.message_ms
        if per_message:
            budget_ms = min(self.definition.visibility_timeout_ms / 4, BATCH_BUDGET_S * 1000)
            wanted = min(wanted, max(self.listener.batch, int(budget_ms / per_message)))
        return min(wanted, self._batch_max)

    def next_permit_s(self, wait_us: int) -> float:
        """When a slot that the topic's rate, or permits, refused asks again: one after another, not all at once."""
        now = time.monotonic()
        rate = self.definition.rate_limit
        apart_s = max(1 / rate if rate else 0.0, self._asks_apart_s)
        wait_s = max(wait_us / 1_000_000, GRANTS_APART_S)
        self._next_grant_at = min(max(now + wait_s, self._next_grant_at + apart_s), now + FALLBACK_S)
        return self._next_grant_at - now

    @property
    def _asks_apart_s(self) -> float:
        """A permit is free when a call has ended: to ask much more often would only keep Redis busy."""
        if not self.definition.concurrency or not self.gate.message_ms:
            return GRANTS_APART_S
        return max(GRANTS_APART_S, min(PERMITS_APART_S, self.gate.message_ms / 8_000))

    def may_ask(self) -> bool:
        """Whether a slot may ask for permits now: what another one has just been refused it would be, too."""
        now = time.monotonic()
        if now < self._asks_from:
            return False
        self._asks_from = now + self._asks_apart_s
        return True

    def ask_again(self) -> None:
        """One was given what it asked for: others may ask."""
        self._asks_from = 0.0

    def ran(self, batch: Batch) -> None:
        """Learns from a finished batch."""
        if found := batch.judge():
            self.gate.adapt(*found)
        if len(batch.finished) >= self._size:
            self._size = min(self._batch_max, self._size * 2)

    def runs(self, batch: Batch) -> None:
        """Learns from one that takes longer than it was meant to: a listener may turn slow in the middle of many."""
        if found := batch.judge(BATCH_BUDGET_S):
            self.gate.adapt(*found)

    def settled(self, acked: int, nacked: int, stale: int) -> None:
        """Counts for the heartbeat."""
        self.done += acked
        self.failed += nacked
        self.stale += stale
