"""Ticks of recurring messages: each becomes one row of the outbox, in the transaction that moves on to the next.

Whoever comes first writes the tick, which is there once; the outbox sends it, and its id is the tick. So two keepers,
or one that dies at any point, send no tick twice and lose none.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import QuerySet

from console.models import RecurringMessage, RecurringTick
from console.outbox import clock
from console.outbox import send as send_by_outbox
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
    """Write what is due into the outbox; returns how many definitions were looked at. Raises `DatabaseError`."""
    with transaction.atomic(using=DATABASE):
        if connection.vendor == "sqlite":  # a transaction that begins with a look could not write after another one's
            RecurringMessage.objects.filter(pk=0).update(error="")
        now_ms = clock.now_ms(DATABASE)
        due = RecurringMessage.objects.filter(enabled=True, next_ms__lte=now_ms).order_by("next_ms")
        if connection.features.has_select_for_update:
            due = due.select_for_update(skip_locked=connection.features.has_select_for_update_skip_locked)
        found = list(due[:AT_ONCE])
        for each in found:
            try:
                with transaction.atomic(using=DATABASE):
                    _send(each, now_ms)
            except Exception as error:  # one that cannot be does not keep the others from their ticks
                log.warning("the recurring message %s could not be sent", each.name, exc_info=True)
                said = f"{type(error).__name__}: {error}"[:500]
                _rows(each).update(error=said, next_ms=now_ms + BROKEN_MS)
    return len(found)


def next_due_ms() -> int | None:
    """When there is something to do again."""
    planned = RecurringMessage.objects.filter(enabled=True, next_ms__isnull=False)
    return planned.order_by("next_ms").values_list("next_ms", flat=True).first()


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
        return _write(row, row.rule(), Tick(now_ms, How.BY_HAND), now_ms, username)


def forget_old() -> int:
    """Ticks of long ago."""
    return RecurringTick.objects.filter(at_ms__lt=clock.now_ms(DATABASE) - KEEP_MS).delete()[0]


def _send(row: RecurringMessage, now_ms: int) -> None:
    rule = row.rule()
    assert row.next_tick_ms is not None
    last = row.next_tick_ms
    # A tick that a jitter puts before the one in front of it is not late for that: it comes after it. (What failed is
    # tried at a time that says nothing of when it was due.)
    due_ms = rule.due_ms(last) if row.error or row.next_ms is None else row.next_ms
    for tick in _due(rule, row.next_tick_ms, due_ms, now_ms):
        last = tick.tick_ms
        if not row.ticks.filter(tick_ms=tick.tick_ms).exists():  # the definition may have been set back
            _write(row, rule, tick, now_ms)
    row.error = ""
    plan_next(row, last, rule)
    if row.next_ms is not None:
        row.next_ms = max(row.next_ms, due_ms, rule.due_ms(last))
    _rows(row).update(next_tick_ms=row.next_tick_ms, next_ms=row.next_ms, error="")


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


def _write(row: RecurringMessage, rule: Recurring, tick: Tick, now_ms: int, username: str = "") -> RecurringTick:
    made = RecurringTick(
        recurring=row, tick_ms=tick.tick_ms, at_ms=now_ms, how=tick.how, missed=tick.missed, username=username
    )
    if tick.how is not How.SKIPPED:
        made.message = rule.key(tick.tick_ms)
        options = SendOptions(key=made.message, slot_basis=rule.name, **rule.options)  # type: ignore[typeddict-item]
        made.outbox_row = send_by_outbox(rule.topic, rule.content, using=DATABASE, **options)
    made.save(force_insert=True)
    return made


def _rows(row: RecurringMessage) -> QuerySet[RecurringMessage]:
    return RecurringMessage.objects.filter(pk=row.pk)
