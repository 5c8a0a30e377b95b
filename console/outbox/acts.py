"""What somebody does to rows of an outbox: send them after all, or never."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from console.outbox import clock
from console.outbox.claiming import ERROR_MAX
from console.outbox.conflicts import undisturbed
from console.outbox.models import OutboxMessage

State = OutboxMessage.State


@dataclass(frozen=True)
class Which:
    """Rows by their numbers, or all that are parked; of one topic, or of all."""

    ids: Sequence[int] = ()
    all_parked: bool = False
    topic: str = ""

    def of(self, database: str) -> QuerySet[OutboxMessage]:
        rows = OutboxMessage.objects.using(database)
        rows = rows.filter(state=State.PARKED) if self.all_parked else rows.filter(pk__in=self.ids)
        return rows.filter(topic=self.topic) if self.topic else rows


def retry(database: str, which: Which) -> int:
    """Rows that are parked, or wait for another try, are tried at once; returns how many. Their tries begin anew.

    Of a lane whose row was parked, later rows may have gone already.
    """
    return undisturbed(
        database,
        lambda: _change(database, which, state=State.WAITING, at_ms=0, tries=0, lease="", leased_until_ms=0),
    )


def discard(database: str, which: Which, reason: str) -> int:
    """Rows that are parked, or wait, are never sent; returns how many. What is being sent right now is left."""
    now_ms, error = clock.now_ms(database), f"discarded: {reason}"[:ERROR_MAX]
    return undisturbed(
        database, lambda: _change(database, which, state=State.DISCARDED, at_ms=now_ms, lease="", error=error)
    )


def count(database: str, which: Which, most: int) -> int:
    """How many rows either would change, counted up to ``most``."""
    return _free(database, which)[:most].count()


def _change(database: str, which: Which, **columns: object) -> int:
    with transaction.atomic(using=database):
        found = _free(database, which)
        lanes = list(found.values_list("lane", flat=True).distinct())
        changed = found.update(**columns)
        _wake_lanes(database, lanes)
    return changed


def _free(database: str, which: Which) -> QuerySet[OutboxMessage]:
    """Those that have not ended, and that no relay is sending."""
    unsent = which.of(database).filter(state__in=[State.WAITING, State.PARKED])
    return unsent.filter(leased_until_ms__lte=clock.now_ms(database))


def _wake_lanes(database: str, lanes: Sequence[int]) -> None:
    """What waited behind these rows is looked at again."""
    waiting = OutboxMessage.objects.using(database).filter(state=State.WAITING, lane__in=lanes, at_ms__gt=0)
    waiting.filter(leased_until_ms__lte=clock.now_ms(database)).update(at_ms=0)
