"""Rows of the outbox change hands here: leased, sent, put back, parked. Each act is a short transaction.

Rows are chosen by their state and time, never as those after the last one: ids are given before they are committed.
Within a lane (one topic, one slot basis) a row is only leased together with all that wait before it. Nothing is
written to a row whose lease is somebody else's by now.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db import connections, transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery

from console.outbox import clock
from console.outbox.conflicts import undisturbed
from console.outbox.models import OutboxMessage
from console.outbox.rows import TABLE, Row

State = OutboxMessage.State
BEHIND_A_LEASE_MS = 250
"""When a row is looked at again, before which another one is being sent."""
ERROR_MAX = 500
HEALED_AT_ONCE = 10_000
_FREE = {"lease": "", "leased_until_ms": 0}


@dataclass(frozen=True)
class Claim:
    """Rows that are ours for `lease_ms`, in the order of their ids."""

    database: str
    lease: str
    now_ms: int
    lease_ms: int
    begun: float
    rows: Sequence[Row] = ()

    @property
    def columns(self) -> dict[str, object]:
        """Of a row that is leased."""
        return {"lease": self.lease, "leased_until_ms": self.now_ms + self.lease_ms}

    @property
    def left_ms(self) -> float:
        """How much of the lease there is left."""
        return self.lease_ms - (time.monotonic() - self.begun) * 1000

    @property
    def clock_ms(self) -> int:
        """The database's clock, without asking it."""
        return self.now_ms + round((time.monotonic() - self.begun) * 1000)


def anything_due(database: str) -> bool:
    """Whether it is worth a claim; nothing is locked."""
    waiting = _rows(database).filter(state=State.WAITING)
    return waiting.exists() and _due(database, clock.now_ms(database)).exists()


def claim(database: str, most: int, lease_ms: int, ids: Iterable[int] | None = None) -> Claim:
    """Lease up to ``most`` rows that are due: any, or of those with ``ids``."""
    chosen = None if ids is None else list(ids)
    made, woken = undisturbed(database, lambda: _claim(database, most, lease_ms, chosen))
    if woken and not made.rows and ids is None:
        made, _ = undisturbed(database, lambda: _claim(database, most, lease_ms, None))
    return made


def _claim(database: str, most: int, lease_ms: int, ids: Sequence[int] | None) -> tuple[Claim, int]:
    begun = time.monotonic()
    rows = _rows(database)
    with transaction.atomic(using=database):
        write_lock(rows)
        made = new(database, lease_ms, clock.now_ms(database), begun)
        due = _due(database, made.now_ms)
        if ids is not None:
            # In the order of their ids: or MariaDB would look for them in the order of all that waits.
            due = due.filter(pk__in=ids).order_by("pk")
        found = [Row(*values) for values in _locked(database, due).values_list(*Row._fields)[:most]]
        found.sort()
        if found:
            rows.filter(pk__in=[row.id for row in found]).update(**made.columns)
        return _filled(made, found)


def new(database: str, lease_ms: int, now_ms: int, begun: float) -> Claim:
    """One without rows. ``begun``: no later, by the steady clock, than ``now_ms`` by the database's."""
    return Claim(database, uuid.uuid4().hex, now_ms, lease_ms, begun)


def filled(made: Claim, rows: list[Row]) -> Claim:
    """With those of some rows that may be sent now; the others are given back.

    They are in the order of their ids, and were leased for it in the transaction that is open.
    """
    return _filled(made, rows)[0]


def _filled(made: Claim, rows: list[Row]) -> tuple[Claim, int]:
    """And how many were woken that come before others of these."""
    if not rows:
        return made, 0
    kept, woken = _without_followers(made.database, rows, made.lease, made.now_ms)
    return replace(made, rows=kept), woken


def write_lock(rows: QuerySet[Any]) -> None:
    """For a transaction that has just begun: on SQLite, one that begins with a look could not write after another one's
    commit, unless it is of those that begin with the lock."""
    connection = connections[rows.db]
    begins_with_it = getattr(connection, "transaction_mode", None) in ("IMMEDIATE", "EXCLUSIVE")
    if connection.vendor == "sqlite" and not begins_with_it:
        rows.filter(pk=0).update(**{rows.model._meta.pk.attname: 0})


def _due(database: str, now_ms: int) -> QuerySet[OutboxMessage]:
    free = _rows(database).filter(state=State.WAITING, at_ms__lte=now_ms, leased_until_ms__lte=now_ms)
    return free.order_by("at_ms", "pk")


def _locked(database: str, rows: QuerySet[OutboxMessage]) -> QuerySet[OutboxMessage]:
    features = connections[database].features
    if not features.has_select_for_update:
        return rows
    return rows.select_for_update(skip_locked=features.has_select_for_update_skip_locked)


