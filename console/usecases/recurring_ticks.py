"""Ticks of recurring messages: each becomes one row of the outbox, in the transaction that moves on to the next.

Whoever comes first writes the tick, which is there once; the outbox sends it, and its id is the tick. So two keepers,
or one that dies at any point, send no tick twice and lose none.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet

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
MISSED_AFTER_MS = 30_000
"""A tick that is sent so much later was missed: nobody was there."""
ALL_MOST = 1_000
"""Of so many missed ticks each is sent, where each is wanted; of more, the last ones."""
BROKEN_MS = 60_000
KEEP_MS = 30 * 86_400_000
How = RecurringTick.How


class Tick(NamedTuple):
    tick_ms: int
    how: RecurringTick.How
    missed: int = 0


def send_due() -> int:
    """Write what is due into the outbox, and send it; returns how many definitions were looked at.

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
        claim = each_one.leased()
    after_commit.send_leased(claim)
    return len(found)


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
    """One more message, now; the ticks go on as they would."""
    with transaction.atomic(using=DATABASE):
        now_ms = clock.now_ms(DATABASE)
        while row.ticks.filter(tick_ms=now_ms).exists():
            now_ms += 1
        return _record(row, row.rule(), Tick(now_ms, How.BY_HAND), now_ms, _send_after_commit, username)


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
        due_ms = rule.due_ms(last) if row.error or row.next_ms is None else row.next_ms
        for tick in _due(rule, row.next_tick_ms, due_ms, self.now_ms):
            last = tick.tick_ms
            # The definition may have been set back; where nobody looks, the database refuses it.
            if not self._careful or not row.ticks.filter(tick_ms=last).exists():
                _record(row, rule, tick, self.now_ms, self._write)
        row.error = ""
        plan_next(row, last, rule)
        if row.next_ms is not None:
            row.next_ms = max(row.next_ms, due_ms, rule.due_ms(last))
        _rows(row).update(next_tick_ms=row.next_tick_ms, next_ms=row.next_ms, error="")

    def _write(self, rule: Recurring, options: SendOptions) -> int:
        if self._rests or len(self._rows) >= after_commit.MOST:
            return outbox_write(rule.topic, rule.content, options, DATABASE).id
        self._rows.append(outbox_write(rule.topic, rule.content, options, DATABASE, self._claim))
        return self._rows[-1].id


def _due(rule: Recurring, first_ms: int, due_ms: int, now_ms: int) -> Iterator[Tick]:
    """What is sent now, of the ticks from the first on: that one, or, where some were missed, what the rule says."""
    if now_ms - due_ms < MISSED_AFTER_MS:
        yield Tick(first_ms, How.ON_TIME)
        return
    last, count = rule.last_tick(first_ms - 1, max(first_ms, now_ms - rule.jitter_ms))
    if rule.misfire == "all":
        left_out = max(0, count - ALL_MOST)
        for number, tick in enumerate(islice(rule.ticks(first_ms - 1), left_out, count)):
            yield Tick(tick, How.LATE, left_out if number == 0 else 0)
    elif rule.misfire == "once":
        yield Tick(last, How.LATE, count - 1)
    elif now_ms - rule.due_ms(last) < MISSED_AFTER_MS:  # of those that were missed none, but this one was not
        yield Tick(last, How.ON_TIME, count - 1)
    else:
        yield Tick(last, How.SKIPPED, count)


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
