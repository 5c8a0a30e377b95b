"""The relay of one database: takes rows that wait, sends them, and says what became of each."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, connections

from console.outbox import claiming
from console.outbox.claiming import Claim
from console.outbox.delivering import Outcome, deliver
from console.outbox.options import options
from console.outbox.rows import Row
from rmq_core.client.rmq import RMQ
from rmq_core.errors import RMQError

log = logging.getLogger("console.outbox")

BACKOFF_LEAST_MS, BACKOFF_MOST_MS = 1_000, 60_000
LOOK_EVERY_S = 0.25
HOUSEKEEPING_EVERY_S = 30.0
FORGET_FOR_S = 2.0
AWAY_LEAST_S, AWAY_MOST_S = 0.5, 10.0


@dataclass(frozen=True)
class Done:
    """What one step did. ``taken``: rows that were leased. ``away``: why nothing could be sent at all."""

    taken: int = 0
    sent: int = 0
    away: RMQError | None = None


class Relay:
    """Any number of them may work on one database, in threads, processes and machines."""

    def __init__(self, database: str, client: RMQ) -> None:
        self.database = database
        self.client = client
        self._housekeeping_at = 0.0

    def step(self, ids: Iterable[int] | None = None) -> Done:
        """Take one batch of what is due (or of the rows with ``ids``) and send it. Raises `DatabaseError`.

        No transaction is open while it sends.
        """
        return self.send(claiming.claim(self.database, options().batch, options().lease_ms, ids))

    def send(self, claim: Claim) -> Done:
        """Send what was leased. Raises `DatabaseError`."""
        if not claim.rows:
            return Done()
        outcome = deliver(self.client, claim.rows, claim.now_ms, lambda: claim.left_ms > claim.lease_ms / 2)
        self._write(claim, outcome)
        return Done(len(claim.rows), len(outcome.sent), outcome.away)

    def round(self, most_s: float) -> Done:
        """Steps until nothing is due, or for so long; forgets what is old. For loops, which ask again and again."""
        deadline = time.monotonic() + most_s
        taken = sent = 0
        if claiming.anything_due(self.database):
            while True:
                done = self.step()
                taken, sent = taken + done.taken, sent + done.sent
                if done.away is not None or not done.taken or time.monotonic() > deadline:
                    break
        else:
            done = Done()
        if time.monotonic() >= self._housekeeping_at:
            self.keep_house()
            self._housekeeping_at = time.monotonic() + HOUSEKEEPING_EVERY_S
        return Done(taken, sent, done.away)

    def keep_house(self) -> None:
        """Forget what was sent long ago, and free what a clock that was set back has put too far ahead."""
        claiming.heal(self.database, 2 * max(BACKOFF_MOST_MS, options().lease_ms))
        deadline = time.monotonic() + FORGET_FOR_S
        while claiming.forget(self.database, options().keep_ms, options().batch) == options().batch:
            if time.monotonic() > deadline:
                break

    def run(self, stop: threading.Event) -> None:
        """Until ``stop``; goes on by itself after the database or the queue was away."""
        away_s = 0.0
        while not stop.is_set():
            try:
                done = self.round(most_s=1.0)
                problem: Exception | None = done.away
            except (DatabaseError, InterfaceError) as error:
                done, problem = Done(), error
                connections[self.database].close()
            if problem is None:
                if away_s:
                    log.info("the outbox of %s is relayed again", self.database)
                away_s = 0.0
                stop.wait(0 if done.taken else LOOK_EVERY_S)
            else:
                if not away_s:
                    log.warning("the outbox of %s has to wait: %s", self.database, problem)
                away_s = min(max(AWAY_LEAST_S, 2 * away_s), AWAY_MOST_S)
                stop.wait(away_s)
        connections[self.database].close()

    def _write(self, claim: Claim, outcome: Outcome) -> None:
        """What was sent first: a process that ends in between repeats as little as can be."""
        keep = options().keep_ms > 0
        if outcome.sent and claiming.sent(claim, _ids(outcome.sent), keep) < len(outcome.sent):
            log.warning("another relay has taken rows of %s over: some may be sent twice", self.database)
        waits: dict[int, int] = {}
        parked: dict[tuple[int, str], list[int]] = {}
        again: dict[tuple[int, int, str], list[int]] = {}
        for row, failure in outcome.failed:
            tries = row.tries + failure.counts
            if failure.for_good or tries >= options().park_after:
                parked.setdefault((tries, failure.error), []).append(row.id)
            else:
                waits[row.id] = max(failure.wait_ms, backoff_ms(tries))
                again.setdefault((waits[row.id], tries, failure.error), []).append(row.id)
        for (tries, error), ids in parked.items():
            claiming.park(claim, ids, tries, error)
        for (wait_ms, tries, error), ids in again.items():
            claiming.later(claim, ids, wait_ms, tries, error)
        behind: dict[int, list[int]] = {}
        for row, blocker in outcome.behind:
            behind.setdefault(waits.get(blocker.id, 0), []).append(row.id)
        for wait_ms, ids in behind.items():
            claiming.later(claim, ids, wait_ms)
        if outcome.untried:
            claiming.later(claim, _ids(outcome.untried), 0)


def backoff_ms(tries: int) -> int:
    """How long a row waits after so many failures."""
    return min(BACKOFF_MOST_MS, BACKOFF_LEAST_MS << min(tries, 10))


@functools.cache
def relay(database: str, client: RMQ) -> Relay:
    """One for each of this process's clients."""
    return Relay(database, client)


def _ids(rows: Iterable[Row]) -> list[int]:
    return [row.id for row in rows]
