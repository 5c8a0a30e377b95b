"""Ticks that the outbox has parked, for their topic was unknown: they go on when it is there again.

They were missed, as those for which nobody was there: what the rule says of these becomes of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from django.db.models import QuerySet

from console.models import RecurringTick
from console.outbox import acts, clock
from console.outbox.acts import Which
from console.outbox.models import OutboxMessage
from console.query_parts import in_parts
from console.usecases.recurring_ticks import ALL_MOST, DATABASE, MISSED_AFTER_MS
from rmq_core.errors import UnknownTopic

LOOKED_AT = 10_000
"""Rows at once; the others come with the next look."""
BY_HAND = RecurringTick.How.BY_HAND
WHY = "a missed tick, of which its definition says that it is not sent (misfire)"


def topics() -> set[str]:
    """Those that parked rows wait for; of most installations none."""
    return set(_parked().values_list("topic", flat=True).distinct()[:LOOKED_AT])


def go_on(there: Collection[str]) -> int:
    """Tries what was parked for one of the topics that are ``there``; returns how many. What is not wanted any more is
    discarded. Rows of others, and of definitions that are disabled, stay. Raises `DatabaseError`."""
    ticks = RecurringTick.objects.using(DATABASE).filter(recurring__enabled=True).select_related("recurring")
    theirs = ticks.filter(outbox_row__isnull=False).values("outbox_row")  # others stay, and there may be many
    rows = _parked().filter(topic__in=there, pk__in=theirs).order_by("pk")[:LOOKED_AT]
    by_definition: defaultdict[int, list[RecurringTick]] = defaultdict(list)
    for some in in_parts(list(rows.values_list("pk", flat=True))):
        for tick in ticks.filter(outbox_row__in=some):
            by_definition[tick.recurring_id].append(tick)
    wanted, unwanted = list[int](), list[int]()
    for missed in by_definition.values():
        sent = _wanted(sorted(missed, key=lambda tick: tick.tick_ms))
        for tick in missed:
            assert tick.outbox_row is not None
            (wanted if tick in sent else unwanted).append(tick.outbox_row)
    for rest in in_parts(unwanted):
        acts.discard(DATABASE, Which(rest), WHY)
    return sum(acts.retry(DATABASE, Which(some)) for some in in_parts(wanted))


def _wanted(ticks: list[RecurringTick]) -> list[RecurringTick]:
    """Of one definition, the first tick first."""
    by_hand, missed = ([each for each in ticks if (each.how == BY_HAND) is right] for right in (True, False))
    match ticks[0].recurring.misfire:
        case "all":
            kept = missed[-ALL_MOST:]
        case "once":
            kept = missed[-1:]
        case _:
            since_ms = clock.now_ms(DATABASE) - MISSED_AFTER_MS
            kept = [each for each in missed[-1:] if each.at_ms > since_ms]
    return by_hand + kept


def _parked() -> QuerySet[OutboxMessage]:
    rows = OutboxMessage.objects.using(DATABASE).filter(state=OutboxMessage.State.PARKED)
    return rows.filter(error__startswith=f"{UnknownTopic.__name__}:")
