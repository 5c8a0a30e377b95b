"""Ticks of recurring messages: each becomes one row of the outbox, in the transaction that moves on to the next.

Whoever comes first writes the tick, which is there once; the outbox sends it, and its id is the tick. So two keepers,
or one that dies at any point, send no tick twice and lose none.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from django.db import OperationalError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext

from console.errors import UnknownRecurring
from console.models import RecurringMessage, RecurringTick
from console.outbox import after_commit, claiming, clock
from console.outbox import send as send_by_outbox
from console.outbox.claiming import Claim
from console.outbox.options import options as outbox_options
from console.outbox.rows import Row
from console.outbox.sending import write as outbox_write
from console.recurring.rule import Recurring
from rmq_core.model.composing import SendOptions

log = logging.getLogger("console.recurring")

DATABASE = "default"
AT_ONCE = 200
"""Ticks of a transaction, for which others wait."""
ALL_AT_ONCE = 50
"""Of these, of a definition that has many to send; then others have their turn."""
COUNTED_PER_TICK = 25
"""So many missed ticks are counted in the time that one is sent in."""
MISSED_AFTER_MS = 30_000
"""A tick that is sent so much later was missed: nobody was there."""
ALL_MOST = 1_000
"""Of so many missed ticks each is sent, where each is wanted; of more, the last ones."""
BROKEN_MS = 60_000
PLAN_ANEW_MS = 3_600_000
KEEP_MS = 30 * 86_400_000
How = RecurringTick.How


class Tick(NamedTuple):
    tick_ms: int
    how: RecurringTick.How
    missed: int = 0


def send_due() -> int:
    """Write what is due into the outbox, and send it; returns how many definitions were looked at, `AT_ONCE` where
    there may be more.

    Raises `DatabaseError`.
    """
    try:
        return _send_due(careful=False)
    except OperationalError:  # of none of them: the database is away, or somebody else is writing
        raise
    except Exception:
        log.debug("one cannot be sent, or a tick is there already: each is tried alone", exc_info=True)
    return _send_due(careful=True)


def _send_due(careful: bool) -> int:
    begun = time.monotonic()
    with transaction.atomic(using=DATABASE, durable=True):
        claiming.write_lock(RecurringMessage.objects.using(DATABASE))
        each_one = _Round(claiming.new(DATABASE, outbox_options().lease_ms, clock.now_ms(DATABASE), begun), careful)
        due = RecurringMessage.objects.filter(enabled=True, next_ms__lte=each_one.now_ms).order_by("next_ms")
        if connection.features.has_select_for_update:
            due = due.select_for_update(skip_locked=connection.features.has_select_for_update_skip_locked)
        found = list(due[:AT_ONCE])
        send = each_one.send_alone if careful else each_one.send
        for row in found:
            send(row)
            if each_one.load >= AT_ONCE:
                break
        claim = each_one.leased()
    after_commit.send_leased(claim)
    return AT_ONCE if each_one.more or each_one.load >= AT_ONCE else len(found)


def next_due_ms(most: int = 1) -> list[int]:
    """When there is something to do again: the first such times."""
    planned = RecurringMessage.objects.filter(enabled=True, next_ms__isnull=False).order_by("next_ms")
    return [next_ms for next_ms in planned.values_list("next_ms", flat=True)[:most] if next_ms is not None]


def failing() -> int:
    """How many definitions cannot be sent."""
    return RecurringMessage.objects.filter(enabled=True).exclude(error="").count()


def plan_next(row: RecurringMessage, after_ms: int, rule: Recurring | None = None) -> None:
    """Set the first tick after a time; the row is not saved."""
    rule = rule or row.rule()
    row.next_tick_ms = rule.next_tick(after_ms)
    row.next_ms = None if row.next_tick_ms is None else rule.due_ms(row.next_tick_ms)


def send_by_hand(row: RecurringMessage, username: str) -> RecurringTick:
    """One more message, now; the ticks go on as they would. Raises `UnknownRecurring`."""
    with transaction.atomic(using=DATABASE):
        if not _rows(row).update(enabled=F("enabled")):  # the lock that it is deleted with
            raise unknown()
        now_ms, rule = clock.now_ms(DATABASE), row.rule()
        # In no tick's place, or that would not be sent.
        while rule.next_tick(now_ms - 1) == now_ms or row.ticks.filter(tick_ms=now_ms).exists():
            now_ms += 1
        return _record(row, rule, Tick(now_ms, How.BY_HAND), now_ms, _send_after_commit, username)


def unknown() -> UnknownRecurring:
    """That it is not there, or no longer."""
    return UnknownRecurring(gettext("There is no recurring message of this name."))


def plan_anew() -> int:
    """Plan again what the database's clock has put far ahead, or to its end, while it was wrong; returns how many.

    A tick that was sent meanwhile is there, and is not sent again.
    """
    now_ms, changed = clock.now_ms(DATABASE), 0
    ahead = Q(next_tick_ms__gt=now_ms + PLAN_ANEW_MS) | Q(next_tick_ms__isnull=True)
    for row in RecurringMessage.objects.filter(ahead, enabled=True).iterator():
        planned = {"next_tick_ms": row.next_tick_ms, "next_ms": row.next_ms}
        try:
            plan_next(row, now_ms)
        except (ValueError, TypeError):  # it says why at its tick
            continue
        was_ms = planned["next_tick_ms"]
        if row.next_tick_ms is not None and (was_ms is None or row.next_tick_ms + PLAN_ANEW_MS < was_ms):
            anew = {"next_tick_ms": row.next_tick_ms, "next_ms": row.next_ms}
            changed += _rows(row).filter(**planned).update(**anew)
    return changed


def forget_old() -> int:
    """Ticks of long ago."""
    return RecurringTick.objects.filter(at_ms__lt=clock.now_ms(DATABASE) - KEEP_MS).delete()[0]


class _Round:
    """Ticks of one moment. Their rows are leased as they are written: to claim them costs as much as all the rest."""

    def __init__(self, claim: Claim, careful: bool) -> None:
        self.now_ms = claim.now_ms
        self._claim, self._careful = claim, careful
        self._rows: list[Row] = []
        self._rests = after_commit.rests()
        self.load = 0
        """So many ticks were sent, or have cost as much."""
        self.more = False
        """Whether the next tick of one of them is due, too."""

    def leased(self) -> Claim:
        """What is sent after the commit."""
        return claiming.filled(self._claim, self._rows)

    def send_alone(self, row: RecurringMessage) -> None:
        """One that cannot be does not keep the others from their ticks."""
        before = len(self._rows)
        try:
            with transaction.atomic(using=DATABASE):
                self.send(row)
        except Exception as error:
            del self._rows[before:]
            log.warning("the recurring message %s could not be sent", row.name, exc_info=True)
            said = f"{type(error).__name__}: {error}"[:500]
            _rows(row).update(error=said, next_ms=self.now_ms + BROKEN_MS)

    def send(self, row: RecurringMessage) -> None:
        rule = row.rule()
        assert row.next_tick_ms is not None
        last = row.next_tick_ms
        # A tick that a jitter puts before the one in front of it is not late for that: it comes after it. (What failed
        # is tried at a time that says nothing of when it was due.)
        unknown = row.error or row.next_ms is None
        due_ms = rule.due_ms(last) if unknown else min(row.next_ms or 0, last + rule.jitter_ms)
        due, count = _due(rule, last, due_ms, self.now_ms)
        self.load += len(due[:ALL_AT_ONCE]) + count // COUNTED_PER_TICK
        for tick in due[:ALL_AT_ONCE]:
            last = tick.tick_ms
            # The definition may have been set back; where nobody looks, the database refuses it.
            if not self._careful or not row.ticks.filter(tick_ms=last).exists():
                _record(row, rule, tick, self.now_ms, self._write)
        row.error = ""
        plan_next(row, last, rule)
        if row.next_ms is not None:
            row.next_ms = max(row.next_ms, due_ms, rule.due_ms(last))
            if len(due) > ALL_AT_ONCE:  # it goes on behind those that are due by now
                row.next_ms = max(row.next_ms, self.now_ms)
            self.more |= row.next_ms <= self.now_ms
        _rows(row).update(next_tick_ms=row.next_tick_ms, next_ms=row.next_ms, error="")

    def _write(self, rule: Recurring, options: SendOptions) -> int:
        if self._rests or len(self._rows) >= after_commit.MOST:
            return outbox_write(rule.topic, rule.content, options, DATABASE).id
        self._rows.append(outbox_write(rule.topic, rule.content, options, DATABASE, self._claim))
        return self._rows[-1].id


def _due(rule: Recurring, first_ms: int, due_ms: int, now_ms: int) -> tuple[list[Tick], int]:
    """What is to be sent, of the ticks from the first on: that one, or, where some were missed, what the rule says; and
    how many were counted for it."""
    if now_ms - due_ms < MISSED_AFTER_MS:
        return [Tick(first_ms, How.ON_TIME)], 0
    most = ALL_MOST if rule.misfire == "all" else 1
    found, count = rule.last_ticks(first_ms, max(first_ms, now_ms - rule.jitter_ms), most)
    last, counted = found[-1], 0 if rule.every_ms else count
    if rule.misfire == "all":
        left_out = count - len(found)
        return [Tick(tick, How.LATE, 0 if number else left_out) for number, tick in enumerate(found)], counted
    if rule.misfire == "once":
        return [Tick(last, How.LATE, count - 1)], counted
    if now_ms - rule.due_ms(last) < MISSED_AFTER_MS:  # of those that were missed none, but this one was not
        return [Tick(last, How.ON_TIME, count - 1)], counted
    return [Tick(last, How.SKIPPED, count)], counted


def _record(
    row: RecurringMessage,
    rule: Recurring,
    tick: Tick,
    now_ms: int,
    write: Callable[[Recurring, SendOptions], int],
    username: str = "",
) -> RecurringTick:
    made = RecurringTick(
        recurring=row, tick_ms=tick.tick_ms, at_ms=now_ms, how=tick.how, missed=tick.missed, username=username
    )
    if tick.how is not How.SKIPPED:
        made.message = rule.key(tick.tick_ms)
        options = SendOptions(key=made.message, slot_basis=rule.name, **rule.options)  # type: ignore[typeddict-item]
        made.outbox_row = write(rule, options)
    made.save(force_insert=True)
    return made


def _send_after_commit(rule: Recurring, options: SendOptions) -> int:
    return send_by_outbox(rule.topic, rule.content, using=DATABASE, **options)


def _rows(row: RecurringMessage) -> QuerySet[RecurringMessage]:
    return RecurringMessage.objects.filter(pk=row.pk)