def _without_followers(database: str, found: list[Row], lease: str, now_ms: int) -> tuple[list[Row], int]:
    """Give those back before which, in their lane, another one waits that is not ours: leased, or to be tried later.

    Where that was itself only put back behind a lease which is over by now, what was put back there is woken, and its
    number the second that is returned: or a few busy lanes would stand still for as long as several relays look.
    """
    rows = _rows(database)
    last = {row.lane: row.id for row in found}
    if len(last) == 1 and not _anything_before(database, found[-1], lease):
        return found, 0
    # Ordered by the lane as well, which is one value: or PostgreSQL would walk through all ids for the first of it.
    before = rows.filter(state=State.WAITING, lane=OuterRef("lane"), pk__lt=OuterRef("pk")).exclude(lease=lease)
    first = Subquery(before.order_by("lane", "pk").values("pk")[:1])
    blocked = {
        lane: blocker
        for lane, blocker in rows.filter(pk__in=last.values()).annotate(blocker=first).values_list("lane", "blocker")
        if blocker is not None
    }
    if not blocked:
        return found, 0
    times, awake = {}, set()
    columns = ("pk", "lane", "at_ms", "leased_until_ms", "tries")
    for pk, lane, at_ms, leased_until_ms, tries in rows.filter(pk__in=blocked.values()).values_list(*columns):
        is_free = leased_until_ms <= now_ms
        times[pk] = at_ms if is_free else 0
        if is_free and not tries and at_ms <= now_ms + BEHIND_A_LEASE_MS:
            awake.add(lane)
    woken = _wake(rows, awake, max(row.id for row in found), now_ms) if awake else 0
    put_back: dict[int, list[int]] = {}
    kept = []
    for row in found:
        blocker = blocked.get(row.lane)
        if blocker is None or row.id < blocker:
            kept.append(row)
        else:
            at_ms = 0 if row.lane in awake else max(now_ms + BEHIND_A_LEASE_MS, times.get(blocker, 0))
            put_back.setdefault(at_ms, []).append(row.id)
    for at_ms, ids in put_back.items():
        rows.filter(pk__in=ids).update(at_ms=at_ms, **_FREE)
    return kept, woken


def _wake(rows: QuerySet[OutboxMessage], lanes: Iterable[int], up_to: int, now_ms: int) -> int:
    """Rows of lanes, up to that id, that are only put back behind a lease."""
    put_back = rows.filter(state=State.WAITING, lane__in=lanes, pk__lte=up_to, tries=0, leased_until_ms__lte=now_ms)
    # Those whose pause is over by now, too: else the rows of their lane that never had one came first, time and again.
    return put_back.filter(at_ms__gt=0, at_ms__lte=now_ms + BEHIND_A_LEASE_MS).update(at_ms=0)


def _anything_before(database: str, row: Row, lease: str) -> bool:
    """The question of whoever has one lane, as most have after a commit. Composing it costs more than its answer."""
    ask = f"SELECT 1 FROM {TABLE} WHERE state = %s AND lane = %s AND id < %s AND lease <> %s LIMIT 1"
    with connections[database].cursor() as cursor:
        cursor.execute(ask, [State.WAITING, row.lane, row.id, lease])
        return cursor.fetchone() is not None


# -- what became of them ---------------------------------------------------------------------------------------------


def sent(claim: Claim, ids: Sequence[int], keep: bool) -> int:
    """They were sent; returns how many were still ours. ``keep``: mark them, or delete them at once."""
    ours = _ours(claim, ids)
    if not keep:
        return undisturbed(claim.database, lambda: ours.delete()[0])
    return _change(claim, ids, state=State.SENT, at_ms=claim.clock_ms, error="", **_FREE)


def later(claim: Claim, ids: Sequence[int], wait_ms: int, tries: int | None = None, error: str | None = None) -> None:
    """They wait again; ``tries``: so many have failed by now."""
    changes: dict[str, object] = {**_FREE, "at_ms": claim.clock_ms + wait_ms if wait_ms else 0}
    if tries is not None:
        changes["tries"] = tries
    if error is not None:
        changes["error"] = error[:ERROR_MAX]
    _change(claim, ids, **changes)


def park(claim: Claim, ids: Sequence[int], tries: int, error: str) -> None:
    """They cannot be sent as they are: somebody has to look."""
    _change(claim, ids, state=State.PARKED, at_ms=claim.clock_ms, tries=tries, error=error[:ERROR_MAX], **_FREE)


def _change(claim: Claim, ids: Sequence[int], **columns: object) -> int:
    return undisturbed(claim.database, lambda: _ours(claim, ids).update(**columns))


def _ours(claim: Claim, ids: Sequence[int]) -> QuerySet[OutboxMessage]:
    return _rows(claim.database).filter(pk__in=ids, lease=claim.lease, state=State.WAITING)


# -- housekeeping ----------------------------------------------------------------------------------------------------


def forget(database: str, keep_ms: int, most: int) -> int:
    """Delete what was sent or discarded so long ago; nothing else ever goes. Returns how many went, up to ``most``."""
    old = _rows(database).filter(state__in=[State.SENT, State.DISCARDED], at_ms__lt=clock.now_ms(database) - keep_ms)
    ids = list(old.values_list("pk", flat=True)[:most])
    return undisturbed(database, lambda: _rows(database).filter(pk__in=ids).delete()[0]) if ids else 0


def heal(database: str, longest_ms: int) -> int:
    """Rows whose time lies further ahead than any is put: the database's clock was set back. They are due now."""
    limit = clock.now_ms(database) + longest_ms
    ahead = _rows(database).filter(Q(at_ms__gt=limit) | Q(leased_until_ms__gt=limit), state=State.WAITING)
    # Looked for without a lock: MariaDB would lock each row that it looks at, and wait for those who write.
    healed = 0
    while ids := list(ahead.values_list("pk", flat=True)[:HEALED_AT_ONCE]):
        changed = undisturbed(database, partial(ahead.filter(pk__in=ids).update, at_ms=0, **_FREE))
        if not changed:
            break
        healed += changed
    return healed


def _rows(database: str) -> QuerySet[OutboxMessage]:
    return OutboxMessage.objects.using(database)
