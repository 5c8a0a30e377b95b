"""Recurring messages: the active keeper writes each tick into the outbox when it is due."""

from __future__ import annotations

import logging
import math
import time

from console.engine import AsyncEngine
from console.keeper.periodic import PeriodicTask
from console.keeper.steady_clock import SteadyClock
from console.outbox import clock
from console.snapshots.store import LiveKeys
from console.threads import DatabaseThread
from console.usecases import recurring, recurring_parked, recurring_ticks

log = logging.getLogger("console.keeper")

LOOK_EVERY_S = 1.0
"""How long a change of a definition may go unnoticed."""
SOON_S = 0.1
AHEAD = 100
"""Times that one question brings."""
COUNT_EVERY_S = 5.0
PARKED_EVERY_S = 5.0
FORGET_EVERY_S = 3_600.0
CODE_EVERY_S = 60.0


class Recurrences(PeriodicTask):
    """Sleeps until the next tick, but not longer than `LOOK_EVERY_S`. `failing`: definitions that cannot be sent, and
    names of `RECURRING` that cannot be read."""

    name = "sending recurring messages"

    def __init__(self, engine: AsyncEngine, keys: LiveKeys) -> None:
        super().__init__(engine, keys)
        self._database = DatabaseThread()
        self._code_at = 0.0
        self._unread: list[str] = []
        self._clock = SteadyClock()
        self._forgot_at = self._counted_at = -math.inf  # the steady clock may begin with the machine
        self._asked_at = 0.0
        self._parked_at = -PARKED_EVERY_S
        self._due: list[int] = []
        self.failing = 0

    async def round(self) -> None:
        self.every_s = LOOK_EVERY_S
        await self._go_on()
        self.every_s = await self._database.call(self._look)

    async def _go_on(self) -> None:
        """With what was parked while its topic was away, as after a loss of the server's data."""
        if time.monotonic() - self._parked_at < PARKED_EVERY_S:
            return
        self._parked_at = time.monotonic()
        if wanted := await self._database.call(recurring_parked.topics):
            there = wanted & {topic.name for topic in await self.engine.inspector.topics()}
            if there and (count := await self._database.call(recurring_parked.go_on, there)):
                log.info("%d ticks are sent whose topic is there again", count)

    def _look(self) -> float:
        if time.monotonic() >= self._code_at:
            self._read_code()
        if time.monotonic() - self._forgot_at > FORGET_EVERY_S:
            if self._clock.is_steady(clock.now_ms(recurring_ticks.DATABASE)):
                recurring_ticks.forget_old()
                recurring_ticks.plan_anew()
            self._forgot_at = time.monotonic()
        if time.monotonic() - self._counted_at > COUNT_EVERY_S:
            self.failing = recurring_ticks.failing() + len(self._unread)
            self._counted_at = time.monotonic()
        left_s = self._left_s()
        if left_s <= SOON_S:
            # In this thread, which nobody waits for: the loop's shortest pause is too long. To the end of that
            # millisecond, for its clock is rounded.
            time.sleep(max(0.0, left_s) + 0.001)
            first_ms = self._due[0]
            if recurring_ticks.send_due() in (0, recurring_ticks.AT_ONCE):
                self._due = []  # it was looked for too early, by a millisecond, or there may be more of that time
            else:
                self._due = [due_ms for due_ms in self._due if due_ms > first_ms]
            left_s = self._left_s()
        return min(max(0.0, left_s - SOON_S), LOOK_EVERY_S)

    def _read_code(self) -> None:
        """Once; but what cannot be read is tried again, and goes on as it was meanwhile."""
        before, self._unread = self._unread, recurring.from_code()
        for problem in self._unread:
            if problem not in before:
                log.error("%s; what it has declared before goes on", problem)
        self._code_at = time.monotonic() + CODE_EVERY_S if self._unread else math.inf

    def _left_s(self) -> float:
        """Until the next tick, as far as is known: what was defined since the last question is not."""
        if not self._due or time.monotonic() - self._asked_at > LOOK_EVERY_S / 2:
            self._due, self._asked_at = recurring_ticks.next_due_ms(AHEAD), time.monotonic()
        return (self._due[0] - clock.now_ms(recurring_ticks.DATABASE)) / 1000 if self._due else LOOK_EVERY_S

    async def close(self) -> None:
        await self._database.close()
