"""A batch of deliveries on its way through a listener, which runs beside the engine's loop: in a thread, or in the
loop of the coroutine listeners. It may be left for another one that comes first, and gone on with later.

Each call has a context of its own (what it sets in a ``ContextVar`` is gone with it) and, for coroutines, a task.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Callable, Sequence
from contextvars import copy_context
from itertools import repeat
from typing import Any, Protocol, TypeAlias

from rmq_core.model.delivery import Delivery
from rmq_core.model.scores import RETRIED_MAX
from rmq_core.ownership.lease import Lease
from rmq_core.transport import forks
from rmq_core.worker.calling import leave_child
from rmq_core.worker.calls import DIRECT, Calls
from rmq_core.worker.listeners import Listener
from rmq_core.worker.ranks import FIRST, LAST, rank_of

CALL_TASK = "rmq-listener"
"""The names of the tasks in which coroutine listeners run begin with this."""
ASK_EVERY_S = 0.05
EAGER: dict[str, Any] = {"eager_start": True} if sys.version_info >= (3, 12) else {}
"""A coroutine that waits for nothing then costs no turn of the loop."""


class Lanes(Protocol):
    """What a batch asks of whoever runs it."""

    generation: int
    """Of the process, see `rmq_core.transport.forks`."""
    lo: float
    hi: float
    """Of fresh messages, those with a store score up to the first and from the second on are not to begin now."""

    @property
    def crowded(self) -> bool:
        """Whether a lane that was open for its time should end."""


Finished: TypeAlias = tuple[Delivery, BaseException | None]
"""A delivery the listener is done with, and what it raised; None: it returned."""


class Batch:
    """Deliveries of one slot, and what became of them so far.

    The listener's side only appends to ``finished`` and moves ``started_at`` and ``begun``; the engine's side only
    reads those and sets ``closing`` (start nothing more) and ``lost`` (somebody else has these now). When the lease
    has run out, or one has failed for which the others wait (``waits``), the listener's side sets ``closing`` itself.
    ``alone``: nothing else runs in this process, whatever comes first.
    """

    def __init__(
        self,
        listener: Listener,
        deliveries: Sequence[Delivery],
        lease: Lease,
        *,
        alone: bool = False,
        waits: bool = False,
        calls: Calls = DIRECT,
    ) -> None:
        self.listener = listener
        self.calls = calls
        self.deliveries = deliveries
        self.lease = lease
        self.alone = alone
        self._waits = waits
        self.finished: list[Finished] = []
        self.begun = 0
        self.started_at: float | None = None
        self.closing = False
        self.lost: set[bytes] = set()
        self.leave_at = math.inf
        """When whoever runs it asks whether others are to have the lane; of the time of `time.monotonic`."""
        self.busy_s = 0.0
        """In lanes, but for the one that it is in."""
        self.late: Exception | None = None
        self.next_rank = LAST
        """What its slot has on the server, as far as is known."""
        self.end: Callable[[], object] = int
        """Called when nothing of it runs nor will: by a lane, or by whoever closed it."""
        self._call: asyncio.Task[BaseException | None] | None = None
        self._settled = 0
        self._in_lane_since: float | None = None
        self._judged = (0, 0.0)

    @property
    def over(self) -> bool:
        """Whether nothing more of it will begin."""
        return self.closing or self.begun >= len(self.deliveries)

    def rank(self, timed: bool) -> float:
        """Of what it would begin next."""
        return FIRST if self.alone else rank_of(timed, self.deliveries[self.begun])

    def run(self, lanes: Lanes) -> None:
        """Calls the listener for one delivery after another until something else comes first; raises nothing."""
        listener, call = self.listener, self.calls.call
        self._in_lane_since = time.monotonic()
        while some := self._begin(lanes):
            failure: BaseException | None = None
            try:
                copy_context().run(call, listener, some)
            except BaseException as error:
                failure = error
            if lanes.generation != forks.generation():
                leave_child(failure)
            if failure is not None:
                self.calls.failed(some, failure)
            self._end(some, failure)
        self._left_lane()

    async def run_async(self, lanes: Lanes) -> None:
        """The same for a coroutine listener."""
        loop = asyncio.get_running_loop()
        name = f"{CALL_TASK} {self.listener.name} of topic {self.listener.topic}"
        self._in_lane_since = time.monotonic()
        while some := self._begin(lanes):
            self._call = task = asyncio.Task(self._outcome(some, lanes), loop=loop, name=name, **EAGER)
            try:
                self._end(some, task.result() if task.done() else await task)
            except asyncio.CancelledError:
                if not task.cancelled():  # the loop is being closed, and all that runs in it
                    task.cancel()
                    raise
                self._end(some, self.late or asyncio.CancelledError("cancelled before it began"))
        self._call = None
        self._left_lane()

    async def _outcome(self, some: Sequence[Delivery], lanes: Lanes) -> BaseException | None:
        """None, or whatever was raised: nothing that a listener raises may reach the loop."""
        failure: BaseException | None = None
        try:
            await self.calls.call_async(self.listener, some)
        except asyncio.CancelledError as error:
            failure = error if self.late is None else self.late
        except BaseException as error:
            failure = error
        if lanes.generation != forks.generation():
            leave_child(failure)
        if failure is not None:
            self.calls.failed(some, failure)
        return failure

    def cancel(self, late: Exception) -> None:
        """Ends a coroutine listener's present call, which then failed with ``late``. In its own loop only."""
        self.closing = True
        self.late = late
        if self._call is not None:
            self._call.cancel()

    def _begin(self, lanes: Lanes) -> Sequence[Delivery]:
        while (at := self.begun) < len(self.deliveries):
            score = self.deliveries[at].score
            if (RETRIED_MAX < score <= lanes.lo or score >= lanes.hi) and not self.alone:
                break
            now = time.monotonic()
            if now >= self.leave_at and not self.alone:
                if lanes.crowded:
                    break
                self.leave_at = now + ASK_EVERY_S
            some = self.deliveries[at : at + self.listener.batch]
            # Said before looking at `closing`: whoever sets that and then reads `begun` never misses a call that began.
            self.begun = at + len(some)
            if self.closing or now >= self.lease.until:
                self.closing = True
                self.begun = at
                break
            if self.lost:
                some = [delivery for delivery in some if delivery.raw_id not in self.lost]
            if some:
                self.started_at = now
                return some
        return ()

    def _left_lane(self) -> None:
        since, self.started_at, self._in_lane_since = self._in_lane_since, None, None
        if since is not None:
            self.busy_s += time.monotonic() - since

    def _end(self, some: Sequence[Delivery], error: BaseException | None) -> None:
        if error is not None and self._waits:
            self.closing = True
        if len(some) == 1:
            self.finished.append((some[0], error))
        else:
            self.finished += zip(some, repeat(error))

    def take_finished(self) -> list[Finished]:
        """What has been finished since the last call."""
        until = len(self.finished)
        some = self.finished[self._settled : until]
        self._settled = until
        return some

    def judge(self, least_s: float = 0.0) -> tuple[int, int, float] | None:
        """What came of messages since the last time: how many succeeded and failed, and how many ms one took.

        None: it has been busy for less than ``least_s`` since, or nothing has ended.
        """
        judged, judged_s = self._judged
        busy_s, since = self.busy_s, self._in_lane_since
        if since is not None:
            busy_s += time.monotonic() - since
        some = self.finished[judged:] if busy_s - judged_s >= least_s else ()
        if not some:
            return None
        self._judged = (judged + len(some), busy_s)
        succeeded = [error for _, error in some].count(None)
        return succeeded, len(some) - succeeded, (busy_s - judged_s) * 1000 / len(some)

    @property
    def unfinished(self) -> list[Delivery]:
        """What is running or has not been started."""
        done = {delivery.raw_id for delivery, _ in self.finished}
        return [delivery for delivery in self.deliveries if delivery.raw_id not in done]

    @property
    def not_started(self) -> Sequence[Delivery]:
        """What no listener has seen, nor will, once ``closing`` is set; complete when the listener's side has ended."""
        return self.deliveries[self.begun :]

    def running_s(self) -> float:
        """How long the present call has been running."""
        started = self.started_at
        return 0.0 if started is None else time.monotonic() - started
