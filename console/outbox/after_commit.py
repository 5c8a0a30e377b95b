"""The fast path: who has committed sends its rows itself. What fails or is missed, a relay takes."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable

from django.db import connections, transaction

from console.outbox import clients
from console.outbox.claiming import Claim
from console.outbox.options import options
from console.outbox.relay import Done, Relay, relay

log = logging.getLogger("console.outbox")

REST_S = 10.0
"""How long this process leaves everything to the relays after the queue was away: requests must not wait for it."""
MOST = 1_000
"""What a larger transaction has sent, the relays take."""

_NOTED = "rmq_outbox_noted"  # of a connection, which is one thread's
_rests_until = 0.0


def note(database: str, row: int) -> None:
    """A row was written into the transaction that is open."""
    if not options().fast_path:
        return
    ids = vars(connections[database]).setdefault(_NOTED, [])
    if len(ids) < MOST:
        ids.append(row)
    transaction.on_commit(functools.partial(_committed, database), using=database)


def rests() -> bool:
    """Whether everything is left to the relays."""
    return not options().fast_path or time.monotonic() < _rests_until


def send_leased(claim: Claim) -> None:
    """For a loop that has written rows as leased, and committed them."""
    if claim.rows:
        _guarded(claim.database, lambda relay: relay.send(claim))


def _committed(database: str) -> None:
    """The first of a transaction sends for all of them. Ids of what was rolled back are in none of the rows by then."""
    ids = vars(connections[database]).pop(_NOTED, [])
    if ids and not rests():
        _guarded(database, lambda relay: relay.step(ids))


def _guarded(database: str, act: Callable[[Relay], Done]) -> None:
    global _rests_until
    try:
        done = act(relay(database, clients.quick()))
    except Exception:  # the transaction is committed: whatever this is, it is none of its caller's
        log.warning("what was committed in %s is left to a relay", database, exc_info=True)
        _rests_until = time.monotonic() + REST_S
        return
    if done.away is not None:
        log.warning("what was committed in %s is left to a relay: %s", database, done.away)
        _rests_until = time.monotonic() + REST_S
